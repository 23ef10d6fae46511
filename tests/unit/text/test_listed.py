from __future__ import annotations

import pytest

from ragcore.text.listed import listed


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
    assert listed(reply) == lines
