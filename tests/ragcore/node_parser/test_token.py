"""TokenTextSplitter: where it cuts, by worked examples."""

from __future__ import annotations

import pytest

from ragcore.node_parser.token import TokenTextSplitter
from tests.word_tokenizer import WordTokenizer

WORDS = WordTokenizer()


def test_words_fill_a_chunk_and_the_last_repeat_as_overlap() -> None:
    assert TokenTextSplitter(4, 1, tokenizer=WORDS).split_text("a b c d e f g h") == [
        "a b c d",
        "d e f g",
        "g h",
    ]
    assert TokenTextSplitter(1, 0, tokenizer=WORDS).split_text("foo bar") == ["foo", "bar"]
    pairs = ["foo bar", "bar hello", "hello world"]
    assert TokenTextSplitter.from_defaults(2, 1, tokenizer=WORDS).split_text("foo bar hello world") == pairs


def test_lines_are_the_second_choice() -> None:
    assert TokenTextSplitter(1, 0, tokenizer=WORDS).split_text("foo\nbar\nbaz qux") == [
        "foo",
        "bar",
        "baz",
        "qux",
    ]


def test_characters_are_the_last_choice() -> None:
    assert TokenTextSplitter(4, 0, tokenizer=list, backup_separators=()).split_text("abcdefghij") == [
        "abcd",
        "efgh",
        "ij",
    ]


def test_an_empty_separator_is_refused() -> None:
    with pytest.raises(ValueError, match="separator cannot be empty"):
        TokenTextSplitter(separator="").split_text("word " * 3000)
