"""Whether a text is in another language than English."""

from __future__ import annotations

import pytest

from ragcore.text.language import is_foreign


@pytest.mark.parametrize(
    "text",
    [
        "Der Reiher steht am Wasser und wartet auf einen Fisch.",
        # a language that is not told apart from others
        "Żuraw stoi nad wodą i czeka na rybę; do domu wróci późno.",
        "苍鹭站在水边等待鱼。",
        "The title is English. Сами записи ведутся на русском языке, и их много.",
    ],
)
def test_another_language_is_seen(text: str) -> None:
    assert is_foreign(text)


@pytest.mark.parametrize(
    "text",
    [
        "The heron stands at the edge of the water and waits for a fish.",
        (
            "The café that Zoë opened is on the corner of the square, and it is closed on Mondays and on "
            "Tuesdays in the winter."
        ),
        "1998;12.5;A-17\n1999;13.0;A-18",
        "",
    ],
)
def test_english_and_what_tells_nothing_are_not(text: str) -> None:
    assert not is_foreign(text)


def test_the_beginning_of_a_long_text_tells() -> None:
    english = "The heron stands at the edge of the water and waits for a fish. " * 400
    assert not is_foreign(english + "苍鹭站在水边等待鱼。" * 10_000)
