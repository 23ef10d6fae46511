"""From cuts of a document to passages: ids, offsets, metadata and neighbours."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

from ragcore.schema import Document, Metadata, Scalar, TextNode

IdFunction: TypeAlias = Callable[[int, Document | TextNode], str]
"""From a node's number in its source, counted from 0, and the source to the node's id."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Where one passage is in its source. `text` replaces source.text[start:end] where the passage has
    another text.

    A cut without `start` and `end` needs a `text`, and its node has no offsets. Neither embedder nor language
    model sees the `hidden` keys of its `metadata`.
    """

    start: int | None
    end: int | None
    text: str | None = None
    metadata: Mapping[str, Scalar] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()


def trim_span(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The span without the white space at its ends. None if it has nothing else."""
    body = text[start:end].lstrip()
    start = end - len(body)
    end = start + len(body.rstrip())
    return (start, end) if start < end else None


def nodes_from_cuts(
    source: Document | TextNode,
    cuts: Sequence[Cut],
    *,
    include_metadata: bool = True,
    include_prev_next_rel: bool = True,
    id_func: IdFunction | None = None,
) -> list[TextNode]:
    """One node per cut of `source`, in order, each linked to its neighbours.

    Without `id_func` a node's id is a hash of the source's id, the node's place and its text, so the same
    input gives the same ids. If `source` is a node itself, the new nodes belong to its document, and their
    offsets count from the document's start. A node without a document is treated like a document.
    """
    base = _offset(source)
    document_id = (isinstance(source, TextNode) and source.ref_doc_id) or source.id_
    inherited: Metadata = source.metadata if include_metadata else {}
    nodes = []
    for number, cut in enumerate(cuts):
        text = source.text[cut.start : cut.end] if cut.text is None else cut.text
        place = f"{cut.start}\n{cut.end}" if cut.start is not None else f"number {number}"
        digest = hashlib.sha256(f"{source.id_}\n{place}\n{text}".encode("utf-8", "surrogatepass"))
        nodes.append(
            TextNode(
                text=text,
                id_=id_func(number, source) if id_func else digest.hexdigest()[:32],
                metadata={**inherited, **cut.metadata},
                ref_doc_id=document_id,
                start_char_idx=None if base is None or cut.start is None else base + cut.start,
                end_char_idx=None if base is None or cut.end is None else base + cut.end,
                excluded_embed_metadata_keys=(*source.excluded_embed_metadata_keys, *cut.hidden),
                excluded_llm_metadata_keys=(*source.excluded_llm_metadata_keys, *cut.hidden),
                template=source.template,
            )
        )
    if include_prev_next_rel:
        link_neighbours(nodes)
    return nodes


def _offset(source: Document | TextNode) -> int | None:
    """Where the text of `source` begins in its document. None if the document does not have this text word
    for word."""
    if isinstance(source, Document) or source.ref_doc_id is None:
        return 0
    start, end = source.start_char_idx, source.end_char_idx
    return start if start is not None and end is not None and end - start == len(source.text) else None


def link_neighbours(nodes: Sequence[TextNode]) -> None:
    """Write the ids of the previous and the next node into each of these new nodes of one document."""
    for before, after in pairwise(nodes):
        before.next_id, after.prev_id = after.id_, before.id_
