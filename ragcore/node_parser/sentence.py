"""Chunks of whole sentences, as many as fit, each beginning with the last sentences of the one before."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence, Sized

from ragcore.node_parser.node_building import IdFunction
from ragcore.node_parser.text_pieces import AtMatches, AtPieces, BeforeEach, Cutter, at_sentences
from ragcore.node_parser.text_splitter import TokenSplitter
from ragcore.text.tokens import Tokenizer

PHRASES = r"[^,.;。？！]+[,.;。？！]?|[,.;。？！]"


class SentenceSplitter(TokenSplitter):
    """Cuts at paragraphs where they fit, then sentences, phrases, words, and characters at last.

    No chunk has more than `chunk_size` tokens; only a single character that has more stands alone in one. Consecutive
    chunks share at most `chunk_overlap` tokens of whole pieces. `tokenizer` may be any function from text to a list of tokens.
    `chunking_tokenizer_fn` is a function from text to its sentences, used in place of the rules for sentences.
    With `keep_headings` a heading, or a question answered below it, goes with what follows it.
    """

    def __init__(
        self,
        chunk_size: int = 1024,
        chunk_overlap: int = 200,
        *,
        separator: str = " ",
        paragraph_separator: str = "\n\n\n",
        chunking_tokenizer_fn: Callable[[str], Sequence[str]] | None = None,
        secondary_chunking_regex: str | None = PHRASES,
        tokenizer: Tokenizer | Callable[[str], Sized] | None = None,
        include_metadata: bool = True,
        include_prev_next_rel: bool = True,
        id_func: IdFunction | None = None,
        keep_headings: bool = False,
    ) -> None:
        sentences: Cutter = AtPieces(chunking_tokenizer_fn) if chunking_tokenizer_fn else at_sentences
        cutters: list[Cutter] = [BeforeEach(paragraph_separator), sentences]
        if secondary_chunking_regex:
            cutters.append(AtMatches(re.compile(secondary_chunking_regex)))
        super().__init__(
            chunk_size=chunk_size,
            chunk_overlap=chunk_overlap,
            cutters=[*cutters, BeforeEach(separator)],
            tokenizer=tokenizer,
            include_metadata=include_metadata,
            include_prev_next_rel=include_prev_next_rel,
            id_func=id_func,
            keep_headings=keep_headings,
        )


SimpleNodeParser = SentenceSplitter  # as LlamaIndex named it before
