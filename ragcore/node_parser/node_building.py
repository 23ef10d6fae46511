"""From cuts of a document to passages: ids, offsets, metadata and neighbours."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

from ragcore.schema import Document, Metadata, MetadataMode, Scalar, TextNode, metadata_text
from ragcore.text.tokens import Tokenizer

IdFunction: TypeAlias = Callable[[int, Document | TextNode], str]
"""From a node's number in its source, from 0, and the source to the node's id."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A passage to be: a stretch of its source, or `text` where that is not what stands there word for word.

    A cut without a stretch has `text`, and no offsets. `metadata` is its own, `hidden` the keys of it that neither embedder
    nor language model sees.
    """

    start: int | None
    end: int | None
    text: str | None = None
    metadata: Mapping[str, Scalar] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()


def trimmed(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The stretch without the white space at its ends; None where it is nothing else."""
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

    A node's id follows from the source's id, its place and its text, so the same input gives the same ids; or it is what
    `id_func` says. Where `source` is itself a node, its nodes are of the same document, and offsets count from the beginning
    of that; a node of no document is taken for one.
    """
    base = _offset(source)
    document_id = (isinstance(source, TextNode) and source.ref_doc_id) or source.id_
    inherited: Metadata = source.metadata if include_metadata else {}
    nodes = []
    for number, cut in enumerate(cuts):
        text = source.text[cut.start : cut.end] if cut.text is None else cut.text
        place = f"{cut.start}\n{cut.end}" if cut.start is not None else f"number {number}"
        nodes.append(
            TextNode(
                text=text,
                id_=id_func(number, source) if id_func else _node_id(source.id_, place, text),
                metadata={**inherited, **cut.metadata},
                ref_doc_id=document_id,
                start_char_idx=None if base is None or cut.start is None else base + cut.start,
                end_char_idx=None if base is None or cut.end is None else base + cut.end,
                excluded_embed_metadata_keys=(*source.excluded_embed_metadata_keys, *cut.hidden),
                excluded_llm_metadata_keys=(*source.excluded_llm_metadata_keys, *cut.hidden),
                template=source.template,
            )
        )
    return linked(nodes) if include_prev_next_rel else nodes


def _offset(source: Document | TextNode) -> int | None:
    """Where in its document the text of `source` begins; None where it does not stand there word for word."""
    if isinstance(source, Document) or source.ref_doc_id is None:
        return 0
    start, end = source.start_char_idx, source.end_char_idx
    return start if start is not None and end is not None and end - start == len(source.text) else None


def linked(nodes: Sequence[TextNode]) -> list[TextNode]:
    """The new nodes of one document, to each of which the ids of the one before and the one after are written."""
    for before, after in pairwise(nodes):
        before.next_id, after.prev_id = after.id_, before.id_
    return list(nodes)


def room_beside_metadata(source: Document | TextNode, size: int, tokenizer: Tokenizer) -> int:
    """How many of `size` tokens are left for text under the metadata that the embedder or the language model will see."""
    if not source.metadata:
        return size
    heads = [metadata_text(source, mode) for mode in (MetadataMode.EMBED, MetadataMode.LLM)]
    return room_beside(heads, size, tokenizer, f"The metadata of document {source.id_!r}")


def room_beside(heads: Sequence[str], size: int, tokenizer: Tokenizer, what: str) -> int:
    """How many of `size` tokens are left for text under the longest of `heads`; ValueError, about `what`, where none are."""
    taken = max(tokenizer.count(f"{head}\n\n") if head else 0 for head in heads)
    if taken >= size:
        raise ValueError(
            f"{what} is {taken} tokens long, which leaves no room in chunks of {size} tokens. "
            "Make chunk_size larger, shorten the metadata, or exclude some of its keys."
        )
    return size - taken


def check_sizes(chunk_size: int, chunk_overlap: int) -> None:
    if chunk_size < 1:
        raise ValueError(f"chunk_size is {chunk_size}; it must be at least 1 token.")
    if chunk_overlap < 0:
        raise ValueError(f"chunk_overlap is {chunk_overlap}; it cannot be negative.")
    if chunk_overlap > chunk_size:
        raise ValueError(f"chunk_overlap ({chunk_overlap} tokens) is larger than chunk_size ({chunk_size} tokens).")


def _node_id(source_id: str, place: str, text: str) -> str:
    return hashlib.sha256(f"{source_id}\n{place}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
