"""The base class of evaluators of answers, with their input and their result."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar

from ragcore.concurrency import awaitable, run_coroutine
from ragcore.errors import Problem
from ragcore.observe import span
from ragcore.prompts.mixin import PromptMixin
from ragcore.schema import Response


@dataclass(frozen=True, slots=True)
class Case:
    """The input of an evaluator. `contexts` are the texts of the passages behind the response."""

    query: str | None = None
    response: str | None = None
    contexts: Sequence[str] | None = None
    reference: str | None = None
    second_response: str | None = None


@dataclass(frozen=True, slots=True)
class EvaluationResult:
    """`score` is 0 to 1 for most evaluators; `passing` is None for a tie; `feedback` is the reason.

    `invalid_result` is true if the judge failed or its reply could not be parsed. Then `invalid_reason` says
    why, and there is no score.

    >>> result = EvaluationResult("Who?", "Ada.", score=1.0, passing=True, feedback="The passages name her.")
    >>> result.passing, result.feedback
    (True, 'The passages name her.')
    """

    query: str | None = None
    response: str | None = None
    contexts: tuple[str, ...] | None = None
    score: float | None = None
    passing: bool | None = None
    feedback: str | None = None
    invalid_result: bool = False
    invalid_reason: str | None = None
    problem: Problem | None = None  # the failure


@dataclass(frozen=True, slots=True)
class Verdict:
    """`score` is None for a reply that could not be parsed."""

    score: float | None = None
    passing: bool | None = None
    feedback: str | None = None


class BaseEvaluator(PromptMixin, ABC):
    """Subclasses implement `_judge`, and list in `needs` the arguments that it requires. They may implement
    `aevaluate` instead. Threads may share an evaluator.

    >>> class Brevity(BaseEvaluator):
    ...     needs = ("response",)
    ...
    ...     def _judge(self, case):
    ...         return Verdict(score=1.0 if len(case.response) < 20 else 0.0)
    >>> Brevity().evaluate(response="Ada.").score
    1.0
    """

    needs: ClassVar[tuple[str, ...]] = ()

    def evaluate(
        self,
        query: str | None = None,
        response: str | None = None,
        contexts: Sequence[str] | None = None,
        reference: str | None = None,
        second_response: str | None = None,
    ) -> EvaluationResult:
        """ValueError for a missing part of the case; LLMErrors, EmbeddingErrors."""
        case = Case(query, response, contexts, reference, second_response)
        if type(self).aevaluate is not BaseEvaluator.aevaluate and type(self)._judge is BaseEvaluator._judge:
            parts = {name: part for name, part in asdict(case).items() if part is not None}
            return run_coroutine(self.aevaluate(**parts))
        if missing := [name for name in self.needs if getattr(case, name) is None]:
            raise ValueError(f"{type(self).__name__} needs {' and '.join(missing)}")
        with span("evaluate", evaluator=type(self).__name__, question=query or "") as step:
            verdict = self._judge(case)
            step.note(score=verdict.score, passing=verdict.passing)
        return result_of(case, verdict)

    def evaluate_response(
        self, query: str | None = None, response: Response | None = None, reference: str | None = None
    ) -> EvaluationResult:
        """The text of an answer, with the texts of its passages as contexts."""
        if response is None:
            return self.evaluate(query, reference=reference)
        return self.evaluate(query, str(response), [hit.text for hit in response.source_nodes], reference)

    aevaluate = awaitable(evaluate)
    aevaluate_response = awaitable(evaluate_response)

    def _judge(self, case: Case) -> Verdict:
        raise NotImplementedError(f"{type(self).__name__} needs _judge or aevaluate")


def result_of(case: Case, verdict: Verdict) -> EvaluationResult:
    unclear = verdict.score is None
    return EvaluationResult(
        case.query,
        case.response,
        None if case.contexts is None else tuple(case.contexts),
        verdict.score,
        verdict.passing,
        verdict.feedback,
        invalid_result=unclear,
        invalid_reason="The judge's reply could not be understood." if unclear else None,
    )
