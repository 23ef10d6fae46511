from __future__ import annotations

import pytest

from ragcore.extractive.topic import find_named, find_titled, in_first_person, quoted_names

PLANS = ["Northwind_Health_Plus_Details.pdf", "Northwind_Standard_Details.pdf", "employee_handbook.docx"]


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("What is the deductible of Northwind Standard?", PLANS[1:2]),
        ("Which services does Northwind Health Plus cover?", PLANS[:1]),
        ("Do Northwind Health Plus and Northwind Standard differ?", PLANS[:2]),
        ("What does the employees' handbook say about dogs?", PLANS[2:]),
        ("What does Northwind cover?", []),
        ("How many days off does an employee have?", []),
    ],
)
def test_documents_are_named_by_what_tells_their_names_apart(question: str, meant: list[str]) -> None:
    assert find_named(question, PLANS) == set(meant)


@pytest.mark.parametrize(
    ("topic", "meant"),
    [
        ("club handbook", ["club handbook.docx"]),
        ("Club_Handbook.docx", ["club handbook.docx"]),
        ("handbook", ["club handbook.docx", "employee_handbook.pdf"]),
        ("roof e-mail", ["1 roof.eml"]),
        ("roofs", ["1 roof.eml"]),
        ("club rules", []),
        ("club", ["club handbook.docx"]),
        ("", []),
    ],
)
def test_what_a_document_is_called_is_its_name_or_a_part_of_it(topic: str, meant: list[str]) -> None:
    assert find_titled(topic, ["club handbook.docx", "employee_handbook.pdf", "1 roof.eml"]) == set(meant)


def test_the_name_of_the_only_document_tells_nothing() -> None:
    assert find_named("What does Northwind Standard cover?", PLANS[1:2]) == set()
    assert find_named("What is said?", ["", "2024.pdf"]) == set()


@pytest.mark.parametrize(
    ("question", "own"),
    [
        ("What did the author do in school?", "What did I do in school?"),
        ("When was the writer born?", "When was I born?"),
        ("What was the narrator’s first job?", "What was my first job?"),
        ("Who is the author?", "Who is the author?"),
        ("Who was the author of Emma?", "Who was the author of Emma?"),
        ("Who built the tower?", "Who built the tower?"),
    ],
)
def test_question_about_the_author_is_searched_in_first_person(question: str, own: str) -> None:
    assert in_first_person(question) == own


def test_file_called_summary_does_not_match_every_summary_wish() -> None:
    names = ["Summary.pdf", "Lease.pdf"]
    assert quoted_names("Give me a summary of all my documents", names) == set()
    assert quoted_names("Summarise Summary.pdf", names) == {"Summary.pdf"}
