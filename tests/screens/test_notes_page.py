"""Notes: kept from an answer and from a passage, deleted and put back, searched and exported."""

from __future__ import annotations

import re
from collections.abc import Callable

from lectern.schema import Source
from tests.screens.conftest import Screen

DOG = "May I bring a large dog?"
GONE = Source(1, "n1", "gone", "gone.pdf", 0, 27, "The tower was built by Ada.", 0.5, "4", "page", 3)


def test_a_saved_answer_that_is_unsure_retains_its_mark(sample_screen: Screen) -> None:
    sample_screen.open("chat").ask("Where can I park my own bicycle?").act("keep")
    assert sample_screen.toasts() == ["Added to your notes."]
    (note,) = sample_screen.library.notes.all()
    assert note.text.startswith("*Not sure*\n\nClosest passages:")


def test_an_answer_is_kept_once_with_its_question(sample_screen: Screen) -> None:
    sample_screen.open("chat").ask(DOG).act("keep").act("keep")
    assert sample_screen.toasts() == ["This is already in your notes."]
    (note,) = sample_screen.library.notes.all()
    assert note.question == DOG
    shown = sample_screen.open("notes").words(f"note_{note.id}")
    assert DOG in shown
    assert sample_screen.library.conversations.all()[0].title == DOG


def test_a_quote_is_saved_from_its_passage(sample_screen: Screen) -> None:
    screen = sample_screen.open("chat").ask(DOG)
    screen.send("citation_clicks", "open", {"panel": f"passage.{screen.message_id()}.1"})
    quoted = " ".join(text for text, mark in screen.pieces() if mark == 2)
    screen.press("Keep as a note")
    assert screen.toasts() == ["Added to your notes."]
    (note,) = screen.library.notes.all()
    lines = [line.removeprefix("> ") for line in note.text.splitlines()]
    assert "".join(lines).endswith(" [1]")
    assert re.findall(r"\w+", "\n".join(lines)) == [*re.findall(r"\w+", quoted), "1"]
    assert [source.number for source in note.sources] == [1]


def test_a_note_outlives_its_document_and_says_so(open_screen: Callable[..., Screen]) -> None:
    screen = open_screen()
    screen.library.notes.keep("It was **Ada** [1].", [GONE], question="Who built it?")
    (note,) = screen.library.notes.all()
    screen.open("notes").send("citation_clicks", "open", {"panel": f"passage.{note.id}.1"})
    assert "gone.pdf has been deleted" in screen.words("panel")
    assert "".join(text for text, _mark in screen.pieces()) == GONE.text


def test_a_deleted_note_is_restored(open_screen: Callable[..., Screen]) -> None:
    screen = open_screen()
    notes = screen.library.notes
    for text in ("one", "two"):
        notes.keep(text, [])
    before = notes.all()
    screen.open("notes").press(f"delete_{before[1].id}")
    assert "Note deleted." in screen.words()
    assert notes.all() == before[:1]
    screen.press("Undo")
    assert "Note deleted." not in screen.words()
    assert notes.all() == before


def test_searched_and_ticked_notes_are_those_to_export(open_screen: Callable[..., Screen]) -> None:
    screen = open_screen()
    for number in range(9):
        text = f"Page {number} of the {'harbour' if number % 3 else 'tower'}."
        screen.library.notes.keep(text, [], question=f"Question {number}?")
    screen.open("notes")
    screen.tab.text_input(key="notes_search").set_value("tower")
    screen.run()
    assert len([label for label in screen.buttons() if label == "Edit"]) == 3
    assert "3 notes" in screen.words("notes_export").split("\n")
    screen.tab.checkbox(key="notes_choosing").check()
    assert "Select notes in the list." in screen.run().words("notes_export")
    (ticked,) = [box for box in screen.tab.checkbox if box.label == "Question 3?"]
    ticked.check()
    assert "1 note" in screen.run().words("notes_export").split("\n")
