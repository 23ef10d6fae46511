"""Small to find, large to read: where enough of the parts of a larger passage are found, it comes in their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Any, Protocol

from ragcore.errors import StoreError
from ragcore.observe import Span
from ragcore.retrievers.base import BaseRetriever, as_facts
from ragcore.schema import NodeWithScore, QueryBundle, TextNode
from ragcore.storage.docstore import DocumentStore
from ragcore.storage.storage_context import StorageContext


class NodesById(Protocol):
    def nodes(self, ids: Sequence[str], /) -> Sequence[TextNode]:
        """Those of these nodes that there are, as a Store gives them."""


class Retriever(Protocol):
    def retrieve(self, query: QueryBundle, /) -> list[NodeWithScore]: ...


class AutoMergingRetriever(BaseRetriever):
    """Takes what `vector_retriever` finds among the leaves of a hierarchy, and does these two things until neither changes it:

    - where one passage and the one after it in the results have exactly one passage between them in the document, that is put
      between them with the mean of their scores, once, unless it is among the results already;
    - where more than `simple_ratio_thresh` (a share, 0 to 1) of the children of a node are found, they give way to the node,
      with the mean of their scores.

    Best first, ties as they came. Scores that are None count as 0. The nodes come from `storage_context`, from a docstore, or
    from a store; a parent that is not there is a StoreError, a passage between that is not there stays away. Where links go in
    circles, a node gives way to none that gave way to it. In the trace: `leaves` (what was found), `merged` and `filled_in`.
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
            if (middle := hit.node.next_id) is not None and middle == after.node.prev_id and middle not in present
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

    def _with_parents(self, hits: Sequence[NodeWithScore], merged: dict[str, list[str]]) -> list[NodeWithScore]:
        found: dict[str, list[NodeWithScore]] = {}
        for hit in hits:
            if hit.node.parent_id is not None:
                found.setdefault(hit.node.parent_id, []).append(hit)
        parents = self._nodes(list(found))
        present = {hit.node.id_ for hit in hits}
        added: list[NodeWithScore] = []
        gone: set[str] = set()
        for id_, below in found.items():
            if id_ not in parents:
                raise StoreError(
                    f"The passage {below[0].node.id_!r} is part of {id_!r}, which is not in the document store.",
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
        """Those of these nodes that there are."""
        if not ids:
            return {}
        return {node.id_: node for node in _nodes_in(self._source, ids)}


def _merged_into(id_: str, merged: Mapping[str, Sequence[str]]) -> set[str]:
    """This node and all that gave way to it, which cannot be above it, whatever their links say."""
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
