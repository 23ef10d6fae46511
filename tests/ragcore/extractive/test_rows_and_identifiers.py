"""What is at most a closest passage: a row where all rows must be compared, and a passage about another
number than the question's."""

from __future__ import annotations

import pytest

from ragcore.embeddings.huggingface import HuggingFaceEmbedding
from ragcore.extractive.identifiers import has_identifier, identifiers, names_other
from ragcore.extractive.reader import Reader
from ragcore.prompts.prompt import Passage

ROOMS = Passage(
    "Room | Seats | Projector | Price a day\n"
    "Room: Aspen; Seats: 12; Projector: yes; Price a day: 140\n"
    "Room: Birch; Seats: 8; Projector: no; Price a day: 90\n"
    "Room: Cedar; Seats: 30; Projector: yes; Price a day: 260",
    1,
    "rooms.csv",
    1.0,
)
INVOICE = Passage(
    "Invoice no. 1043\n\nThe total of the invoice is 212.50 euros. It was paid on 3 March 2025.",
    1,
    "invoices.txt",
    1.0,
)


@pytest.fixture(scope="module")
def reader() -> Reader:
    return Reader(HuggingFaceEmbedding())


@pytest.mark.parametrize(
    ("question", "outcome"),
    [
        ("How many seats does Cedar have?", "answer"),
        ("What does Birch cost a day?", "answer"),
        ("Which room has the most seats?", "closest"),
        ("Which rooms have no projector?", "closest"),
        ("Which rooms cost less than 100 a day?", "closest"),
        ("How many rooms have a projector?", "closest"),
        ("List all rooms with a projector", "closest"),
    ],
)
def test_a_row_does_not_answer_for_all_rows(reader: Reader, question: str, outcome: str) -> None:
    assert reader.read(question, [ROOMS]).outcome == outcome


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("The average rent of the hall was 900 euros in 2018 and 2019.", "answer"),
        ("The average rent of the hall rose a little between 2018 and 2019.", "closest"),
        ("The rent of the hall was 880 euros in 2018 and 920 euros in 2019.", "closest"),
    ],
)
def test_a_sentence_answers_for_a_computation_if_it_states_its_result(
    reader: Reader, text: str, outcome: str
) -> None:
    passage = Passage(f"{text} It is cleaned each week.", 1, "hall.txt", 1.0)
    assert (
        reader.read("What was the average rent of the hall in 2018 and 2019?", [passage]).outcome == outcome
    )


def test_interest_is_no_superlative(reader: Reader) -> None:
    row = Passage(
        "2018 | 2019\nInterest income | 2018: 120; 2019: 140\nFees | 2018: 10; 2019: 20", 1, "a.csv", 1.0
    )
    assert reader.read("What was the average interest income?", [row]).outcome == "closest"


@pytest.mark.parametrize(
    ("question", "outcome"),
    [
        ("What was the revenue in 2019?", "answer"),
        ("What is the percentage change in revenue from 2018 to 2019?", "closest"),
        ("What was the increase in the revenue between 2018 and 2019?", "closest"),
        ("What is the ratio of revenue in 2019 to revenue in 2018?", "closest"),
        ("How much more was the revenue in 2019?", "closest"),
    ],
)
def test_a_row_does_not_answer_for_a_number_of_several(reader: Reader, question: str, outcome: str) -> None:
    figures = Passage("Item: Revenue; 2019: 120; 2018: 100\nItem: Costs; 2019: 80; 2018: 70", 1, "a.csv", 1.0)
    assert reader.read(question, [figures]).outcome == outcome


def test_a_row_that_states_the_extreme_itself_may_answer(reader: Reader) -> None:
    ropes = [
        "Rope: First; Fitted: 1894; Remarks: Never greased",
        "Rope: Eighth; Fitted: 1989; Remarks: The longest life",
    ]
    reading = reader.read("Which rope had the longest life?", [Passage("\n".join(ropes), 1, "a.csv", 1.0)])
    assert reading.outcome == "answer"


@pytest.mark.parametrize(
    ("question", "outcome"),
    [
        ("What is the total of invoice 1043?", "answer"),
        ("What is the total of invoice 1042?", "closest"),
        ("What is the total of the invoice?", "answer"),
        ("When was invoice 1043 paid?", "answer"),
        ("When was invoice 1034 paid?", "closest"),
    ],
)
def test_a_passage_about_another_number_does_not_answer(reader: Reader, question: str, outcome: str) -> None:
    assert reader.read(question, [INVOICE]).outcome == outcome


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("What does error E-42 mean?", ["E-42"]),
        ("Who won in 1998?", ["1998"]),
        ("What was the rent of flat 12 in 2024?", ["12", "2024"]),
        ("Was steht in Artikel 5 Absatz 3?", ["5", "3"]),
        ("What is order no. 7731-22?", ["7731-22"]),
        ("How many of the 3 people are over 18?", []),
        ("Is it more than 300 euros?", []),
        ("Who scored 24 points in 5 minutes?", ["24"]),
        ("Does it cost 20 % more?", []),
    ],
)
def test_numbers_that_name_something_are_identifiers(question: str, found: list[str]) -> None:
    assert identifiers(question) == found


@pytest.mark.parametrize(
    ("identifier", "text", "has"),
    [
        ("14", "on 14.3.2025", True),
        ("14", "the 14th of March", True),
        ("8.2", "see 8.21", False),
        ("1042", "1,042 boxes", True),
        ("E-42", "Error E42", True),
        ("E-42", "Error E421", False),
        ("7", "Room 07", True),
        ("7", "Room 17", False),
    ],
)
def test_identifiers_are_equal_however_they_are_written(identifier: str, text: str, has: bool) -> None:
    assert has_identifier(identifier, text) == has


def test_a_line_of_another_record_does_not_answer_even_in_one_passage(reader: Reader) -> None:
    invoices = Passage(
        "Invoice no. 17\nCustomer: Brygga\nTotal: 310.50 euro\n\n"
        "Invoice no. 18\nCustomer: Fjord\nTotal: 88.00 euro",
        1,
        "invoices.txt",
    )
    reading = reader.read("What is the total of invoice 18?", [invoices])
    assert reading.outcome == "answer"
    assert [quote.text for quote in reading.quotes] == ["**Invoice no. 18**", "Total: 88.00 euro"]
    assert reader.read("What is the total of invoice 19?", [invoices]).outcome == "closest"


@pytest.mark.parametrize(
    ("question", "heading", "is_other"),
    [
        ("What is the total of invoice 17?", "Invoice no. 18", True),
        ("What is the total of invoice 17?", "Invoice 0017", False),
        ("Was kostet Bestellung 5001?", "Bestellung Nr. 5002", True),
        ("What is the total of invoice 17?", "Chapter 18", False),
    ],
)
def test_a_heading_may_name_another_one(question: str, heading: str, is_other: bool) -> None:
    assert names_other(question, heading) == is_other
