"""The similarity of an answer to the right one, without a language model."""

from __future__ import annotations

from ragcore.embeddings.base import Embedder
from ragcore.evaluation.base import BaseEvaluator, Case, Verdict
from ragcore.settings import embedder


class SemanticSimilarityEvaluator(BaseEvaluator):
    """Score: the cosine of the vectors of `response` and `reference`, -1 to 1; passing from `similarity_threshold`."""

    needs = ("response", "reference")

    def __init__(self, embed_model: Embedder | None = None, similarity_threshold: float = 0.8) -> None:
        self._embedder = embedder(embed_model)
        self._threshold = similarity_threshold

    def _judge(self, case: Case) -> Verdict:
        one, other = self._embedder.embed_passages([case.response or "", case.reference or ""])
        cosine = float(one @ other)
        return Verdict(cosine, cosine >= self._threshold, f"The cosine of their vectors is {cosine:.3f}.")
