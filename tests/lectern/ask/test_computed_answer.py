"""Questions over rows: computed of all of them, with the passages that have them as sources."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from lectern.ask.computed_answer import split_select
from lectern.library import Library
from lectern.schema import Ask
from ragcore.llms.scripted import ScriptedLLM
from tests.lectern.test_indexes import take_in

ROOMS = "Room,Seats,Projector\nAspen,12,yes\nBirch,8,no\nCedar,30,yes\nDogwood,6,no\nElm,16,yes\n"
NAMES = [f"{first}{second}" for first in "BDFGKLMNPRST" for second in ("al", "en", "ir", "on", "us")]
STOCK = "Article,Pieces,Fresh\n" + "".join(f"{name},{at % 7},yes\n" for at, name in enumerate(NAMES))


@pytest.fixture
def library(open_library: Callable[..., Library]) -> Library:
    library = open_library()
    take_in(library, ROOMS, "rooms.csv")
    take_in(library, STOCK, "stock.csv")
    return library


@pytest.mark.smoke
@pytest.mark.parametrize("chat_mode", [None, "best", "context"])
def test_an_answer_is_computed_of_all_rows_and_cites_them(library: Library, chat_mode: str | None) -> None:
    answer = library.answer(Ask("Which rooms have no projector?", chat_mode=chat_mode)).whole()
    sentence, _, rows = str(answer).partition("\n\n")
    assert sentence == "2 of 5 rows where Projector is no:"
    assert rows == (
        "- Room: Birch; Seats: 8; Projector: no [1]\n- Room: Dogwood; Seats: 6; Projector: no [1]"
    )
    assert answer.outcome == "answer"
    assert [hit.node.metadata["file_name"] for hit in answer.source_nodes] == ["rooms.csv"]


def test_each_row_cites_the_passage_that_has_it(library: Library) -> None:
    answer = library.answer(Ask("How many articles have fewer than 7 pieces?")).whole()
    assert str(answer).startswith(f"**{len(NAMES)}** of {len(NAMES)} rows where Pieces is less than 7.")
    assert str(answer).endswith(f"… and {len(NAMES) - 20} more rows.")
    cited = re.findall(r"- (Article: \w+; .*) \[(\d+)\]", str(answer))
    assert len(cited) == 20
    for row, number in cited:
        assert row in answer.source_nodes[int(number) - 1].node.text


def test_the_trace_has_the_search_and_one_step(library: Library) -> None:
    trace = library.answer(Ask("Which room has the most seats?")).whole().trace
    assert trace is not None
    assert len(trace.spans("retrieve")) == 1
    assert [step.facts["prompt"] for step in trace.spans("llm")] == ["text_qa"]
    assert all(step.seconds >= 0 for step in trace.walk())


def test_two_tables_that_fit_are_not_chosen_between(library: Library) -> None:
    take_in(library, ROOMS.replace("Aspen", "Willow"), "more rooms.csv")
    answer = library.answer(Ask("Which room has the most seats?")).whole()
    assert answer.outcome == "closest"


def test_the_words_of_a_question_need_not_be_in_the_rows(library: Library) -> None:
    rows = "2025-01-02,Baker,-3.50\n2025-01-09,Landlord,-840.00\n2025-01-31,Salary,2100.00\n"
    take_in(library, f"Date,Payee,Amount\n{rows}", "account.csv")
    take_in(library, "My biggest expense is a secret. An expense is what I spend.", "diary.txt")
    asked = Ask("What was my biggest expense?", top_k=1)
    answer = library.answer(asked).whole()
    assert str(answer).startswith("**-840.00** is the lowest Amount")
    assert [hit.node.metadata["file_name"] for hit in answer.source_nodes] == ["account.csv"]
    diary = [file.id for file in library.files.all() if file.name == "diary.txt"]
    assert "840" not in str(library.answer(replace(asked, file_ids=tuple(diary))).whole())


ACCOUNTS = (
    "| (in thousands) | 2021 | 2022 |\n| Membership fees | {first} | 1,500 |\n| Rent paid | 410 | 390 |\n"
)
FEES = Ask("What was the percentage change in membership fees from 2021 to 2022?")


def test_cells_of_a_two_way_table_are_computed(library: Library) -> None:
    take_in(library, ACCOUNTS.format(first="1,200"), "accounts.txt")
    answer = library.answer(FEES).whole()
    sentence, _, rows = str(answer).partition("\n\n")
    assert (
        sentence == "**25%** is the percentage change in Membership fees from 1,200 (2021) to 1,500 (2022)."
    )
    assert rows == "Membership fees (in thousands) | 2021: 1,200; 2022: 1,500 [1]"
    assert answer.outcome == "answer"


def test_results_of_a_few_files_are_shown_with_their_names(library: Library) -> None:
    for first in (1200, 1000, 1500):
        take_in(library, ACCOUNTS.format(first=first), f"accounts {first}.txt")
    answer = library.answer(FEES).whole()
    for first, result in ((1200, "25%"), (1000, "50%"), (1500, "0%")):
        found = re.search(rf"accounts {first}\.txt:\n\n\*\*{result}\*\* .*\n\n.*\[(\d)\]", str(answer))
        assert found is not None
        assert answer.source_nodes[int(found[1]) - 1].node.metadata["file_name"] == f"accounts {first}.txt"
    take_in(library, ACCOUNTS.format(first=900), "accounts 900.txt")
    assert library.answer(FEES).whole().outcome != "answer"
    named = library.answer(replace(FEES, question=f"{FEES.question[:-1]} in accounts 1000.txt?")).whole()
    assert str(named).startswith("**50%**")


def test_nothing_that_matches_is_an_answer(library: Library) -> None:
    answer = library.answer(Ask("Which rooms have more than 90 seats?")).whole()
    assert str(answer) == "None of the 5 rows where Seats is more than 90. [1]"
    assert (answer.outcome, len(answer.source_nodes)) == ("answer", 1)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("Welche Rooms haben keinen Projector?", "2 von 5 Zeilen mit Projector gleich nein:"),
        ("Quelle room a le plus de seats ?", "**30** est la valeur la plus élevée de Seats, sur 5 lignes."),
        ("Sort the rooms by seats", "5 rows, sorted by Seats, lowest first:"),
        ("How many more seats does Cedar have than Elm?", "**14** is the difference in Seats between"),
    ],
)
def test_five_languages_and_further_operations(library: Library, question: str, sentence: str) -> None:
    answer = library.answer(Ask(question)).whole()
    assert answer.outcome == "answer"
    assert str(answer).startswith(sentence)


@pytest.mark.parametrize(
    "ask",
    [
        Ask("Which room has the most seats?", chat_mode=None, response_mode="accumulate"),
        Ask("Which room has the most seats?", chat_mode=None, response_mode="no_text"),
        Ask("Which room has the most seats?", chat_mode="simple"),
    ],
)
def test_other_ways_to_answer_stay_as_they_are(library: Library, ask: Ask) -> None:
    assert "is the highest" not in str(library.answer(ask))


@pytest.mark.smoke
@pytest.mark.parametrize("chat_mode", [None, "best"])
def test_a_model_proposes_a_query_where_the_words_are_not_understood(
    library: Library, chat_mode: str | None
) -> None:
    llm = ScriptedLLM(["SELECT room FROM rooms ORDER BY seats DESC LIMIT 2"])
    ask = Ask("Which two rooms offer guests the most seats?", chat_mode=chat_mode)
    answer = library.answer(ask, writer=llm).whole()
    text, query = split_select(str(answer))
    assert text.splitlines() == [
        "**Cedar, Elm** is the Room of 2 of 5 rows, by the highest Seats.",
        "",
        "- Room: Cedar; Seats: 30; Projector: yes [1]",
        "- Room: Elm; Seats: 16; Projector: yes [1]",
    ]
    assert " ".join(query.split()) == "SELECT room FROM rooms ORDER BY seats DESC LIMIT 2"
    assert [call.prompt for call in llm.calls] == ["table_query"]
    assert answer.trace is not None
    assert [step.facts["prompt"] for step in answer.trace.spans("llm")] == ["table_query"]
    assert (answer.outcome, len(answer.source_nodes)) == ("answer", 1)


def test_with_a_model_what_is_understood_needs_no_query(library: Library) -> None:
    llm = ScriptedLLM()
    answer = library.answer(Ask("Which room has the most seats?", chat_mode=None), writer=llm)
    assert "is the highest" in str(answer)
    assert not llm.calls


def test_after_a_refused_query_the_model_reads_the_passages(library: Library) -> None:
    llm = ScriptedLLM(["SELECT room FROM rooms WHERE projector = 'yes'", "Cedar and Elm [1]."])
    question = "Which two rooms offer guests the most seats?"
    answer = library.answer(Ask(question, chat_mode=None), writer=llm).whole()
    assert str(answer) == "Cedar and Elm [1]."
    assert [call.prompt for call in llm.calls] == ["table_query", "chat_text_qa"]


def test_the_table_with_most_words_of_the_question_is_described(library: Library) -> None:
    llm = ScriptedLLM(["SELECT SUM(pieces) FROM stock", "none"])
    library.answer(Ask("How many pieces lie on the shelves altogether?", chat_mode=None), writer=llm).whole()
    assert str(llm.calls[0].variables["info_str"]).startswith("stock, 60 rows:")
