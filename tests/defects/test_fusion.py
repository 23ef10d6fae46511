"""Fusing by ranks heeds the retrievers' weights."""

from __future__ import annotations

from ragcore.llamaindex.retrievers.fusion_retriever import QueryFusionRetriever
from ragcore.observe import Span
from ragcore.retrievers.base import BaseRetriever
from ragcore.schema import NodeWithScore, QueryBundle, TextNode


class Fixed(BaseRetriever):
    name = "fixed"

    def __init__(self, ids: str) -> None:
        self._ids = ids

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        return [NodeWithScore(TextNode(id_, id_), 1.0) for id_ in self._ids]


def best_first(weights: list[float]) -> str:
    retriever = QueryFusionRetriever(
        [Fixed("ab"), Fixed("ba")], mode="reciprocal_rerank", num_queries=1, retriever_weights=weights
    )
    return "".join(hit.node.id_ for hit in retriever.retrieve("q"))


def test_d33_reciprocal_ranks_use_retriever_weights() -> None:
    assert best_first([0.9, 0.1]) == "ab"
    assert best_first([0.1, 0.9]) == "ba"
