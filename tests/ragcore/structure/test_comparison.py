"""Which of the rows that a conversation spoke of has most or least."""

from __future__ import annotations

import pytest

from ragcore.structure.comparison import compare, find_comparison
from ragcore.structure.tables import tables_of

ROOMS = tables_of(
    "Room | Seats | Price a day | Floor\n"
    "Room: Cedar; Seats: 30; Price a day: 260 €; Floor: 2\n"
    "Room: Elm; Seats: 20; Price a day: 180 €; Floor: 3\n"
    "Room: Fir; Seats: 9; Price a day: 95,50 €; Floor: 3\n"
)[0]


@pytest.mark.parametrize(
    ("question", "is_most"),
    [
        ("Which one is larger?", True),
        ("Which of the two has fewer?", False),
        ("And which one is the smallest?", False),
        ("Welche ist größer?", True),
        ("Welcher von beiden hat weniger?", False),
        ("Laquelle est la plus petite ?", False),
        ("Lequel a plus ?", True),
        ("¿Cuál es mayor?", True),
        ("¿Cuál de los dos tiene menos?", False),
        ("哪个更大？", True),
        ("哪一个小一些？", False),
    ],
)
def test_which_has_most_or_least_is_asked_in_five_languages(question: str, is_most: bool) -> None:
    comparison = find_comparison(question)
    assert comparison is not None
    assert comparison.is_most == is_most


@pytest.mark.parametrize(
    "question",
    [
        "Which room is larger?",
        "Which one is larger in May?",
        "Which one is cheaper?",
        "Is it larger?",
        "哪个更新？",
    ],
)
def test_any_other_question_compares_nothing(question: str) -> None:
    assert find_comparison(question) is None


@pytest.mark.parametrize(
    ("names", "asked", "sentence"),
    [
        (["Cedar", "Elm"], "How many seats does Elm have?", "**Elm** has the lowest Seats, 20, of 2 rows."),
        (["Cedar", "fir", "Elm"], "How many seats?", "**Fir** has the lowest Seats, 9, of 3 rows."),
        (["Elm", "Fir"], "What is its price?", "**Fir** has the lowest Price a day, 95,50 €, of 2 rows."),
        (["Elm", "Fir"], "On which floor is it?", "Floor is 3 in all 2 rows."),
    ],
)
def test_rows_are_compared_in_the_column_that_was_asked(names: list[str], asked: str, sentence: str) -> None:
    comparison = find_comparison("Which one is smaller?")
    assert comparison is not None
    compared = compare(comparison, names, asked, ROOMS)
    assert compared is not None
    assert compared.sentence == sentence
    assert [row.cells["Room"].casefold() for row in compared.rows] == [name.casefold() for name in names]


@pytest.mark.parametrize(
    ("names", "asked"),
    [
        (["Cedar", "Oak"], "How many seats does Oak have?"),  # no such row
        (["Cedar", "Elm"], "What does it cost?"),  # no such column
        (["Cedar", "Elm"], "Which seats are on which floor?"),  # two columns
    ],
)
def test_what_is_unclear_is_not_compared(names: list[str], asked: str) -> None:
    comparison = find_comparison("Which one is larger?")
    assert comparison is not None
    assert compare(comparison, names, asked, ROOMS) is None


def test_of_ranks_the_highest_is_not_the_largest_number() -> None:
    clubs = tables_of("Club | Rank\nClub: Chess; Rank: 1\nClub: Judo; Rank: 5")[0]
    comparison = find_comparison("Which one is higher?")
    assert comparison is not None
    assert compare(comparison, ["Chess", "Judo"], "What rank does Judo have?", clubs) is None
