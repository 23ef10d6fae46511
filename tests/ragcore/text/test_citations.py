from __future__ import annotations

import pytest

from ragcore.text.citations import MARKS, cited_in, recited


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("It fell. [1]", [1]),
        ("It fell [2][1], it rose [3, 1] and stood.[4;5 , 6]", [2, 1, 3, 1, 4, 5, 6]),
        ("See [1](https://example.org), [a], [1.5], [], [1,] and array[1234567].", []),
    ],
)
def test_what_a_text_cites(text: str, cited: list[int]) -> None:
    assert cited_in(text) == cited


def test_every_number_is_shown_anew_where_it_was_cited() -> None:
    assert recited("It fell [1, 2]. It rose. [3] [a]", lambda number: f"<{number}>") == "It fell <1><2>. It rose. <3> [a]"


def test_marks_are_those_that_stand_together_with_the_space_before_them() -> None:
    assert MARKS.sub("|", "It fell. [1] [2, 3][4] It rose [5].") == "It fell.| It rose|."
