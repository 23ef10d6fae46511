"""Measures how well a retriever retrieves the passages that answer a set of questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from ragcore.concurrency import awaitable, in_order
from ragcore.errors import Problem, RagError
from ragcore.evaluation.dataset import EmbeddingQAFinetuneDataset
from ragcore.evaluation.metrics import BaseRetrievalMetric, RetrievalMetricResult, resolve_metrics
from ragcore.observe import span
from ragcore.query_engine.retriever import NodePostprocessor, run_postprocessors
from ragcore.retrievers.base import Retriever
from ragcore.schema import QueryBundle, as_bundle


@dataclass(frozen=True, slots=True)
class RetrievalEvalResult:
    """The passages retrieved for a question, best first, and the score of each metric by its name.

    `problem` is the reason why retrieval failed. Then there are no scores.

    >>> result = RetrievalEvalResult(
    ...     "Who?", ("a",), ("b", "a"), ("A boat.", "Ada."), {"mrr": RetrievalMetricResult(0.5)}
    ... )
    >>> result.metric_vals_dict
    {'mrr': 0.5}
    """

    query: str
    expected_ids: tuple[str, ...]
    retrieved_ids: tuple[str, ...]
    retrieved_texts: tuple[str, ...]
    metric_dict: Mapping[str, RetrievalMetricResult]
    problem: Problem | None = None

    @property
    def metric_vals_dict(self) -> dict[str, float]:
        return {name: result.score for name, result in self.metric_dict.items()}

    def __str__(self) -> str:
        return f"Query: {self.query}\nMetrics: {self.metric_vals_dict}\n"


class RetrieverEvaluator:
    """Compares the passages that a retriever returns with the expected ones.

    >>> from ragcore.embeddings import HashEmbedding
    >>> from ragcore.indices import VectorStoreIndex
    >>> from ragcore.schema import TextNode
    >>> index = VectorStoreIndex(
    ...     [TextNode("A red boat.", "n1"), TextNode("A gull.", "n2")], embed_model=HashEmbedding()
    ... )
    >>> evaluator = RetrieverEvaluator.from_metric_names(
    ...     ["hit_rate", "mrr"], index.as_retriever(similarity_top_k=1)
    ... )
    >>> evaluator.evaluate("Which boat is red?", ["n1"]).metric_vals_dict
    {'hit_rate': 1.0, 'mrr': 1.0}
    """

    def __init__(
        self,
        metrics: Sequence[BaseRetrievalMetric],
        retriever: Retriever,
        node_postprocessors: Sequence[NodePostprocessor] = (),
    ) -> None:
        self.metrics = tuple(metrics)
        self.retriever = retriever
        self.node_postprocessors = tuple(node_postprocessors)

    @classmethod
    def from_metric_names(
        cls,
        metric_names: Sequence[str],
        retriever: Retriever,
        node_postprocessors: Sequence[NodePostprocessor] = (),
    ) -> RetrieverEvaluator:
        """The names are hit_rate, mrr, precision, recall, ap and ndcg. ValueError for an unknown name."""
        return cls([metric() for metric in resolve_metrics(metric_names)], retriever, node_postprocessors)

    def evaluate(self, query: str | QueryBundle, expected_ids: Sequence[str]) -> RetrievalEvalResult:
        """All scores are 0 if nothing is retrieved. ValueError without `expected_ids`."""
        bundle = as_bundle(query)
        with span("evaluate", evaluator=type(self).__name__, question=bundle.query_str) as step:
            hits = run_postprocessors(self.retriever.retrieve(bundle), bundle, self.node_postprocessors)
            retrieved = tuple(hit.node.id_ for hit in hits)
            scores = {
                metric.metric_name: metric.compute(expected_ids=expected_ids, retrieved_ids=retrieved)
                for metric in self.metrics
            }
            facts: dict[str, Any] = {name: result.score for name, result in scores.items()}
            step.note(**facts)
        return RetrievalEvalResult(
            bundle.query_str, tuple(expected_ids), retrieved, tuple(hit.text for hit in hits), scores
        )

    def evaluate_dataset(
        self, dataset: EmbeddingQAFinetuneDataset, workers: int = 2
    ) -> list[RetrievalEvalResult]:
        """A result for each question, in the order of the dataset. A question that fails with a RagError has
        its `problem`, and the others continue."""

        def try_to_evaluate(pair: tuple[str, list[str]]) -> RetrievalEvalResult:
            query, expected = pair
            try:
                return self.evaluate(query, expected)
            except RagError as error:
                return RetrievalEvalResult(query, tuple(expected), (), (), {}, Problem.of(error))

        return in_order(try_to_evaluate, dataset.query_docid_pairs, workers=workers)

    aevaluate = awaitable(evaluate)
    aevaluate_dataset = awaitable(evaluate_dataset)


def mean_scores(results: Sequence[RetrievalEvalResult]) -> dict[str, float]:
    """The mean of each metric over all questions without a `problem`; {} if there are none.

    >>> results = [
    ...     RetrievalEvalResult("Who?", (), (), (), {"mrr": RetrievalMetricResult(score)})
    ...     for score in (0.5, 1.0)
    ... ]
    >>> mean_scores(results)
    {'mrr': 0.75}
    """
    scored = [result.metric_vals_dict for result in results if result.problem is None]
    return {name: fmean(scores[name] for scores in scored) for name in (scored[0] if scored else {})}
