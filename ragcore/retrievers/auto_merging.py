"""Small passages to retrieve, large ones to read: a passage replaces its parts if enough of them are
retrieved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Any, Protocol

from ragcore.errors import StoreError
from ragcore.observe import Span
from ragcore.retrievers.base import BaseRetriever, Retriever, as_facts
from ragcore.schema import NodeWithScore, QueryBundle, TextNode
from ragcore.storage.docstore import DocumentStore
from ragcore.storage.storage_context import StorageContext


class NodesById(Protocol):
    def nodes(self, ids: Sequence[str], /) -> Sequence[TextNode]:
        """Those of these nodes that exist."""


class AutoMergingRetriever(BaseRetriever):
    """Retrieves leaves of a hierarchy with `vector_retriever`, and repeats two steps until neither changes
    the results:

    - if exactly one passage of the document lies between two consecutive results, it is added between them,
      once, with the mean of their scores;
    - if more than `simple_ratio_thresh` (a share, 0 to 1) of a node's children are among the results, the
      node replaces them, with the mean of their scores.

    Best first, ties in their order. A score of None counts as 0. The nodes come from `storage_context`, a
    docstore or a store; a missing parent is a StoreError, a missing passage between two others is skipped. If
    links go in circles, a node is never replaced by one that it replaced. In the trace: `leaves` (the results
    of the retriever), `merged` and `filled_in`.

    >>> from ragcore.embeddings import HashEmbedding
    >>> from ragcore.indices import VectorStoreIndex
    >>> parent = TextNode("Red boat. Red sail.", "p", child_ids=("a", "b"))
    >>> leaves = [TextNode("Red boat.", "a", parent_id="p"), TextNode("Red sail.", "b", parent_id="p")]
    >>> context = StorageContext.from_defaults()
    >>> context.docstore.add_documents([parent, *leaves])
    >>> index = VectorStoreIndex(leaves, storage_context=context, embed_model=HashEmbedding())
    >>> [hit.text for hit in AutoMergingRetriever(index.as_retriever(), context).retrieve("red")]
    ['Red boat. Red sail.']
    """

    name = "auto_merging"

    def __init__(
        self,
        vector_retriever: Retriever,
        storage_context: StorageContext | DocumentStore | NodesById,
        simple_ratio_thresh: float = 0.5,
        verbose: bool = False,
    ) -> None:
        self.verbose = verbose
        self._retriever = vector_retriever
        self._source = storage_context
        self._ratio = simple_ratio_thresh

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        hits = self._retriever.retrieve(query)
        filled: list[str] = []
        merged: dict[str, list[str]] = {}
        step.note(leaves=as_facts(hits), filled_in=filled, merged=merged)
        before: list[str] = []
        while before != (before := [hit.node.id_ for hit in hits]):
            hits = self._with_parents(self._filled_in(hits, filled), merged)
        return sorted(hits, key=lambda hit: -hit.get_score())

    def _filled_in(self, hits: Sequence[NodeWithScore], filled: list[str]) -> list[NodeWithScore]:
        present = {hit.node.id_ for hit in hits}
        gaps = {
            middle: fmean((hit.get_score(), after.get_score()))
            for hit, after in pairwise(hits)
            if (middle := hit.node.next_id) is not None
            and middle == after.node.prev_id
            and middle not in present
        }
        between = self._nodes(list(gaps))
        complete: list[NodeWithScore] = []
        for hit in hits:
            complete.append(hit)
            middle = hit.node.next_id
            if middle in gaps and middle in between and middle not in filled:
                complete.append(NodeWithScore(between[middle], gaps[middle]))
                filled.append(middle)
        return complete

    def _with_parents(
        self, hits: Sequence[NodeWithScore], merged: dict[str, list[str]]
    ) -> list[NodeWithScore]:
        siblings: dict[str, list[NodeWithScore]] = {}
        for hit in hits:
            if hit.node.parent_id is not None:
                siblings.setdefault(hit.node.parent_id, []).append(hit)
        parents = self._nodes(list(siblings))
        present = {hit.node.id_ for hit in hits}
        added: list[NodeWithScore] = []
        gone: set[str] = set()
        for id_, below in siblings.items():
            if id_ not in parents:
                raise StoreError(
                    f"The passage {below[0].node.id_!r} is part of {id_!r}, which is not in the "
                    "document store.",
                    hint="Put the nodes of all levels there: storage_context.docstore.add_documents(nodes)",
                )
            children = [child for child in below if id_ not in _merged_into(child.node.id_, merged)]
            if len(children) / max(len(parents[id_].child_ids), 1) > self._ratio:
                gone |= {child.node.id_ for child in children}
                merged.setdefault(id_, []).extend(child.node.id_ for child in children)
                if id_ not in present:
                    added.append(NodeWithScore(parents[id_], fmean(child.get_score() for child in children)))
        return [*(hit for hit in hits if hit.node.id_ not in gone), *added]

    def _nodes(self, ids: Sequence[str]) -> Mapping[str, TextNode]:
        """Those of these nodes that exist."""
        return {node.id_: node for node in _nodes_in(self._source, ids)} if ids else {}


def _merged_into(id_: str, merged: Mapping[str, Sequence[str]]) -> set[str]:
    """This node and all that it replaced; they cannot be above it, whatever their links say."""
    return {id_}.union(*(_merged_into(child, merged) for child in merged.get(id_, ())))


def _nodes_in(source: StorageContext | DocumentStore | NodesById, ids: Sequence[str]) -> Sequence[TextNode]:
    if isinstance(source, DocumentStore):
        return source.get_nodes(ids, raise_error=False)
    if not isinstance(source, StorageContext):
        return source.nodes(ids)
    nodes: list[Any] = source.docstore.get_nodes(ids, raise_error=False)
    for record in source.index_store.all():
        there = {node.id_ for node in nodes}
        if missing := [id_ for id_ in ids if id_ not in there]:
            nodes += source.store_of(record).nodes(missing)
    return nodes
