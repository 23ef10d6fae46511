"""Passages with those before or after them in their documents, along the links between passages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Literal, TypeAlias

from ragcore.postprocessor.base import BaseNodePostprocessor
from ragcore.schema import NodeWithScore, QueryBundle, TextNode
from ragcore.storage.docstore import DocumentStore
from ragcore.vector_stores.base import Store

Direction: TypeAlias = Literal["previous", "next", "both", "none"]
Read: TypeAlias = Callable[[Sequence[str]], list[TextNode]]


class PrevNextNodePostprocessor(BaseNodePostprocessor):
    """Adds up to `num_nodes` passages before, after, or on both sides of each; every passage comes once, in
    reading order.

    `docstore` is what the passages are read from: a document store or a vector store. An added passage has no
    score.

    >>> from ragcore.schema import TextNode
    >>> from ragcore.storage import SimpleDocumentStore
    >>> nodes = [TextNode("First.", "n1", next_id="n2"), TextNode("Second.", "n2", prev_id="n1")]
    >>> docstore = SimpleDocumentStore()
    >>> docstore.add_documents(nodes)
    >>> [hit.text for hit in PrevNextNodePostprocessor(docstore).postprocess_nodes([NodeWithScore(nodes[0])])]
    ['First.', 'Second.']
    """

    def __init__(
        self,
        docstore: Store | DocumentStore,
        num_nodes: int = 1,
        mode: Literal["next", "previous", "both"] = "next",
    ) -> None:
        if mode not in ("next", "previous", "both"):
            raise ValueError(f"mode must be next, previous or both, not {mode!r}")
        self._read = reader_of(docstore)
        self._count = num_nodes
        self._mode = mode

    def _postprocess_nodes(
        self, nodes: Sequence[NodeWithScore], query_bundle: QueryBundle | None
    ) -> list[NodeWithScore]:
        return add_neighbours([(hit, self._mode) for hit in nodes], self._count, self._read)


def reader_of(source: Store | DocumentStore) -> Read:
    """A function that reads passages by their ids, without those that no longer exist."""
    if isinstance(source, DocumentStore):
        return lambda ids: source.get_nodes(ids, raise_error=False)
    return source.nodes


def add_neighbours(
    pairs: Sequence[tuple[NodeWithScore, Direction]], count: int, read: Read
) -> list[NodeWithScore]:
    """The passages and up to `count` in the direction of each, in reading order, each once. An added one has
    no score."""
    hits: dict[str, NodeWithScore] = {}
    for hit, _ in pairs:
        hits.setdefault(hit.node.id_, hit)
    for hit, direction in pairs:
        for way in ("previous", "next"):
            if direction in (way, "both"):
                for node in _walk(hit.node, count, read, {hit.node.id_}, forward=way == "next"):
                    hits.setdefault(node.id_, NodeWithScore(node))
    return _in_reading_order(list(hits.values()))


def _in_reading_order(hits: Sequence[NodeWithScore]) -> list[NodeWithScore]:
    """Linked passages in a row; the rows of one document by their offsets; documents by their first passage
    in `hits`.

    Rows of passages without a document or offsets stay in the order of their first passages.
    """
    rows = _rows({hit.node.id_: hit for hit in hits})
    sources = [row[0].node.ref_doc_id or row[0].node.id_ for row in rows]
    ranked = sorted(zip(sources, rows, strict=True), key=lambda pair: sources.index(pair[0]))
    ordered: list[NodeWithScore] = []
    for _, group in groupby(ranked, key=lambda pair: pair[0]):
        members = [row for _, row in group]
        starts = {id(row): row[0].node.start_char_idx for row in members}
        if None not in starts.values():
            members.sort(key=lambda row: starts[id(row)] or 0)
        ordered += [hit for row in members for hit in row]
    return ordered


def _rows(hits: dict[str, NodeWithScore]) -> list[list[NodeWithScore]]:
    """The passages in the rows that their links make of them; a row that closes on itself begins with its
    first in `hits`."""
    after = {hit.node.prev_id: id_ for id_, hit in hits.items() if hit.node.prev_id in hits}
    after |= {id_: hit.node.next_id for id_, hit in hits.items() if hit.node.next_id in hits}
    before = {following: id_ for id_, following in after.items()}
    rows: list[list[NodeWithScore]] = []
    placed: set[str | None] = set()
    for id_ in hits:
        if id_ in placed:
            continue
        head, seen = id_, {id_}
        while (earlier := before.get(head)) is not None and earlier not in placed:
            if earlier in seen:  # a circle
                head = id_
                break
            head = earlier
            seen.add(head)
        row: list[NodeWithScore] = []
        place: str | None = head
        while place is not None and place not in placed:
            placed.add(place)
            row.append(hits[place])
            place = after.get(place)
        rows.append(row)
    return rows


def _walk(node: TextNode, count: int, read: Read, seen: set[str], *, forward: bool) -> list[TextNode]:
    """Up to `count` passages after or before `node`, until one is in `seen`, to which they are added."""
    neighbours: list[TextNode] = []
    while len(neighbours) < count:
        following = node.next_id if forward else node.prev_id
        if following is None or following in seen:
            break
        nodes = read([following])
        if not nodes:
            break
        node = nodes[0]
        seen.add(node.id_)
        neighbours.append(node)
    return neighbours
