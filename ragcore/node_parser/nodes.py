"""From spans of a document to passages: ids, offsets, metadata and neighbours."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from ragcore.schema import Document, MetadataMode, TextNode, metadata_text
from ragcore.text.tokens import Tokenizer


def nodes_from_spans(
    source: Document | TextNode,
    spans: Sequence[tuple[int, int]],
    *,
    include_metadata: bool = True,
    include_prev_next_rel: bool = True,
    level: str = "",
) -> list[TextNode]:
    """One node per span of `source`, in order, each linked to its neighbours.

    A node's id follows from the source's id, its span, its text and `level`, so the same input gives the same ids; `level`
    keeps apart nodes of the same span, as where a parent has one child. Where `source` is itself a node, offsets count from
    the beginning of its document.
    """
    base = (source.start_char_idx or 0) if isinstance(source, TextNode) else 0
    document_id = source.ref_doc_id if isinstance(source, TextNode) else source.id_
    nodes = [
        TextNode(
            text=source.text[start:end],
            id_=_node_id(source, start, end, level),
            metadata=dict(source.metadata) if include_metadata else {},
            ref_doc_id=document_id,
            start_char_idx=base + start,
            end_char_idx=base + end,
            excluded_embed_metadata_keys=source.excluded_embed_metadata_keys,
            excluded_llm_metadata_keys=source.excluded_llm_metadata_keys,
        )
        for start, end in spans
    ]
    return linked(nodes) if include_prev_next_rel else nodes


def linked(nodes: Sequence[TextNode]) -> list[TextNode]:
    """The nodes of one document, each with the ids of the one before and the one after."""
    ids = [None, *(node.id_ for node in nodes), None]
    return [replace(node, prev_id=ids[i], next_id=ids[i + 2]) for i, node in enumerate(nodes)]


def room_beside_metadata(source: Document | TextNode, size: int, tokenizer: Tokenizer) -> int:
    """How many of `size` tokens are left for text under the metadata that the embedder or the language model will see."""
    if not source.metadata:
        return size
    heads = [metadata_text(source, mode) for mode in (MetadataMode.EMBED, MetadataMode.LLM)]
    taken = max(tokenizer.count(f"{head}\n\n") if head else 0 for head in heads)
    if taken >= size:
        raise ValueError(
            f"The metadata of document {source.id_!r} is {taken} tokens long, which leaves no room in chunks of {size} tokens. "
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


def _node_id(source: Document | TextNode, start: int, end: int, level: str) -> str:
    text = source.text[start:end].encode("utf-8", "surrogatepass")
    head = f"{source.id_}\n{level}\n{start}\n{end}\n".encode("utf-8", "surrogatepass")
    return hashlib.sha256(head + text).hexdigest()[:32]
