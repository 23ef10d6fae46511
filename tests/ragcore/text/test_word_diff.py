"""Differences between two texts by word: they give back both texts, and are those a reader would mark."""

from __future__ import annotations

import time
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ragcore.text.word_diff import Piece, legible, word_differences

WORDS = st.lists(
    st.sampled_from(["the ", "tower ", "was ", "built", ". ", "[1]", "\n\n", "塔", "1,871 ", "Ada's "]),
    max_size=40,
).map("".join)
TEXTS = st.one_of(st.text(max_size=60), WORDS)


def without(pieces: list[Piece], kind: str) -> str:
    return "".join(piece.text for piece in pieces if piece.kind != kind)


@given(TEXTS, TEXTS)
def test_the_pieces_give_back_both_texts(first: str, second: str) -> None:
    pieces = word_differences(first, second)
    assert without(pieces, "added") == first
    assert without(pieces, "removed") == second
    assert all(piece.text for piece in pieces)
    assert all(one.kind != other.kind for one, other in pairwise(pieces))


@given(TEXTS)
def test_a_text_does_not_differ_from_itself(text: str) -> None:
    assert word_differences(text, text) == ([Piece("same", text)] if text else [])


def test_whole_words_differ_with_the_space_before_them() -> None:
    first, second = (
        "The old tower was built by Ada in 1871. [1]",
        "The old tower was built by Bea in 1872. [1]",
    )
    assert word_differences(first, second) == [
        Piece("same", "The old tower was built by"),
        Piece(
            "removed", " Ada in 1871"
        ),  # a single word in common between two differences is not worth an interruption
        Piece("added", " Bea in 1872"),
        Piece("same", ". [1]"),
    ]


def test_a_word_stays_where_the_space_before_it_alone_is_another() -> None:
    assert word_differences("In short.\n\nAt the top it stands.", "At the top it stands.") == [
        Piece("removed", "In short.\n\n"),
        Piece("same", "At the top it stands."),
    ]
    assert word_differences("It stands. At the top of it.", "It stands.\n\nAt the top of it.") == [
        Piece("same", "It stands."),
        Piece("removed", " "),
        Piece("added", "\n\n"),
        Piece("same", "At the top of it."),
    ]


def test_removed_white_space_alone_is_not_displayed() -> None:
    pieces = word_differences("It stands.\n\nAt the top of it.", "It stands. Then it fell. At the top of it.")
    assert Piece("removed", "\n\n") in pieces
    assert legible(pieces) == [piece for piece in pieces if piece != Piece("removed", "\n\n")]
    assert legible(word_differences("It fell.", "It rose.")) == word_differences("It fell.", "It rose.")


def test_a_script_without_spaces_is_compared_sign_by_sign() -> None:
    assert word_differences("这座塔建于一八七一年", "这座塔建于一八七二年") == [
        Piece("same", "这座塔建于一八七"),
        Piece("removed", "一"),
        Piece("added", "二"),
        Piece("same", "年"),
    ]


def test_long_answers_are_compared_at_once() -> None:
    first = " ".join(f"word{n % 700} the of and" for n in range(2500))
    second = " ".join(f"word{n % 690} the of and" for n in range(2500))
    began = time.perf_counter()
    pieces = word_differences(first, second)
    assert time.perf_counter() - began < 5
    assert without(pieces, "removed") == second
