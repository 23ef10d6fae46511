"""Thoughts of reasoning models are taken out of the answer, however the stream cuts the text."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.llms.reasoning_tags import AnswerFilter

FRAGMENTS = st.sampled_from(
    ["<think>", "</think>", "<", "<th", "think>", ">", " ", "\n", "a", "b c", "<b>", "é"]
)


def without_thoughts(text: str) -> str:
    answer = AnswerFilter()
    return answer.feed(text) + answer.end()


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("<think>hm, let me see</think>Nine.", "Nine."),
        ("\n<think>\nhm\n</think>\n\nNine.", "Nine."),
        ("<think></think>Nine.", "Nine."),
        ("<think>a</think><think>b</think> Nine.", "Nine."),
        ("Nine <think>or ten?</think>o'clock.", "Nine o'clock."),
        ("if a <thin and b > c", "if a <thin and b > c"),
        ("Nine.<thi", "Nine.<thi"),
        ("<think>never done", ""),
        ("The tag <think> opens thoughts.", "The tag <think> opens thoughts."),
        ("Nine.\n", "Nine.\n"),
        ("", ""),
    ],
)
def test_the_answer_is_what_stands_outside_of_thoughts(said: str, answer: str) -> None:
    assert without_thoughts(said) == answer


@given(st.lists(FRAGMENTS, max_size=12).map("".join), st.lists(st.integers(0, 60), max_size=8))
def test_it_does_not_matter_where_the_stream_is_cut(said: str, cuts: list[int]) -> None:
    edges = [0, *sorted(cut for cut in cuts if cut < len(said)), len(said)]
    answer = AnswerFilter()
    streamed = "".join(answer.feed(said[start:end]) for start, end in pairwise(edges)) + answer.end()
    assert streamed == without_thoughts(said)


@given(st.lists(FRAGMENTS, max_size=12).map("".join))
def test_closed_thoughts_go_and_nothing_else_does(said: str) -> None:
    closed = re.sub(r"<think>.*?</think>", "", said, flags=re.DOTALL)
    opened_at_once = re.match(r"(\s|<think>.*?</think>)*<think>(?!.*</think>)", said, re.DOTALL)
    if opened_at_once is None:
        assert without_thoughts(said) == closed.lstrip()


def test_text_without_thoughts_is_not_delayed() -> None:
    answer = AnswerFilter()
    assert [answer.feed(piece) for piece in ("The", " ferry", " <b", "> leaves")] == [
        "The",
        " ferry",
        " <b",
        "> leaves",
    ]
