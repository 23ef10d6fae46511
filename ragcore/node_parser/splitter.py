"""What splitters by token count have in common: sizes, the room metadata takes, and passages with exact offsets."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence, Sized

from ragcore.node_parser.nodes import check_sizes, nodes_from_spans, room_beside_metadata
from ragcore.node_parser.pieces import Cutter, Span, chunk_spans, is_lead
from ragcore.schema import Document, TextNode
from ragcore.text.tokens import Tokenizer, as_tokenizer, default_tokenizer

logger = logging.getLogger(__name__)

FEW = 50  # tokens: chunks with less room than this are mostly metadata


class TokenSplitter:
    """A transformation: called with documents or nodes, it gives nodes. What it is given stays as it was.

    `cutters` name the places to cut, the coarsest first; `keep_headings` sees to it that no chunk ends with a heading or
    a question that leads to what follows.
    """

    def __init__(
        self,
        *,
        chunk_size: int,
        chunk_overlap: int,
        cutters: Sequence[Cutter],
        tokenizer: Tokenizer | Callable[[str], Sized] | None,
        include_metadata: bool,
        include_prev_next_rel: bool,
        keep_headings: bool = False,
    ) -> None:
        check_sizes(chunk_size, chunk_overlap)
        self.chunk_size = chunk_size
        self.chunk_overlap = chunk_overlap
        self.include_metadata = include_metadata
        self.include_prev_next_rel = include_prev_next_rel
        self.keep_headings = keep_headings
        self._cutters = tuple(cutters)
        self._tokenizer = as_tokenizer(tokenizer) if tokenizer is not None else None

    @property
    def tokenizer(self) -> Tokenizer:
        """The one given, or the bundled embedder's, which is loaded when it is first needed."""
        return self._tokenizer or default_tokenizer()

    def split_text(self, text: str) -> list[str]:
        """The chunks' texts. "" gives [""]; nothing but white space gives []."""
        if not text:
            return [text]
        return [text[start:end] for start, end in self.split_spans(text)]

    def split_spans(self, text: str) -> list[Span]:
        """Where the chunks are: text[start:end], in order; they may overlap, and only white space lies outside them."""
        return self._split(text, self.chunk_size)

    def get_nodes_from_documents(self, documents: Sequence[Document | TextNode], show_progress: bool = False) -> list[TextNode]:
        """Nodes of at most `chunk_size` tokens with the metadata they show; ValueError when that is too much.

        A document without text has no nodes. `show_progress` logs each document.
        """
        nodes: list[TextNode] = []
        for document in documents:
            room = room_beside_metadata(document, self.chunk_size, self.tokenizer) if self.include_metadata else self.chunk_size
            if room < min(FEW, self.chunk_size):
                logger.warning("metadata leaves %d tokens of %d for the text of each chunk", room, self.chunk_size)
            spans = self._split(document.text, room)
            nodes += nodes_from_spans(
                document,
                spans,
                include_metadata=self.include_metadata,
                include_prev_next_rel=self.include_prev_next_rel,
            )
            if show_progress:
                logger.info("split %s: %d passages", document.id_, len(spans))
        return nodes

    def __call__(self, nodes: Sequence[Document | TextNode]) -> list[TextNode]:
        return self.get_nodes_from_documents(nodes)

    def _split(self, text: str, size: int) -> list[Span]:
        return chunk_spans(
            text,
            size=size,
            overlap=self.chunk_overlap,
            tokenizer=self.tokenizer,
            cutters=self._cutters,
            stays_with_next=is_lead if self.keep_headings else None,
        )
