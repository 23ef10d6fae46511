"""Drops passages that are not near enough to the question."""

from __future__ import annotations

from collections.abc import Sequence

from ragcore.postprocessor.base import BaseNodePostprocessor
from ragcore.schema import NodeWithScore, QueryBundle


class SimilarityPostprocessor(BaseNodePostprocessor):
    """Only passages with a score of `similarity_cutoff` or more; all of them for None.

    >>> from ragcore.schema import TextNode
    >>> hits = [NodeWithScore(TextNode("near"), 0.9), NodeWithScore(TextNode("far"), 0.1)]
    >>> [hit.text for hit in SimilarityPostprocessor(similarity_cutoff=0.7).postprocess_nodes(hits)]
    ['near']
    """

    def __init__(self, similarity_cutoff: float | None = 0.0) -> None:
        self.similarity_cutoff = similarity_cutoff

    def _postprocess_nodes(
        self, nodes: Sequence[NodeWithScore], query_bundle: QueryBundle | None
    ) -> list[NodeWithScore]:
        if self.similarity_cutoff is None:
            return list(nodes)
        return [hit for hit in nodes if hit.score is not None and hit.score >= self.similarity_cutoff]
