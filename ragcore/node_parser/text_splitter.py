"""The base class of splitters by token count: sizes, room for metadata, and the spans of chunks."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence, Sized
from typing import Unpack

from ragcore.node_parser.base import NodeOptions, NodeParser
from ragcore.node_parser.node_building import Cut
from ragcore.node_parser.text_pieces import Cutter, Span, chunk_spans, is_lead
from ragcore.schema import Document, MetadataMode, TextNode
from ragcore.text.tokens import Tokenizer, as_tokenizer, default_tokenizer

logger = logging.getLogger(__name__)

MIN_ROOM = 50  # tokens: chunks with less room than this are mostly metadata


class TokenSplitter(NodeParser):
    """Chunks of at most `chunk_size` tokens. Consecutive chunks share at most `chunk_overlap` tokens.

    `cutters` find the places to cut, the coarsest first. With `keep_headings` no chunk ends with a heading or
    with a question that leads to what follows.
    """

    def __init__(
        self,
        *,
        chunk_size: int,
        chunk_overlap: int,
        cutters: Sequence[Cutter],
        tokenizer: Tokenizer | Callable[[str], Sized] | None,
        keep_headings: bool = False,
        **options: Unpack[NodeOptions],
    ) -> None:
        super().__init__(**options)
        if chunk_size < 1:
            raise ValueError(f"chunk_size is {chunk_size}; it must be at least 1 token.")
        if chunk_overlap < 0:
            raise ValueError(f"chunk_overlap is {chunk_overlap}; it cannot be negative.")
        if chunk_overlap > chunk_size:
            raise ValueError(
                f"chunk_overlap ({chunk_overlap} tokens) is larger than chunk_size ({chunk_size} tokens)."
            )
        self.chunk_size = chunk_size
        self.chunk_overlap = chunk_overlap
        self.keep_headings = keep_headings
        self._cutters = tuple(cutters)
        self._tokenizer = as_tokenizer(tokenizer) if tokenizer is not None else None

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the constructor, or the bundled embedder's, which is loaded when it is first
        needed."""
        return self._tokenizer or default_tokenizer()

    def split_text(self, text: str) -> list[str]:
        """The chunks' texts. "" gives [""]; white space alone gives []."""
        return self._texts(text, self.chunk_size)

    def split_texts(self, texts: Sequence[str]) -> list[str]:
        """The chunks of every text, in order."""
        return [chunk for text in texts for chunk in self.split_text(text)]

    def split_text_metadata_aware(self, text: str, metadata_str: str) -> list[str]:
        """Like `split_text`, with room for `metadata_str` and a blank line above each chunk. ValueError if
        there is none."""
        return self._texts(text, self._room_beside([metadata_str], "The metadata"))

    def split_spans(self, text: str, *, chunk_size: int | None = None) -> list[Span]:
        """Where the chunks text[start:end] are, in order. They may overlap, and only white space lies outside
        them."""
        return chunk_spans(
            text,
            size=chunk_size or self.chunk_size,
            overlap=self.chunk_overlap,
            tokenizer=self.tokenizer,
            cutters=self._cutters,
            stays_with_next=is_lead if self.keep_headings else None,
        )

    def cuts(self, source: Document | TextNode) -> list[Cut]:
        """With `include_metadata` a chunk fits together with the metadata. ValueError if the metadata leaves
        no room.

        A subclass with its own `split_text` decides where chunks begin and end.
        """
        if type(self).split_text is not _split_text:
            return locate_pieces(source.text, self.split_text(source.text))
        room = self.chunk_size
        if self.include_metadata and source.metadata:
            heads = [source.get_metadata_str(mode) for mode in (MetadataMode.EMBED, MetadataMode.LLM)]
            room = self._room_beside(heads, f"The metadata of document {source.id_!r}")
        if room < min(MIN_ROOM, self.chunk_size):
            logger.warning(
                "metadata leaves %d tokens of %d for the text of each chunk", room, self.chunk_size
            )
        return [Cut(start, end) for start, end in self.split_spans(source.text, chunk_size=room)]

    def _room_beside(self, heads: Sequence[str], what: str) -> int:
        """The number of tokens that the longest of `heads` leaves for text. ValueError, about `what`, if it
        leaves none."""
        longest = max(self.tokenizer.count(f"{head}\n\n") if head else 0 for head in heads)
        if longest >= self.chunk_size:
            raise ValueError(
                f"{what} is {longest} tokens long, which leaves no room in chunks of {self.chunk_size} "
                "tokens. Make chunk_size larger, shorten the metadata, or exclude some of its keys."
            )
        return self.chunk_size - longest

    def _texts(self, text: str, size: int) -> list[str]:
        return [text[start:end] for start, end in self.split_spans(text, chunk_size=size)] if text else [text]


_split_text = TokenSplitter.split_text


def locate_pieces(text: str, pieces: Sequence[str]) -> list[Cut]:
    """Where the pieces are, which may overlap. ValueError for one that is not in the text."""
    cuts: list[Cut] = []
    after = 0
    for piece in pieces:
        start = text.find(piece, after)
        if start < 0:
            raise ValueError(f"split_text gave {piece[:80]!r}, which is not in the text where it should be")
        cuts.append(Cut(start, start + len(piece)))
        after = start + 1
    return cuts
