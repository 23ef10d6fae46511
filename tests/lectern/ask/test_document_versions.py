"""Versions of a document lead or are folded, and near copies take no place from others."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lectern.library import Library
from lectern.schema import Ask, build_sources
from ragcore.schema import NodeWithScore
from tests.lectern.test_indexes import take_in

OLD = """Pool rules

Valid from 3 May 2023

A day ticket costs 6 euro. Dogs stay outside. The pool closes at 8 pm."""
NEW = """Pool rules

Valid from 1 April 2025

A day ticket costs 9 euro. Dogs stay outside. The sauna opens at 7 am."""
LETTER = """Letter {number}

Please ask the office about the yearly fee of the club. The fee is explained there. Kind regards, {number}."""


@pytest.fixture
def library(open_library: Callable[..., Library]) -> Library:
    library = open_library()
    take_in(library, NEW, "pool_rules_2025.txt")
    take_in(library, OLD, "pool_rules_2023.txt")
    return library


def names_of(hits: list[NodeWithScore]) -> list[str]:
    return [str(hit.node.metadata["file_name"]) for hit in hits]


def test_the_newest_version_leads_and_a_differing_one_stands_below_with_its_date(library: Library) -> None:
    answer = library.answer(Ask("How much does a day ticket cost?", chat_mode=None)).whole()
    first, version, others = str(answer).split("\n\n")
    assert first == "A day ticket costs 9 euro. [1]"
    assert version == "This is from **pool_rules_2025.txt** (1 April 2025). Other versions say:"
    assert others == "- **pool_rules_2023.txt** (3 May 2023): A day ticket costs 6 euro. [2]"
    assert answer.outcome == "answer"


def test_a_version_that_says_the_same_is_only_a_source(library: Library) -> None:
    answer = library.answer(Ask("Where do dogs stay?", chat_mode=None)).whole()
    assert str(answer) == "Dogs stay outside. [1]"
    sources = [
        (source.file_name, source.version, source.leader) for source in build_sources(answer.source_nodes)
    ]
    assert sources == [
        ("pool_rules_2025.txt", "1 April 2025", ""),
        ("pool_rules_2023.txt", "3 May 2023", "pool_rules_2025.txt"),
    ]


def test_what_only_another_version_says_is_answered_as_such(library: Library) -> None:
    answer = str(library.answer(Ask("When does the pool close?", chat_mode=None)))
    above, quote = answer.split("\n\n")
    assert above == "This is from **pool_rules_2023.txt** (3 May 2023), not from **pool_rules_2025.txt**:"
    assert quote == "The pool closes at 8 pm. [2]"


def test_a_year_in_the_question_chooses_the_version(library: Library) -> None:
    hits = library.passages(Ask("How much did a day ticket cost in 2023?"))
    assert names_of(hits) == ["pool_rules_2023.txt", "pool_rules_2025.txt"]


def test_versions_that_are_not_selected_are_not_read(library: Library) -> None:
    old = next(file.id for file in library.files.all() if file.name == "pool_rules_2023.txt")
    answer = library.answer(Ask("How much does a day ticket cost?", chat_mode=None, file_ids=(old,))).whole()
    assert str(answer) == "A day ticket costs 6 euro. [1]"


def test_issues_of_a_series_are_no_versions(library: Library) -> None:
    for month, fee in (("09", 70), ("10", 80)):
        take_in(
            library,
            f"Invoice\n\nCustomer: Brook Ltd. The electricity costs {fee} euro.",
            f"invoice_2025-{month}.txt",
        )
    hits = library.passages(Ask("How much does the electricity cost?"))
    assert {
        str(hit.node.metadata["file_name"]) for hit in hits if "file_version" in hit.node.metadata
    } == set()
    assert sorted(names_of(hits)[:2]) == ["invoice_2025-09.txt", "invoice_2025-10.txt"]


def test_near_copies_leave_room_for_others(library: Library) -> None:
    for number in range(8):
        take_in(library, LETTER.format(number=number), f"letter_{number}.txt")
    take_in(library, "Statutes\n\nEvery member pays 64 euro a year.", "statutes.txt")
    hits = library.passages(Ask("How high is the yearly fee of the club?", top_k=4))
    assert "statutes.txt" in names_of(hits)
    assert names_of(library.passages(Ask("What does letter 5 say?", top_k=4)))[0] == "letter_5.txt"


def test_no_passage_changes_without_versions(open_library: Callable[..., Library]) -> None:
    library = open_library()
    take_in(library, NEW, "pool_rules_2025.txt")
    take_in(library, "The club has 80 members and a boat.", "club.txt")
    hits = library.passages(Ask("How much does a day ticket cost?"))
    assert all("file_version" not in hit.node.metadata for hit in hits)
    answer = library.answer(Ask("How much does a day ticket cost?", chat_mode=None))
    assert str(answer) == "A day ticket costs 9 euro. [1]"
