"""Chunks of as many words as fit, without regard to sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from typing import Unpack

from ragcore.node_parser.base import NodeOptions
from ragcore.node_parser.text_pieces import BeforeEach
from ragcore.node_parser.text_splitter import TokenSplitter
from ragcore.text.tokens import Tokenizer


class TokenTextSplitter(TokenSplitter):
    """Cuts at `separator`. A piece that is still too long is cut at each of `backup_separators`, then between
    characters.

    >>> TokenTextSplitter(chunk_size=3, chunk_overlap=0, tokenizer=str.split).split_text(
    ...     "The boat sails at nine."
    ... )
    ['The boat sails', 'at nine.']
    """

    def __init__(
        self,
        chunk_size: int = 1024,
        chunk_overlap: int = 20,
        *,
        separator: str = " ",
        backup_separators: Sequence[str] = ("\n",),
        tokenizer: Tokenizer | Callable[[str], Sized] | None = None,
        **options: Unpack[NodeOptions],
    ) -> None:
        super().__init__(
            chunk_size=chunk_size,
            chunk_overlap=chunk_overlap,
            cutters=[BeforeEach(each) for each in (separator, *backup_separators)],
            tokenizer=tokenizer,
            **options,
        )
