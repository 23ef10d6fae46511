"""Runs several evaluators on many answers in parallel."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Protocol, TypeAlias

from ragcore.concurrency import awaitable, in_order
from ragcore.errors import Problem, RagError
from ragcore.evaluation.base import BaseEvaluator, Case, EvaluationResult, Verdict, result_of
from ragcore.observe import span
from ragcore.schema import Response

logger = logging.getLogger(__name__)

Results: TypeAlias = dict[str, list[EvaluationResult]]


class QueryEngine(Protocol):
    def query(self, query: str, /) -> Response: ...


class BatchEvalRunner:
    """Each method returns a list of results for each evaluator, by its name, in the order of the questions.

    >>> from ragcore.embeddings import HashEmbedding
    >>> from ragcore.evaluation.semantic_similarity import SemanticSimilarityEvaluator
    >>> runner = BatchEvalRunner({"similarity": SemanticSimilarityEvaluator(HashEmbedding())})
    >>> results = runner.evaluate_response_strs(["Who?"], ["Ada Penrose."], reference=["Ada Penrose."])
    >>> round(results["similarity"][0].score, 2)
    1.0

    At most `workers` judgements run at once. A question or judgement that fails with a RagError has an
    invalid result with its `problem`, and the others continue. `show_progress` logs each judgement.
    ValueError if lists differ in length, or if an evaluator lacks an input.
    """

    def __init__(
        self, evaluators: Mapping[str, BaseEvaluator], workers: int = 2, show_progress: bool = False
    ) -> None:
        self.evaluators = dict(evaluators)
        self.workers = workers
        self.show_progress = show_progress

    def evaluate_response_strs(
        self,
        queries: Sequence[str],
        response_strs: Sequence[str],
        contexts_list: Sequence[Sequence[str]] | None = None,
        reference: Sequence[str] | None = None,
    ) -> Results:
        contexts = [None] * len(queries) if contexts_list is None else contexts_list
        references = [None] * len(queries) if reference is None else reference
        _check_lengths(queries, response_strs, contexts, references)
        return self._evaluate(
            [Case(*parts) for parts in zip(queries, response_strs, contexts, references, strict=True)]
        )

    def evaluate_responses(
        self, queries: Sequence[str], responses: Sequence[Response], reference: Sequence[str] | None = None
    ) -> Results:
        """The texts of answers, with the texts of their passages as contexts."""
        texts = [str(response) for response in responses]
        return self.evaluate_response_strs(
            queries, texts, [_contexts(response) for response in responses], reference
        )

    def evaluate_queries(
        self, query_engine: QueryEngine, queries: Sequence[str], reference: Sequence[str] | None = None
    ) -> Results:
        """Asks the engine each question and judges its answers."""
        references = [None] * len(queries) if reference is None else reference
        _check_lengths(queries, references)

        def answer(query_and_reference: tuple[str, str | None]) -> Case | EvaluationResult:
            query, expected = query_and_reference
            try:
                response = query_engine.query(query)
            except RagError as error:
                return _failure(Case(query, reference=expected), error)
            return Case(query, str(response), _contexts(response), expected)

        with span("answer_batch", questions=len(queries)):
            cases = in_order(answer, list(zip(queries, references, strict=True)), workers=self.workers)
        return self._evaluate(cases)

    aevaluate_response_strs = awaitable(evaluate_response_strs)
    aevaluate_responses = awaitable(evaluate_responses)
    aevaluate_queries = awaitable(evaluate_queries)

    def _evaluate(self, cases: Sequence[Case | EvaluationResult]) -> Results:
        with span("evaluate_batch", evaluators=list(self.evaluators), cases=len(cases)):
            results = in_order(
                self._judge, list(product(self.evaluators.items(), cases)), workers=self.workers
            )
        return {
            name: results[at * len(cases) : (at + 1) * len(cases)] for at, name in enumerate(self.evaluators)
        }

    def _judge(self, job: tuple[tuple[str, BaseEvaluator], Case | EvaluationResult]) -> EvaluationResult:
        (name, evaluator), case = job
        if isinstance(case, EvaluationResult):
            return case
        try:
            result = evaluator.evaluate(case.query, case.response, case.contexts, case.reference)
        except RagError as error:
            result = _failure(case, error)
        logger.log(logging.INFO if self.show_progress else logging.DEBUG, "%s: %s", name, result.score)
        return result


def _failure(case: Case, error: RagError) -> EvaluationResult:
    return replace(result_of(case, Verdict()), invalid_reason=error.what, problem=Problem.of(error))


def _contexts(response: Response) -> list[str]:
    return [hit.text for hit in response.source_nodes]


def _check_lengths(*lists: Sequence[object]) -> None:
    if len({len(items) for items in lists}) > 1:
        raise ValueError(
            f"questions and what belongs to them differ in number: {[len(items) for items in lists]}"
        )
