from __future__ import annotations

import pytest

from ragcore.text.list_replies import parse_list


@pytest.mark.parametrize(
    ("reply", "lines"),
    [
        ("one\ntwo", ["one", "two"]),
        ("1. one\n2) two\n(3) three\n4: four", ["one", "two", "three", "four"]),
        ("- one\n* two\n• three", ["one", "two", "three"]),
        ('```\n"one"\n\n  **two** \n```', ["one", "two"]),
        ("one\none", ["one"]),
        ("2001 was a film", ["2001 was a film"]),
        (" \n-\n", ["-"]),
        ("", []),
    ],
)
def test_lines_lose_what_a_model_puts_around_them(reply: str, lines: list[str]) -> None:
    assert parse_list(reply) == lines


@pytest.mark.parametrize(
    ("reply", "items"),
    [
        ("Here are questions:\n1. What is a?\n2. What is b?", ["What is a?", "What is b?"]),
        ("Sure!\n\n- one\n- two\n\nLet me know if you want more.", ["one", "two"]),
        ("```\nQueries:\n* one\n* two\n```", ["one", "two"]),
        (
            "1. What is the\n   capital of France?\n2. What is b?",
            ["What is the capital of France?", "What is b?"],
        ),
        ("1. What is a?\n   It is in the first line.\n2. What is b?", ["What is a?", "What is b?"]),
        ("1. one,\r\n   two\r\n2. three\r\n", ["one, two", "three"]),
        ("- one\n  - two\n\n  three", ["one", "two"]),
        ("Here are questions:\nWhat is a?", ["Here are questions:", "What is a?"]),
        ("What is the\n   capital?", ["What is the", "capital?"]),
        ("1. Is x - y known?\nx - y", ["Is x - y known?"]),
        ("What is x - y?\n2001: A Space Odyssey", ["What is x - y?", "2001: A Space Odyssey"]),
    ],
)
def test_only_the_items_of_a_list_reply_are_read(reply: str, items: list[str]) -> None:
    assert parse_list(reply) == items
