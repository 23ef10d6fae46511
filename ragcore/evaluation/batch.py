"""Many answers judged by several evaluators at the same time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Protocol, TypeAlias

from ragcore.concurrency import awaitable, in_order
from ragcore.errors import Problem, RagError
from ragcore.evaluation.base import BaseEvaluator, Case, EvaluationResult, Verdict, result_of
from ragcore.observe import span
from ragcore.schema import Response

Results: TypeAlias = dict[str, list[EvaluationResult]]


class QueryEngine(Protocol):
    def query(self, query: str, /) -> Response: ...


class BatchEvalRunner:
    """Results under the evaluators' names, in the order of the questions, at most `workers` judgements at once.

    A question or judgement that fails with a RagError is an invalid result with its `problem`; the others go on. ValueError
    where lists differ in length, or an evaluator needs what is not given.
    """

    def __init__(self, evaluators: Mapping[str, BaseEvaluator], workers: int = 2) -> None:
        self.evaluators = dict(evaluators)
        self.workers = workers

    def evaluate_response_strs(
        self,
        queries: Sequence[str],
        response_strs: Sequence[str],
        contexts_list: Sequence[Sequence[str]] | None = None,
        reference: Sequence[str] | None = None,
    ) -> Results:
        contexts = [None] * len(queries) if contexts_list is None else contexts_list
        references = [None] * len(queries) if reference is None else reference
        _same_length(queries, response_strs, contexts, references)
        return self._judged([Case(*given) for given in zip(queries, response_strs, contexts, references, strict=True)])

    def evaluate_responses(
        self, queries: Sequence[str], responses: Sequence[Response], reference: Sequence[str] | None = None
    ) -> Results:
        """The texts of answers, with the texts of their passages as contexts."""
        texts = [str(response) for response in responses]
        return self.evaluate_response_strs(queries, texts, [_contexts(response) for response in responses], reference)

    def evaluate_queries(
        self, query_engine: QueryEngine, queries: Sequence[str], reference: Sequence[str] | None = None
    ) -> Results:
        """The answers that an engine gives."""
        references = [None] * len(queries) if reference is None else reference
        _same_length(queries, references)

        def answered(given: tuple[str, str | None]) -> Case | EvaluationResult:
            query, right = given
            try:
                response = query_engine.query(query)
            except RagError as error:
                return _failed(Case(query, reference=right), error)
            return Case(query, str(response), _contexts(response), right)

        with span("answer_batch", questions=len(queries)):
            cases = in_order(answered, list(zip(queries, references, strict=True)), workers=self.workers)
        return self._judged(cases)

    aevaluate_response_strs = awaitable(evaluate_response_strs)
    aevaluate_responses = awaitable(evaluate_responses)
    aevaluate_queries = awaitable(evaluate_queries)

    def _judged(self, cases: Sequence[Case | EvaluationResult]) -> Results:
        with span("evaluate_batch", evaluators=list(self.evaluators), cases=len(cases)):
            results = in_order(_judge, list(product(self.evaluators.values(), cases)), workers=self.workers)
        return {name: results[at * len(cases) : (at + 1) * len(cases)] for at, name in enumerate(self.evaluators)}


def _judge(job: tuple[BaseEvaluator, Case | EvaluationResult]) -> EvaluationResult:
    evaluator, case = job
    if isinstance(case, EvaluationResult):
        return case
    try:
        return evaluator.evaluate(case.query, case.response, case.contexts, case.reference)
    except RagError as error:
        return _failed(case, error)


def _failed(case: Case, error: RagError) -> EvaluationResult:
    return replace(result_of(case, Verdict()), invalid_reason=error.what, problem=Problem.of(error))


def _contexts(response: Response) -> list[str]:
    return [hit.text for hit in response.source_nodes]


def _same_length(*lists: Sequence[object]) -> None:
    if len({len(items) for items in lists}) > 1:
        raise ValueError(f"questions and what belongs to them differ in number: {[len(items) for items in lists]}")
