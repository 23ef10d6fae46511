"""Splits a document into passages with one of three splitters. Each passage has the page that it begins
on."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

from lectern.settings import SplitterName
from ragcore.node_parser.base import NodeParser
from ragcore.node_parser.markdown import MarkdownNodeParser
from ragcore.node_parser.node_building import Cut
from ragcore.node_parser.sentence import SentenceSplitter
from ragcore.node_parser.token import TokenTextSplitter
from ragcore.schema import Document, Scalar, TextNode
from ragcore.structure.outline import records_of

RECORD = "record"  # metadata


class PartSplitter(NodeParser):
    """Divides a document with `parts`, and each of the parts with `splitter`, so that no passage is of two
    parts."""

    def __init__(self, parts: NodeParser, splitter: NodeParser) -> None:
        super().__init__()
        self._parts = parts
        self._splitter = splitter

    def cuts(self, source: Document | TextNode) -> Sequence[Cut]:
        cuts = []
        for part in self._parts.cuts(source):
            start = part.start or 0
            for cut in self._splitter.cuts(Document(source.text[start : part.end], source.id_)):
                cuts.append(replace(cut, start=start + (cut.start or 0), end=start + (cut.end or 0)))
        return cuts


class SpanSplitter(NodeParser):
    """Divides a document at these (start, end), such as those of sheets or records."""

    def __init__(self, spans: Sequence[tuple[int, int]]) -> None:
        super().__init__()
        self._spans = spans

    def cuts(self, source: Document | TextNode) -> Sequence[Cut]:
        return [Cut(start, end) for start, end in self._spans]


def _splitter(name: SplitterName, chunk_size: int, chunk_overlap: int) -> NodeParser:
    if name == "token":
        return TokenTextSplitter(chunk_size=chunk_size, chunk_overlap=chunk_overlap)
    sentences = SentenceSplitter(chunk_size=chunk_size, chunk_overlap=chunk_overlap, keep_headings=True)
    return PartSplitter(MarkdownNodeParser(), sentences) if name == "section" else sentences


def passages_of(
    document: Document, chunk_size: int, chunk_overlap: int, splitter: SplitterName = "sentence"
) -> list[TextNode]:
    """The passages in reading order; sizes in tokens. An empty list for a document without text.

    `splitter`: "sentence" splits between paragraphs and sentences if possible, "token" exactly at the size,
    "section" also before every Markdown heading. No passage is of two sheets of a workbook or of two
    records, and a passage without the first line of its record has it as metadata.
    """
    parser = _splitter(splitter, chunk_size, chunk_overlap)
    records: Sequence[tuple[int, int, str]] = ()
    if document.page_word == "sheet":
        parts = [(page.start, page.end) for page in document.pages]
    else:
        records = records_of(document.text)
        parts = [(start, end) for start, end, _ in records]
    if parts:
        parser = PartSplitter(SpanSplitter(parts), parser)
    nodes = parser.get_nodes_from_documents([document])
    starts = [start for start, _, _ in records]
    for node in nodes if records else ():
        head = records[bisect_right(starts, node.start_char_idx or 0) - 1][2]
        if head not in node.text:
            node.metadata[RECORD] = head
    if not document.pages:
        return nodes
    order = {page: index for index, page in enumerate(document.pages)}
    placed: list[TextNode] = []
    for node in nodes:
        page = document.page_at(node.start_char_idx or 0)
        if page is None:
            placed.append(node)
            continue
        position: dict[str, Scalar] = {
            "page_label": page.label,
            "page_index": order[page],
            "page_word": document.page_word,
        }
        placed.append(
            replace(
                node,
                metadata={**node.metadata, **position},
                excluded_embed_metadata_keys=[*node.excluded_embed_metadata_keys, *position],
                excluded_llm_metadata_keys=[*node.excluded_llm_metadata_keys, *position],
            )
        )
    return placed
