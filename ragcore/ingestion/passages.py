"""A document's passages as the library keeps them: cut by sentences, each with the page that it begins on."""

from __future__ import annotations

from dataclasses import replace

from ragcore.node_parser.sentence import SentenceSplitter
from ragcore.schema import Document, Scalar, TextNode


def passages_of(document: Document, chunk_size: int, chunk_overlap: int) -> list[TextNode]:
    """In reading order; sizes in tokens. None for a document without text."""
    splitter = SentenceSplitter(chunk_size=chunk_size, chunk_overlap=chunk_overlap, keep_headings=True)
    nodes = splitter.get_nodes_from_documents([document])
    if not document.pages:
        return nodes
    order = {page: index for index, page in enumerate(document.pages)}
    placed: list[TextNode] = []
    for node in nodes:
        page = document.page_at(node.start_char_idx or 0)
        if page is None:
            placed.append(node)
            continue
        position: dict[str, Scalar] = {"page_label": page.label, "page_index": order[page], "page_word": document.page_word}
        placed.append(
            replace(
                node,
                metadata={**node.metadata, **position},
                excluded_embed_metadata_keys=(*node.excluded_embed_metadata_keys, *position),
                excluded_llm_metadata_keys=(*node.excluded_llm_metadata_keys, *position),
            )
        )
    return placed
