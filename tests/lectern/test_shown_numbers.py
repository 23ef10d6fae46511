"""The numbers that a reader of an answer sees: without gaps, one for each place."""

from __future__ import annotations

from dataclasses import replace

from lectern.schema import Ask, Message, Source
from lectern.ui.safetext import answer_md


def source(number: int, page: str) -> Source:
    return Source(number, f"n{number}", "f", "lease.pdf", 0, 9, f"Text {number}.", page_label=page)


def message(text: str, *, chat: bool = True) -> Message:
    sources = (source(1, "1"), source(2, "7"), source(3, "2"), source(4, "7"))
    return Message(
        "m",
        "c",
        "assistant",
        text,
        "done",
        0.0,
        Ask("?", chat_mode="context" if chat else None),
        sources=sources,
    )


def test_citations_number_in_text_order_with_one_per_place() -> None:
    shown = message("The rent [4] and the deposit [3]. Both [2] [4].")
    assert shown.shown_numbers == {4: 1, 2: 1, 3: 2, 1: 3}
    assert shown.as_shown.text == "The rent [1] and the deposit [2]. Both [1]."
    assert [(one.number, one.page_label, one.text) for one in shown.as_shown.sources] == [
        (1, "7", "Text 4.\n\nText 2."),
        (2, "2", "Text 3."),
    ]


def test_in_the_lab_passages_keep_their_list_numbers() -> None:
    assert message("The rent [4].", chat=False).shown_numbers == {1: 1, 2: 2, 3: 3, 4: 4}


def test_passages_of_one_place_cited_together_are_one_citation() -> None:
    shown = message("Both [2] [4], then [3, 2].")
    links = {one.number: f"#passage-m.{one.number}" for one in shown.sources}
    assert answer_md(shown.text, links, numbers=shown.shown_numbers) == (
        "Both [1](#passage-m.2), then [2](#passage-m.3)[1](#passage-m.2)."
    )


def test_passages_of_a_file_without_pages_can_each_be_opened() -> None:
    sources = tuple(replace(source(number, "1"), page_label=None) for number in (1, 2))
    assert replace(message("Both [2] [1]."), sources=sources).shown_numbers == {2: 1, 1: 2}


def test_what_a_person_typed_stays_as_it_is() -> None:
    asked = Message("m", "c", "user", "What does x[0][0] mean, and [1, 2]?", "done", 0.0)
    assert asked.as_shown == asked


def test_in_a_replay_the_numbers_are_those_of_the_grid() -> None:
    assert replace(message("The rent [4]."), conversation_id="c.1.context").shown_numbers == {
        1: 1,
        2: 2,
        3: 3,
        4: 4,
    }
