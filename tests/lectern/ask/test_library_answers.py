"""Answers about the library and its pages: facts that need neither a search nor a language model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from lectern.ask.library_answers import MAX_CHARS, MAX_NAMES, reply_from_library
from lectern.library import Library
from lectern.runs.answer_runs import AnswerRuns
from lectern.runs.cost_estimate import price
from lectern.schema import Ask, Message
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.embeddings.huggingface import HuggingFaceEmbedding
from ragcore.llms.scripted import ScriptedLLM
from ragcore.observe import condensed_question
from ragcore.schema import ChatMessage, MessageRole, Outcome
from ragcore.text.citations import MARKS, cited_in
from tests.lectern.test_library import finished, take_in, worker_of
from tests.making import make_pdf, make_pptx, make_xlsx

LEASE = (
    "The lease was signed in Brest by Ada Penrose.",
    "Dogs are allowed. The rent is 900 euros a month, and heating is included.",
    "The fee for a lost key is 30 euros. The cellar is shared with the neighbours.",
)


def ask_alone(question: str, **options: Any) -> Ask:
    return Ask(question, chat_mode=None, **options)


def add(library: Library, path: Path) -> str:
    """Adds the file, and returns its id."""
    added = library.intake.add(path, path.name)
    assert worker_of(library).run_once()
    return added.file.id


def set_added(library: Library, file_id: str, moment: datetime) -> None:
    with library.database.transaction() as db:
        db.execute("UPDATE files SET added = ? WHERE id = ?", (moment.timestamp(), file_id))


def reply(library: Library, question: str) -> tuple[Outcome, str]:
    answer = library.answer(ask_alone(question)).whole()
    return answer.outcome, str(answer)


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    opened = Library(tmp_path / "library", embedder=HashEmbedding())
    yield opened
    opened.close()


@pytest.fixture
def lease(library: Library, tmp_path: Path) -> str:
    return add(library, make_pdf(tmp_path / "lease.pdf", LEASE))


def message_of(library: Library, ask: Ask) -> Message:
    message = library.conversations.message(finished(library, AnswerRuns(library), ask))
    assert message is not None
    return message


def test_the_documents_are_counted_and_listed(library: Library) -> None:
    tower = take_in(library, "The tower is high.", "tower.txt")
    take_in(library, "The cellar is deep.", "Cellar [1].md")
    text = "2 documents.\n\n- Cellar \\[1\\].md\n- tower.txt"
    assert reply(library, "How many documents are there?") == ("answer", text)
    assert reply(library, "Which files do I have?") == ("answer", text)
    assert reply(library, "Welche Dateien habe ich?")[1].startswith("2 Dokumente.")
    assert reply(library, "Quels fichiers ai-je ?")[1].startswith("2 documents.")
    assert reply(library, "¿Cuántos archivos hay?")[1].startswith("2 documentos.")
    assert reply(library, "有多少个文件？")[1].startswith("2 个文档。")
    chosen = ask_alone("How many documents are there?", file_ids=(tower.id,))
    assert str(library.answer(chosen)) == "1 document.\n\n- tower.txt"


def test_only_documents_that_are_ready_count(library: Library, tmp_path: Path) -> None:
    take_in(library, "The tower is high.", "tower.txt")
    (tmp_path / "given").write_text("The cellar is deep.", "utf-8")
    library.intake.add(tmp_path / "given", "waiting.txt")
    assert reply(library, "Which files do I have?") == ("answer", "1 document.\n\n- tower.txt")


def test_an_empty_library_says_so(library: Library) -> None:
    assert reply(library, "How many documents are there?") == ("answer", "There are no documents.")
    assert reply(library, "What is the newest file?") == ("answer", "There are no documents.")


def test_a_long_list_ends_with_the_number_of_the_others(library: Library) -> None:
    for number in range(MAX_NAMES + 2):
        (library.incoming / "given").write_text(f"This is number {number}.", "utf-8")
        library.intake.add(library.incoming / "given", f"{number:02}.txt")
    while worker_of(library).run_once():
        pass
    lines = reply(library, "How many documents are there?")[1].splitlines()
    assert lines[0] == f"{MAX_NAMES + 2} documents."
    assert lines[2:] == [*(f"- {number:02}.txt" for number in range(MAX_NAMES)), "- and 2 more"]


def test_the_newest_and_the_longest_document(library: Library) -> None:
    first = take_in(library, "The tower is high. " * 80, "tower.txt")
    second = take_in(library, "The cellar is deep.", "cellar.txt")
    set_added(library, first.id, datetime(2026, 11, 2, 9))
    set_added(library, second.id, datetime(2026, 11, 5, 9))
    newest = "The newest document is cellar.txt, added on 2026-11-05."
    assert reply(library, "What is the newest file?") == ("answer", newest)
    characters = len(library.store.document(first.id).text)
    assert characters > 1000
    longest = f"Das längste Dokument ist tower.txt mit {characters:,} Zeichen Text.".replace(",", ".")
    assert reply(library, "Welches ist das längste Dokument?") == ("answer", longest)


def test_documents_of_today_and_of_this_week(library: Library) -> None:
    now = datetime(2026, 11, 5, 12)  # a Thursday
    moments = {
        "sunday.txt": datetime(2026, 11, 1, 23, 59),
        "monday.txt": datetime(2026, 11, 2, 0, 1),
        "today.txt": datetime(2026, 11, 5, 0, 1),
    }
    for name, moment in moments.items():
        set_added(library, take_in(library, f"This is {name}.", name).id, moment)

    def text(question: str, at: datetime = now) -> str:
        found = reply_from_library(ask_alone(question), library.files, library.store, now=at)
        assert found is not None
        return found.text

    assert text("What was added today?") == "1 document was added today.\n\n- today.txt"
    week = "2 documents were added this week.\n\n- monday.txt\n- today.txt"
    assert text("Which files were added this week?") == week
    assert text("今天添加了什么？", datetime(2026, 11, 6, 1)) == "今天没有添加文档。"


@pytest.mark.parametrize("chat_mode", [None, "condense_plus_context", "context", "react"])
def test_no_model_is_asked_and_the_message_has_its_facts(
    open_library: Callable[..., Library], tmp_path: Path, chat_mode: str | None
) -> None:
    llm = ScriptedLLM(lambda *_: "I am a model.")
    library = open_library(llm)
    add(library, make_pdf(tmp_path / "lease.pdf", LEASE))
    counted = Ask("How many documents are there?", chat_mode=chat_mode)
    page = Ask("What is on page 2?", chat_mode=chat_mode)
    message = message_of(library, counted)
    assert message.facts is not None
    assert (message.text, message.sources) == ("1 document.\n\n- lease.pdf", ())
    assert (message.facts.outcome, message.facts.passages_used, message.facts.calls) == ("answer", 0, 0)
    message = message_of(library, page)
    assert message.facts is not None
    assert (message.text, message.facts.outcome, message.facts.passages_used) == (
        f"{LEASE[1]} [1]",
        "answer",
        1,
    )
    assert message.facts.extractive
    assert [source.place for source in message.cited] == ["lease.pdf, page 2"]
    assert llm.calls == []
    assert [price(library, ask).calls for ask in (counted, page)] == [0, 0]
    assert price(library, Ask("Who signed?", chat_mode=chat_mode)).calls > 0


def test_numbers_in_names_are_no_figures_to_add_up(library: Library) -> None:
    for year in (2024, 2025):
        take_in(library, f"The minutes of {year}.", f"minutes {year}.txt")
    message = message_of(library, ask_alone("How many documents are there in total?"))
    assert message.text == "2 documents.\n\n- minutes 2024.txt\n- minutes 2025.txt"
    assert not message.leaves_adding


def test_ways_of_reading_and_chosen_passages_are_left_alone(library: Library, lease: str) -> None:
    for options in ({"reading": "everything"}, {"reading": "each_file"}, {"node_ids": ()}):
        for question in ("How many documents are there?", "What is on page 2?"):
            assert library.reply_to(ask_alone(question, **options)) is None
    assert library.reply_to(Ask("How many documents are there?", chat_mode="simple")) is None
    assert library.reply_to(ask_alone("What is on page 2?", response_mode="no_text")) is None


def test_a_comparison_has_the_same_facts_and_other_questions_share_passages(
    open_library: Callable[..., Library], tmp_path: Path
) -> None:
    library = open_library(ScriptedLLM(lambda *_: "It is 30 euros [1]."))
    add(library, make_pdf(tmp_path / "lease.pdf", LEASE))

    def compare(question: str, *modes: str) -> list[Message]:
        runs = AnswerRuns(library)
        conversation = runs.compare([ask_alone(question, response_mode=mode) for mode in modes])
        for run in runs.all(conversation):
            assert run.wait(30)
        return library.conversations.messages(conversation)[1:]

    counted = compare("How many documents are there?", "compact", "refine")
    assert [message.text for message in counted] == ["1 document.\n\n- lease.pdf"] * 2
    quoted, listed = compare("What is on page 3?", "compact", "no_text")
    assert quoted.text == f"{LEASE[2]} [1]"
    assert len(listed.sources) == 1
    written = compare("What does page 3 say about the fee?", "compact", "refine")
    assert [message.text for message in written] == ["It is 30 euros [1]."] * 2


def test_a_page_is_quoted_by_its_printed_label(library: Library, lease: str) -> None:
    assert reply(library, "What does page 3 say?") == ("answer", f"{LEASE[2]} [1]")
    assert reply(library, "Was steht auf der letzten Seite?") == ("answer", f"{LEASE[2]} [1]")
    assert reply(library, "Que dit la page 1 ?") == ("answer", f"{LEASE[0]} [1]")
    answer = library.answer(ask_alone("第2页写了什么？")).whole()
    (hit,) = answer.source_nodes
    assert hit.node.text == LEASE[1]
    document = library.store.document(lease)
    assert document.text[hit.node.start_char_idx : hit.node.end_char_idx] == LEASE[1]


def test_a_page_that_is_not_there_gives_the_number_of_pages(library: Library, lease: str) -> None:
    assert reply(library, "What is on page 12?") == ("nothing", "lease.pdf has 3 pages.")
    assert reply(library, "Summarise page 12.") == ("nothing", "lease.pdf has 3 pages.")
    assert reply(library, "¿Qué dice la página 12?") == ("nothing", "lease.pdf tiene 3 páginas.")


def test_an_empty_page_says_so(library: Library, tmp_path: Path) -> None:
    add(library, make_pdf(tmp_path / "boat.pdf", ["The boat is red.", "", "It sails to Brest."]))
    empty = "This page of boat.pdf has no text that could be read."
    assert reply(library, "What is on page 2?") == ("nothing", empty)
    assert reply(library, "What is on page 3?") == ("answer", "It sails to Brest. [1]")


def test_a_text_without_pages_says_so(library: Library) -> None:
    take_in(library, "The tower is high.", "tower.txt")
    assert reply(library, "What is on page 2?") == ("nothing", "tower.txt was read without page numbers.")


def test_a_page_of_several_documents_is_quoted_from_each_or_from_the_named_one(
    library: Library, lease: str, tmp_path: Path
) -> None:
    add(library, make_pdf(tmp_path / "boat.pdf", ["The boat is red.", "It sails to Brest."]))
    parts = "Found in 2 documents.", "**boat.pdf**", "It sails to Brest. [1]", "**lease.pdf**"
    both = "\n\n".join([*parts, f"{LEASE[1]} [2]"])
    assert reply(library, "What is on page 2?") == ("answer", both)
    assert reply(library, "What is on page 2 of boat.pdf?") == ("answer", "It sails to Brest. [1]")
    assert reply(library, "What does page 3 say?") == ("answer", f"{LEASE[2]} [1]")
    chosen = ask_alone("What is on page 2?", file_ids=(lease,))
    assert str(library.answer(chosen)) == f"{LEASE[1]} [1]"


def test_at_most_three_documents_are_quoted(library: Library, tmp_path: Path) -> None:
    for name in "abcde":
        add(library, make_pdf(tmp_path / f"{name}.pdf", [f"This is {name}."]))
    outcome, text = reply(library, "What is on page 1?")
    assert outcome == "answer"
    assert text.startswith("Found in several documents. Here are 3 of them;")
    assert [name for name in "abcde" if f"**{name}.pdf**" in text] == ["a", "b", "c"]


def test_a_section_of_several_versions_is_quoted_from_the_newest_first(library: Library) -> None:
    rules = (
        "Club rules, valid from 1 March {}.\n\nChapter 1: Fees\n\nMembers pay a fee every year.\n\n"
        "Chapter 2: Smoking\n\nSmoking is {} in all rooms of the club.\n"
    )
    for year, smoking in (("2022", "allowed"), ("2025", "forbidden")):
        take_in(library, rules.format(year, smoking), f"rules_{year}.txt")
    outcome, text = reply(library, "What does chapter 2 say?")
    assert outcome == "answer"
    assert text.index("forbidden") < text.index("allowed")


def test_a_question_about_the_library_is_no_topic_of_a_follow_up(library: Library, lease: str) -> None:
    questions = ["Who signed the lease?", "Which files do I have?"]
    history = [ChatMessage(MessageRole.USER, question) for question in questions]
    trace = library.answer(Ask("And when?"), history).whole().trace
    assert condensed_question(trace) == "And when? (signed lease)"


def test_every_word_of_a_page_is_quoted_once_from_passages_that_overlap(
    library: Library, tmp_path: Path
) -> None:
    small = library.settings.ingest.model_copy(update={"chunk_size": 40, "chunk_overlap": 15})
    library.update_settings(library.settings.model_copy(update={"ingest": small}))
    subjects = ("boat", "harbour", "lighthouse")
    verbs = ("sees", "needs", "guards", "paints", "sells", "fears", "finds", "greets", "leaves", "owns")
    pages = [
        " ".join(
            f"The {subject} {verb} whatever the {verb[::-1]} {verb} in {subject[::-1]}." for verb in verbs
        )
        for subject in subjects
    ]
    file_id = add(library, make_pdf(tmp_path / "long.pdf", pages))
    answer = library.answer(ask_alone("What is on page 2?")).whole()
    page = library.store.document(file_id).pages[1]
    assert len(answer.source_nodes) > 2
    assert cited_in(str(answer)) == [number for number, _ in enumerate(answer.source_nodes, 1)]
    assert MARKS.sub("", str(answer)).split() == pages[1].split()
    for hit in answer.source_nodes:
        assert page.start <= (hit.node.start_char_idx or 0) < (hit.node.end_char_idx or 0) <= page.end
        assert "harbour" in hit.node.text
        assert hit.node.metadata["page_label"] == "2"


def test_a_long_page_is_cut_and_says_so(library: Library, tmp_path: Path) -> None:
    lines = [f"Line {number} of the long page is about the harbour." for number in range(1, 90)]
    path = make_pdf(tmp_path / "long.pdf", ["\n".join(lines), "The end."])
    add(library, path)
    answer = library.answer(ask_alone("What is on page 1?")).whole()
    text, _, note = str(answer).rpartition("\n\n")
    assert note == "This is only the beginning."
    assert "Line 2 of the long page" in text
    assert MAX_CHARS // 2 < len(text) < MAX_CHARS + 100
    assert [f"[{number}]" in text for number, _ in enumerate(answer.source_nodes, 1)] == [True] * len(
        answer.source_nodes
    )


def test_slides_and_sheets_are_places_too(library: Library, tmp_path: Path) -> None:
    add(library, make_pptx(tmp_path / "deck.pptx", [("Plans", "We sail."), ("Costs", "It is dear.")]))
    add(library, make_xlsx(tmp_path / "book.xlsx", {"Costs": [["item", "price"], ["boat", 900]]}))
    assert "It is dear." in reply(library, "What is on slide 2?")[1]
    assert reply(library, "What is on slide 4?") == ("nothing", "deck.pptx has 2 slides.")
    rows = "Costs  \nitem | price  \nitem: boat; price: 900 [1]"
    assert reply(library, "What is on sheet Costs?") == ("answer", rows)
    assert library.reply_to(ask_alone("What is on sheet Metal?")) is None


def test_something_on_a_page_is_searched_for_on_that_page_alone(tmp_path: Path) -> None:
    library = Library(tmp_path / "library", embedder=HuggingFaceEmbedding())
    add(library, make_pdf(tmp_path / "lease.pdf", LEASE))
    ask = ask_alone("How high is the rent on page 2?")
    assert [hit.text for hit in library.passages(ask)] == [LEASE[1]]
    assert reply(library, ask.question) == (
        "answer",
        "The rent is 900 euros a month, and heating is included. [1]",
    )
    assert reply(library, "What does page 3 say about dogs?")[0] == "nothing"
    assert [hit.text for hit in library.passages(ask_alone("Summarise page 1."))] == [LEASE[0]]
    everywhere = {hit.node.id_ for hit in library.passages(ask_alone("How high is the rent on page 12?"))}
    assert everywhere == {node.id_ for node in library.store.passages()}
    library.close()


LEASE_CLAUSES = (
    "Lease of a workshop\n\n2 Term\nThe lease runs for 24 months.\n\n7 Use\n7.1 The tenant may not weld.\n"
    "7.2 Noise is allowed from 8 to 18.\n\n8 Parking\nTwo cars may stand in the yard.\n"
)
BOOK = (
    "The mill\n\nContents\n\nChapter 1 The start ..... 2\nChapter 2 The fire ..... 9\n\nChapter 1\n\n"
    "The mill was built in 1871. As chapter 2 tells, it burned.\n\nChapter 2\n\nThe fire\n\n"
    "It burned in 1950. Nobody was hurt.\n"
)
CHAT = (
    "[3/4/2026, 9:01] Ida: when is the concert\n[3/4/2026, 9:02] Pål: at six\n"
    "[3/4/2026, 9:04] Ida: I bring 3 chairs"
)


def test_a_clause_is_quoted_and_nothing_of_another(library: Library) -> None:
    take_in(library, LEASE_CLAUSES, "lease.txt")
    parking = ("answer", "8 Parking  \nTwo cars may stand in the yard. [1]")
    assert reply(library, "What does clause 8 say?") == parking
    assert reply(library, "Was steht in Ziffer 8?") == parking
    assert reply(library, "¿Qué dice la cláusula 8?") == parking
    assert reply(library, "What does the section on parking say?") == parking
    assert reply(library, "What does clause 7.2 say?")[1] == "7.2 Noise is allowed from 8 to 18. [1]"
    assert reply(library, "What is in the last clause?") == parking
    use = "7 Use  \n7.1 The tenant may not weld.  \n7.2 Noise is allowed from 8 to 18. [1]"
    assert reply(library, "Que dit la clause 7 ?") == ("answer", use)


def test_a_clause_that_is_not_there_is_missing(library: Library) -> None:
    take_in(library, LEASE_CLAUSES, "lease.txt")
    assert reply(library, "What does clause 5 say?") == ("nothing", "lease.txt has no clause 5.")
    assert reply(library, "What does clause 5 say about noise?") == ("nothing", "lease.txt has no clause 5.")
    assert reply(library, "Was steht in Klausel 5?") == ("nothing", "In lease.txt gibt es „Klausel 5“ nicht.")
    take_in(library, "Clause 5 of the treaty was signed in Brest.", "treaty.txt")
    assert "treaty" not in reply(library, "What does clause 8 say?")[1]
    assert "Brest" in reply(library, "Where was clause 5 signed?")[1]
    assert library.reply_to(ask_alone("What does clause 5 say?")) is None
    # That the lease has no chapters may be an error of reading.
    assert reply(library, "What does appendix B say?")[1] != "lease.txt has no appendix B."


def test_a_chapter_is_no_line_of_the_table_of_contents(library: Library) -> None:
    take_in(library, BOOK, "mill.txt")
    take_in(library, LEASE_CLAUSES, "lease.txt")
    text = "Chapter 2\n\nThe fire\n\nIt burned in 1950. Nobody was hurt. [1]"
    assert reply(library, "What does chapter 2 say?") == ("answer", text)
    assert reply(library, "Was steht im letzten Kapitel?") == ("answer", text)
    about = reply(library, "Was anybody hurt in chapter 2?")[1]
    assert "Nobody was hurt." in about
    assert "1871" not in about
    assert reply(library, "What does chapter 4 of mill.txt say?")[1] == "mill.txt has no chapter 4."
    assert library.reply_to(ask_alone("What burned in chapter 2 of my life?")) is None


def test_what_somebody_said_is_all_their_turns(library: Library) -> None:
    take_in(library, CHAT, "chat.txt")
    turns = "Ida: when is the concert [1]  \nIda: I bring 3 chairs [2]"
    assert reply(library, "What did Ida say?") == ("answer", turns)
    assert reply(library, "Was hat Pål geantwortet?") == ("answer", "Pål: at six [1]")
    assert library.reply_to(ask_alone("What did Tom say?")) is None


def test_a_section_has_the_page_on_which_it_is(library: Library, tmp_path: Path) -> None:
    pages = ("Chapter 1\n\nThe mill was built in 1871.", "Chapter 2\n\nIt burned in 1950.")
    add(library, make_pdf(tmp_path / "mill.pdf", pages))
    found = library.reply_to(ask_alone("What does chapter 2 say?"))
    assert found is not None
    assert [node.metadata["page_label"] for node in found.nodes] == ["2"]
