"""One answer per document: rows in order, and a failing one among the others."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from lectern.ask.per_document import AnswerPerDocument
from lectern.export.transcript import Transcript, as_html
from lectern.schema import Conversation, Message, Source
from ragcore.errors import LLMServerError
from ragcore.llms.base import LLMCall
from ragcore.query_engine.retriever import RetrieverQueryEngine
from ragcore.response_synthesizers.base import NOTHING_FOUND
from ragcore.response_synthesizers.synthesizer import Synthesizer
from ragcore.schema import NodeWithScore, TextNode
from tests.ragcore.response_synthesizers.doubles import ListRetriever, UnlockedLLM, passages_of

FILES = {"a": "alpha.pdf", "b": "beta.pdf", "c": "gamma.txt"}


def page(file_id: str, number: int) -> NodeWithScore:
    about = {"file_name": FILES[file_id], "page_label": str(number), "page_word": "page"}
    text = f"{file_id} says {number}"
    return NodeWithScore(
        TextNode(text, f"{file_id}{number}", metadata=about, start_char_idx=number * len(text))
    )


def answer_of(call: LLMCall) -> str:
    """The second page of alpha answers; beta breaks; gamma knows nothing."""
    first = passages_of(call)[0].text
    if first.startswith("b"):
        raise LLMServerError("The model is out of memory.", hint="Choose a smaller one.")
    return "I could not find this in your documents." if first.startswith("c") else "It is 2. [2]"


def each(llm: UnlockedLLM, files: dict[str, str] = FILES, workers: int = 4) -> AnswerPerDocument:
    def engine(file_id: str) -> RetrieverQueryEngine:
        return RetrieverQueryEngine(
            ListRetriever([page(file_id, number) for number in (1, 2)]), Synthesizer(llm)
        )

    return AnswerPerDocument("What?", files, engine, workers=workers)


def test_each_document_is_a_row_and_one_that_fails_says_why() -> None:
    answer = each(UnlockedLLM(answer_of))
    text = str(answer)
    assert [(row.file_name, row.found, row.text, row.pages) for row in answer.rows] == [
        ("alpha.pdf", "found", "It is 2. [1]", ("2",)),
        ("beta.pdf", "failed", "The model is out of memory.", ()),
        ("gamma.txt", "nothing", "I could not find this in your documents.", ()),
    ]
    assert answer.rows[1].hint == "Choose a smaller one."
    assert [hit.node.id_ for hit in answer.source_nodes] == ["a2"]
    assert text.startswith("**alpha.pdf**\n\nIt is 2. [1]\n\n**beta.pdf**\n\n")
    assert {hit.node.id_ for hit in answer.read()} == {"a1", "a2", "c1", "c2"}
    progress = answer.progress()
    assert (progress.done, progress.of) == (3, 3)


def test_citations_are_numbered_through_all_documents() -> None:
    answer = each(UnlockedLLM(lambda call: "Both. [2][1]"))
    str(answer)
    assert [row.text for row in answer.rows] == ["Both. [1][2]", "Both. [3][4]", "Both. [5][6]"]
    assert [hit.node.id_ for hit in answer.source_nodes] == ["a2", "a1", "b2", "b1", "c2", "c1"]
    assert answer.rows[0].pages == ("1", "2")  # in their order, whichever is cited first


def test_bracketed_number_in_a_file_name_cites_nothing() -> None:
    answer = each(UnlockedLLM(lambda call: "It is. [1]"), {"a": "alpha [1].pdf", "b": "beta [2].pdf"})
    message = Message("m", "c", "assistant", str(answer), "done", 0.0)
    assert message.text == "**alpha \\[1\\].pdf**\n\nIt is. [1]\n\n**beta \\[2\\].pdf**\n\nIt is. [2]"
    sources = tuple(Source(number, "n", "f", "f", 0, 2, "It", 1.0) for number in (1, 2))
    page = as_html(Transcript(Conversation("c", "chat", "t", 0.0, 0.0), (replace(message, sources=sources),)))
    assert "<strong>alpha [1].pdf</strong>" in page
    assert page.count(">[1]</a>") == page.count(">[2]</a>") == 1


def test_an_answer_without_citations_has_its_own_outcome() -> None:
    answer = each(UnlockedLLM(lambda call: "It is blue."))
    str(answer)
    assert [row.found for row in answer.rows] == ["uncited"] * 3


def test_documents_are_queried_in_parallel_within_the_limit() -> None:
    at_once, most, lock, met = [0], [0], threading.Lock(), threading.Barrier(2, timeout=20)

    def rule(call: LLMCall) -> str:
        with lock:
            at_once[0] += 1
            most[0] = max(most[0], at_once[0])
        if not passages_of(call)[0].text.startswith("c"):
            met.wait()
        with lock:
            at_once[0] -= 1
        return "Yes. [1]"

    str(each(UnlockedLLM(rule), workers=2))
    assert most[0] == 2


@pytest.mark.late("the thread that asks may be far ahead of the one that reads")
def test_closing_keeps_the_rows_that_are_there_and_asks_no_more() -> None:
    asked: list[str] = []

    def rule(call: LLMCall) -> str:
        asked.append(passages_of(call)[0].text[0])
        return "Yes. [1]"

    answer = each(UnlockedLLM(rule), workers=1)
    for _piece in answer:
        if answer.rows:
            break
    assert [row.file_name for row in answer.rows] == ["alpha.pdf"]
    assert len(asked) < 3
    assert all(step.seconds >= 0 for step in answer.trace.walk()) if answer.trace else False


def test_no_document_is_no_row() -> None:
    answer = each(UnlockedLLM(answer_of), {})
    assert (str(answer), answer.rows) == (NOTHING_FOUND, ())
