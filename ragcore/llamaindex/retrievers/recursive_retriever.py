"""A retriever that replaces passages with the nodes, retrievers or query engines that they name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from ragcore.observe import Span
from ragcore.retrievers.base import BaseRetriever, Retriever, as_passage, distinct
from ragcore.schema import IndexNode, NodeWithScore, QueryBundle, TextNode


class QueryEngine(Protocol):
    def query(self, query: QueryBundle, /) -> Any: ...


class RecursiveRetriever(BaseRetriever):
    """Begins with the retriever `root_id`, and replaces each IndexNode with the object of its `index_id`:

    a node of `node_dict`, with the score of the IndexNode; the passages of a retriever of `retriever_dict`;
    or the answer of an engine of `query_engine_dict`. Each is visited once per question, so that circles end.
    ValueError for an id that does not exist, or exists twice.

    >>> from ragcore.indices import SummaryIndex
    >>> top = SummaryIndex([IndexNode("About boats", index_id="boats")]).as_retriever()
    >>> boats = SummaryIndex([TextNode("A boat is red.")]).as_retriever()
    >>> retriever = RecursiveRetriever("top", {"top": top, "boats": boats})
    >>> [hit.text for hit in retriever.retrieve("Which colour?")]
    ['A boat is red.']
    """

    name = "recursive"

    def __init__(
        self,
        root_id: str,
        retriever_dict: Mapping[str, Retriever],
        query_engine_dict: Mapping[str, QueryEngine] | None = None,
        node_dict: Mapping[str, TextNode] | None = None,
        verbose: bool = False,
    ) -> None:
        if root_id not in retriever_dict:
            raise ValueError(
                f"root_id is {root_id!r}, which is none of the retrievers {sorted(retriever_dict)}"
            )
        self.verbose = verbose
        self._root_id = root_id
        self._retrievers = dict(retriever_dict)
        self._engines = dict(query_engine_dict or {})
        self._nodes = dict(node_dict or {})
        ids = Counter([*self._retrievers, *self._engines, *self._nodes])
        if twice := [id_ for id_, count in ids.items() if count > 1]:
            raise ValueError(f"these ids stand for more than one thing: {sorted(twice)}")

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        visited = {self._root_id: None}
        hits = distinct(self._from(self._retrievers[self._root_id], query, visited))
        step.note(visited=list(visited))
        return hits

    def _from(
        self, retriever: Retriever, query: QueryBundle, visited: dict[str, None]
    ) -> Iterator[NodeWithScore]:
        for hit in retriever.retrieve(query):
            if isinstance(hit.node, IndexNode) and hit.node.index_id:
                yield from self._at(hit.node, hit.score, query, visited)
            else:
                yield hit

    def _at(
        self, node: IndexNode, score: float | None, query: QueryBundle, visited: dict[str, None]
    ) -> Iterator[NodeWithScore]:
        if node.index_id in visited:
            return
        visited[node.index_id] = None
        if node.index_id in self._retrievers:
            yield from self._from(self._retrievers[node.index_id], query, visited)
        elif node.index_id in self._engines:
            yield as_passage(self._engines[node.index_id].query(query), node, score)
        elif node.index_id in self._nodes:
            target = self._nodes[node.index_id]
            if isinstance(target, IndexNode) and target.index_id:
                yield from self._at(target, score, query, visited)
            else:
                yield NodeWithScore(target.copy(), score)
        else:
            raise ValueError(
                f"node {node.id_!r} names {node.index_id!r}, which is no node, retriever or query engine here"
            )
