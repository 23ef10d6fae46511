"""Counting tokens: every tokenizer against a slow count, and the positions against the text."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.embeddings.bundled_model import model_folder
from ragcore.errors import ConfigError
from ragcore.text import tokens
from ragcore.text.tokens import (
    FunctionTokenizer,
    Tokenizer,
    WordPieceTokenizer,
    count_tokens,
    default_tokenizer,
    has_vocabulary,
    slices,
    tiktoken_tokenizer,
)
from tests.needs import needs_vocabulary
from tests.ragcore.text.vocabulary import find_vocabulary
from tests.word_tokenizer import WordTokenizer

find_vocabulary()

TEXTS = st.lists(
    st.sampled_from(
        [
            "The herons",
            " ",
            "\n\n",
            "naïve",
            "漢字",
            "😀",
            "👩\u200d🚀",
            "don't",
            "3.14",
            "\ud83d",
            "ไทย",
            "<|endoftext|>",
        ]
    )
).map("".join)


SPACES = [" ", "  ", "\n", "\n\n", "\t", "\r\n", "\u00a0", "\u2003", "\x1c", "\x0b", "\x85"]


def all_tokenizers() -> list[Tokenizer]:
    exact = [tiktoken_tokenizer()] if has_vocabulary("cl100k_base") else []
    return [WordTokenizer(), default_tokenizer(), FunctionTokenizer(str.split), *exact]


@given(text=TEXTS | st.text(max_size=60))
def test_positions_ascend_inside_the_text_one_per_token(text: str) -> None:
    for tokenizer in all_tokenizers():
        starts = list(tokenizer.starts(text))
        assert starts == sorted(starts)
        assert all(0 <= start < len(text) for start in starts)
        assert len(starts) == tokenizer.count(text)


def test_the_default_counts_as_the_bundled_model_does() -> None:
    from transformers import AutoTokenizer

    theirs = AutoTokenizer.from_pretrained(str(model_folder()), local_files_only=True)
    for text in (
        "",
        "The herons' eggs weren't unbelievably overcooked.",
        "word " * 700,
        "中文 and ASCII",
        "tab\tand\nline",
    ):
        assert count_tokens(text) == len(
            theirs(text, add_special_tokens=False, truncation=False, verbose=False)["input_ids"]
        )


def test_words_the_model_does_not_know_count_by_their_length() -> None:
    assert count_tokens("x" * 400) == 100
    assert count_tokens("😀😀😀") == 3
    assert list(default_tokenizer().starts("ok " + "x" * 400))[:3] == [0, 3, 7]


@needs_vocabulary
@pytest.mark.parametrize("text", ["a plain line", "漢字 😀 and 👩\u200d🚀", "Größe", "é" * 50, "ဗမာ"])
def test_tiktoken_positions_are_where_each_tokens_bytes_begin(text: str) -> None:
    import tiktoken

    encoding = tiktoken.get_encoding("cl100k_base")
    expected, done = [], b""
    for token in encoding.encode_ordinary(text):
        begins = len(done)
        expected.append(next(i for i in range(len(text)) if len(text[: i + 1].encode()) > begins))
        done += encoding.decode_single_token_bytes(token)
    assert list(tiktoken_tokenizer().starts(text)) == expected


@needs_vocabulary
def test_control_marks_in_a_text_are_text() -> None:
    assert tiktoken_tokenizer().count("<|endoftext|>") > 1


@needs_vocabulary
@given(
    text=st.lists(
        st.sampled_from(["The", "don't", "naïve", "3.14", "漢字", "!!", "/", "x" * 40, *SPACES, *SPACES])
    ).map("".join)
)
def test_word_wise_counting_equals_whole_for_any_white_space(text: str) -> None:
    import tiktoken

    for name in ("cl100k_base", "o200k_base"):
        assert tiktoken_tokenizer(name).count(text) == len(tiktoken.get_encoding(name).encode_ordinary(text))
    assert default_tokenizer().count(text) == len(default_tokenizer().starts(text))


def test_cache_of_counted_words_is_cleared_when_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "KNOWN_WORDS", 10)
    tokenizer = WordPieceTokenizer(model_folder() / "tokenizer.json")
    text = " ".join(f"w{number}" for number in range(500))
    assert tokenizer.count(text) == len(tokenizer.starts(text))
    assert len(tokenizer._known) <= 10


@given(text=TEXTS | st.text(max_size=80), size=st.integers(1, 12))
def test_slices_are_the_whole_text_in_order(text: str, size: int) -> None:
    parts = list(slices(text, size))
    assert [offset for offset, _ in parts] == [
        sum(len(part) for _, part in parts[:i]) for i in range(len(parts))
    ]
    assert "".join(part for _, part in parts) == "".join(
        "?" if "\ud800" <= c <= "\udfff" else c for c in text
    )
    assert all(0 < len(part) <= size for _, part in parts)


def test_a_text_of_many_slices_has_the_tokens_of_its_lines() -> None:
    line = "Each heron, unhurriedly, eats; 3.14 fish\tper day (on average).\n"
    for tokenizer in [default_tokenizer(), *all_tokenizers()[3:]]:
        assert tokenizer.count(line * 5_000) == tokenizer.count(line) * 5_000
        assert len(tokenizer.starts(line * 5_000)) == tokenizer.count(line) * 5_000


def test_eight_threads_count_alike() -> None:
    found: list[int] = []
    threads = [
        threading.Thread(target=lambda: found.append(count_tokens("The heron stood. " * 500)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [4 * 500] * 8


def test_a_vocabulary_that_is_not_here_is_never_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    with pytest.raises(ConfigError, match="not on this computer"):
        tiktoken_tokenizer("o200k_base")
    # tiktoken would throw a damaged file away and download it again.
    (tmp_path / "fb374d419588a4632f3f557e76b4b70aebbca790").write_text("damaged")
    assert not has_vocabulary("o200k_base")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    assert not has_vocabulary("o200k_base")
    with pytest.raises(ConfigError, match="no tokenizer called 'gpt5'") as caught:
        tiktoken_tokenizer("gpt5")
    assert "cl100k_base, o200k_base" in caught.value.hint
