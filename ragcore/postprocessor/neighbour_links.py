"""Passages along the links of their documents: those before and after, and several in the order they are read in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Literal, TypeAlias

from ragcore.schema import NodeWithScore, TextNode
from ragcore.storage.docstore import DocumentStore
from ragcore.vector_stores.base import Store

Direction: TypeAlias = Literal["previous", "next", "both", "none"]
Read: TypeAlias = Callable[[Sequence[str]], list[TextNode]]


def reader_of(source: Store | DocumentStore) -> Read:
    """What gives passages by their ids, leaving out those that are gone."""
    if isinstance(source, DocumentStore):
        return lambda ids: source.get_nodes(ids, raise_error=False)
    return source.nodes


def with_neighbours(found: Iterable[tuple[NodeWithScore, Direction]], count: int, read: Read) -> list[NodeWithScore]:
    """The passages and up to `count` in each one's direction, `in_reading_order`, each once. What is added has no score."""
    pairs = list(found)
    kept: dict[str, NodeWithScore] = {}
    for hit, _ in pairs:
        kept.setdefault(hit.node.id_, hit)
    for hit, direction in pairs:
        for way in ("previous", "next"):
            if direction in (way, "both"):
                for node in walk(hit.node, count, read, {hit.node.id_}, forward=way == "next"):
                    kept.setdefault(node.id_, NodeWithScore(node))
    return in_reading_order(list(kept.values()))


def in_reading_order(hits: Sequence[NodeWithScore]) -> list[NodeWithScore]:
    """Linked passages in a row; the rows of one document by their offsets; documents by their first passage in `hits`.

    Where passages have no document or offsets, their rows stand as their first passages do.
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
    """The passages in the rows that their links make of them; a row that closes on itself begins with its first in `hits`."""
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


def walk(node: TextNode, count: int, read: Read, taken: set[str], *, forward: bool) -> list[TextNode]:
    """Up to `count` passages after or before `node`, as far as they are not taken yet; they are taken now."""
    found: list[TextNode] = []
    while len(found) < count:
        following = node.next_id if forward else node.prev_id
        if following is None or following in taken:
            break
        there = read([following])
        if not there:
            break
        node = there[0]
        taken.add(node.id_)
        found.append(node)
    return found
