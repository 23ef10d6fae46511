"""What splitters by token count have in common: sizes, the room metadata takes, and where each chunk begins and ends."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence, Sized

from ragcore.node_parser.base import NodeParser
from ragcore.node_parser.node_building import Cut, IdFunction, check_sizes, room_beside, room_beside_metadata
from ragcore.node_parser.text_pieces import Cutter, Span, chunk_spans, is_lead
from ragcore.schema import Document, TextNode
from ragcore.text.tokens import Tokenizer, as_tokenizer, default_tokenizer

logger = logging.getLogger(__name__)

FEW = 50  # tokens: chunks with less room than this are mostly metadata


class TokenSplitter(NodeParser):
    """Chunks of at most `chunk_size` tokens, of which consecutive ones share at most `chunk_overlap`.

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
        id_func: IdFunction | None = None,
        keep_headings: bool = False,
    ) -> None:
        super().__init__(include_metadata=include_metadata, include_prev_next_rel=include_prev_next_rel, id_func=id_func)
        check_sizes(chunk_size, chunk_overlap)
        self.chunk_size = chunk_size
        self.chunk_overlap = chunk_overlap
        self.keep_headings = keep_headings
        self._cutters = tuple(cutters)
        self._tokenizer = as_tokenizer(tokenizer) if tokenizer is not None else None

    @property
    def tokenizer(self) -> Tokenizer:
        """The one given, or the bundled embedder's, which is loaded when it is first needed."""
        return self._tokenizer or default_tokenizer()

    def split_text(self, text: str) -> list[str]:
        """The chunks' texts. "" gives [""]; nothing but white space gives []."""
        return self._texts(text, self.chunk_size)

    def split_texts(self, texts: Sequence[str]) -> list[str]:
        """The chunks of every text, in order."""
        return [chunk for text in texts for chunk in self.split_text(text)]

    def split_text_metadata_aware(self, text: str, metadata_str: str) -> list[str]:
        """As `split_text`, with room for `metadata_str` and a blank line above each; ValueError where there is none."""
        return self._texts(text, room_beside([metadata_str], self.chunk_size, self.tokenizer, "The metadata"))

    def split_spans(self, text: str) -> list[Span]:
        """Where the chunks are: text[start:end], in order; they may overlap, and only white space lies outside them."""
        return self._split(text, self.chunk_size)

    def cuts(self, source: Document | TextNode) -> list[Cut]:
        """With `include_metadata`, chunks that fit together with it: ValueError when it leaves no room.

        A subclass that gives `split_text` decides itself where chunks begin and end.
        """
        if type(self).split_text is not _split_text:
            return _places(source.text, self.split_text(source.text))
        room = room_beside_metadata(source, self.chunk_size, self.tokenizer) if self.include_metadata else self.chunk_size
        if room < min(FEW, self.chunk_size):
            logger.warning("metadata leaves %d tokens of %d for the text of each chunk", room, self.chunk_size)
        return [Cut(start, end) for start, end in self._split(source.text, room)]

    def _texts(self, text: str, size: int) -> list[str]:
        return [text[start:end] for start, end in self._split(text, size)] if text else [text]

    def _split(self, text: str, size: int) -> list[Span]:
        return chunk_spans(
            text,
            size=size,
            overlap=self.chunk_overlap,
            tokenizer=self.tokenizer,
            cutters=self._cutters,
            stays_with_next=is_lead if self.keep_headings else None,
        )


_split_text = TokenSplitter.split_text


def truncate_text(text: str, text_splitter: TokenSplitter) -> str:
    """The first chunk of the text."""
    return text_splitter.split_text(text)[0]


def _places(text: str, pieces: Sequence[str]) -> list[Cut]:
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
