from __future__ import annotations

import pytest

from ragcore.text.citations import MARKS, cited_in, rewrite_citations, standard_citations


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


@pytest.mark.smoke
def test_every_citation_is_renumbered_in_its_position() -> None:
    assert (
        rewrite_citations("It fell [1, 2]. It rose. [3] [a]", lambda number: f"<{number}>")
        == "It fell <1><2>. It rose. <3> [a]"
    )


def test_marks_are_adjacent_citations_with_the_space_before() -> None:
    assert MARKS.sub("|", "It fell. [1] [2, 3][4] It rose [5].") == "It fell.| It rose|."


@pytest.mark.parametrize(
    ("written", "standard"),
    [
        ("Blue (passage 1), not red 【2†source】 [Passages 1 and 3].", "Blue [1], not red [2] [1]."),
        ("According to passage 2, blue. See passages 1 and 2.", "According to [2], blue. See [1][2]."),
        ("Blue [^1], red [Quelle 2], 绿（来源 1）。", "Blue [1], red [2], 绿[1]。"),
        (
            "Blue [7] since [2020] (1), document 4 of 7, array[123].",
            "Blue since [2020] (1), document 4 of 7, array[123].",
        ),
        ("A [1](https://example.org) link", "A [1](https://example.org) link"),
    ],
)
def test_all_citation_forms_become_one_and_name_real_passages(written: str, standard: str) -> None:
    assert standard_citations(written, 2) == standard
