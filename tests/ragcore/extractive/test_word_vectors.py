from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.embeddings.base import Tokens
from ragcore.extractive.sentence_vectors import Words, exact_words, mean_cosine, words_of


def test_word_vector_is_its_tokens_mean_without_stop_words() -> None:
    text = "The embeddings opened."
    places = [(0, 3), (4, 9), (9, 14), (15, 21), (21, 22)]
    rows = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0]], np.float32)
    words = words_of(Tokens(text, places, rows))
    assert words.stems == ("embed", "open")
    assert words.rows == pytest.approx(np.array([[0, 0.5**0.5, 0.5**0.5], [1, 0, 0]]), abs=1e-3)


def test_a_word_beyond_the_window_is_not_among_the_words() -> None:
    assert words_of(Tokens("Lisbon opened", [(0, 6)], np.ones((1, 2), np.float32))).stems == ("lisbon",)
    assert words_of(Tokens("", [], np.zeros((0, 2), np.float32))).stems == ()


def test_where_no_spaces_are_written_each_token_is_a_word() -> None:
    words = words_of(Tokens("押金多少", [(0, 2), (2, 4)], np.eye(2, dtype=np.float32)))
    assert words.stems == ("押金", "多少")
    assert words.rows.tolist() == [[1, 0], [0, 1]]


def test_words_without_vectors_are_compared_by_their_stems() -> None:
    assert exact_words("the open offices").nearest(exact_words("An office was opened.")).tolist() == [1, 1]
    assert exact_words("Lisbon offices").nearest(exact_words("An office was opened.")).tolist() == [0, 1]


@given(st.integers(0, 6), st.integers(0, 6), st.integers(0, 2**32 - 1))
def test_nearest_is_the_highest_cosine_by_brute_force(asked: int, said: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = (rng.normal(size=(count, 4)) for count in (asked, said))
    one, other = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (one, other))
    found = Words(("w",) * asked, one.astype(np.float16)).nearest(
        Words(("w",) * said, other.astype(np.float16))
    )
    expected = [max((float(row @ near) for near in other), default=0.0) for row in one]
    assert found.tolist() == pytest.approx(expected, abs=5e-3)


def test_the_mean_cosine_of_any_two_words() -> None:
    near, far = np.array([[1, 0.0]], np.float16), np.array([[0.6, 0.8]], np.float16)
    words = Words(("rent",), near)
    assert mean_cosine(words, [Words(("rent",), near), Words(("dog",), far)]) == pytest.approx(0.8, abs=1e-3)
    assert mean_cosine(words, [words]) == 0.95  # else nothing would be nearer
    assert mean_cosine(words, []) == 0
    assert mean_cosine(exact_words("rent"), [exact_words("rent")]) == 0
