"""Unclear questions over rows: what they may mean, each of which is computed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lectern.ask.named_file import split_file_name
from lectern.ask.table_readings import find_readings
from lectern.library import Library
from lectern.runs.answer_runs import AnswerRuns
from lectern.schema import Ask, Message
from tests.lectern.test_library import finished, take_in

NORTH = "Room,Seats,Projector\nAspen,12,yes\nBirch,8,no\nCedar,30,yes\n"
SOUTH = "Room,Seats,Projector\nDogwood,6,no\nElm,20,yes\nFir,16,no\n"
BOATS = "Boat,Price now,Price later\nEider,40,210\nGull,55,280\nHeron,35,190\n"


def ask(library: Library, question: str) -> Message:
    message = library.conversations.message(finished(library, AnswerRuns(library), Ask(question)))
    assert message is not None
    return message


def readings(library: Library, question: str) -> list[str]:
    ids = dict.fromkeys(source.file_id for source in ask(library, question).sources)
    return find_readings(question, [library.store.document(id_) for id_ in ids], library.store)


def test_a_question_that_fits_two_files_is_computed_from_the_named_one(
    open_library: Callable[..., Library],
) -> None:
    library = open_library()
    take_in(library, NORTH, "north.csv")
    take_in(library, SOUTH, "south.csv")
    question = "Which rooms have no projector?"
    assert "rows where" not in ask(library, question).text
    found = readings(library, question)
    assert sorted(found) == [
        f"Which rooms have no projector in {name}?" for name in ("north.csv", "south.csv")
    ]
    text = ask(library, "Which rooms have no projector in south.csv?").text
    assert text.startswith("2 of 3 rows where Projector is no")
    assert "Birch" not in text


def test_a_word_that_fits_two_columns_has_a_reading_for_each(open_library: Callable[..., Library]) -> None:
    library = open_library()
    take_in(library, BOATS, "boats.csv")
    found = readings(library, "What is the average price?")
    assert found == ["What is the average Price now?", "What is the average Price later?"]
    assert ask(library, found[1]).text.startswith("**226.67** is the average of Price later")


def test_one_reading_alone_is_not_offered(open_library: Callable[..., Library]) -> None:
    library = open_library()
    take_in(library, BOATS.replace("210", "ask").replace("280", "ask").replace("190", "ask"), "boats.csv")
    assert readings(library, "What is the average price?") == []


@pytest.mark.parametrize("question", ["Which rooms have a piano?", "Who waters the plants?"])
def test_nothing_is_offered_that_is_not_computed(question: str, open_library: Callable[..., Library]) -> None:
    library = open_library()
    take_in(library, NORTH, "north.csv")
    take_in(library, SOUTH, "south.csv")
    assert readings(library, question) == []


@pytest.mark.parametrize(
    ("question", "without"),
    [
        ("How many rooms are there in my rooms.csv?", "How many rooms are there in my?"),
        ("Wie viele Räume gibt es in „rooms.csv“?", "Wie viele Räume gibt es?"),
        ("Combien de salles dans Rooms.csv ?", "Combien de salles?"),
        ("¿Cuántas salas hay en rooms.csv?", "¿Cuántas salas hay?"),
        ("在 rooms.csv 中，有多少个房间？", "有多少个房间？"),
        ("在rooms.csv中，有多少个房间？", "有多少个房间？"),
        ("How many are there in old rooms.csv?", "How many are there?"),
        ("What was built in 2025?", "What was built in 2025?"),
        ("How many rooms are there in bedrooms.csv?", "How many rooms are there in bedrooms.csv?"),
    ],
)
def test_the_named_file_is_taken_out_of_a_question(question: str, without: str) -> None:
    rest, name = split_file_name(question, ["2025", "rooms.csv", "old rooms.csv"])
    assert rest == without
    assert name.endswith("rooms.csv") == (rest != question)
