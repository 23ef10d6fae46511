"""Compares an answer with the right one without a language model."""

from __future__ import annotations

from ragcore.embeddings.base import Embedder
from ragcore.evaluation.base import BaseEvaluator, Case, Verdict
from ragcore.settings import embedder


class SemanticSimilarityEvaluator(BaseEvaluator):
    """The score is the cosine of the vectors of `response` and `reference`, -1 to 1. It passes from
    `similarity_threshold`.

    >>> from ragcore.embeddings import HashEmbedding
    >>> evaluator = SemanticSimilarityEvaluator(HashEmbedding())
    >>> evaluator.evaluate(response="Ada built it.", reference="It was Ada.").passing
    False
    """

    needs = ("response", "reference")

    def __init__(self, embed_model: Embedder | None = None, similarity_threshold: float = 0.8) -> None:
        self._embedder = embedder(embed_model)
        self._threshold = similarity_threshold

    def _judge(self, case: Case) -> Verdict:
        one, other = self._embedder.embed_passages([case.response or "", case.reference or ""])
        cosine = float(one @ other)
        return Verdict(cosine, cosine >= self._threshold, f"The cosine of their vectors is {cosine:.3f}.")
