"""A retriever that finds what it is told to, and an engine that answers what it is told to."""

from __future__ import annotations

from collections.abc import Sequence

from ragcore.observe import Span
from ragcore.retrievers.base import BaseRetriever
from ragcore.schema import NodeWithScore, QueryBundle, Response, TextNode, as_bundle


class Finding(BaseRetriever):
    name = "finding"

    def __init__(self, *found: tuple[TextNode, float | None]) -> None:
        self.found = [NodeWithScore(node, score) for node, score in found]
        self.asked: list[str] = []

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        self.asked.append(query.query_str)
        return list(self.found)


class Answering:
    """As a query engine, it can retrieve too."""

    def __init__(self, answer: str) -> None:
        self.answer = answer

    def query(self, query: str | QueryBundle) -> Response:
        return Response(f"{self.answer} to {as_bundle(query).query_str}")

    def retrieve(self, query: str | QueryBundle) -> list[NodeWithScore]:
        raise AssertionError("its answer was wanted, not its passages")


def pairs(found: Sequence[NodeWithScore]) -> list[tuple[str, float | None]]:
    return [(hit.node.id_, hit.score) for hit in found]
