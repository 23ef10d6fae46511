"""Whatever cuts a document: the passages are stretches of it, in order, within their size; and each splitter
keeps its word."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lectern.jobs.chunking import passages_of
from lectern.settings import SplitterName
from ragcore.schema import Document, Page
from ragcore.text.tokens import count_tokens

LINES = st.lists(
    st.sampled_from(
        [
            "# A title",
            "## Another",
            "A sentence of six words here.",
            "",
            "Words without an end " * 9,
            "- an item",
        ]
    ),
    max_size=30,
).map("\n".join)


@pytest.mark.parametrize("splitter", get_args(SplitterName))
@given(text=LINES)
def test_passages_are_stretches_that_hold_all_words(splitter: SplitterName, text: str) -> None:
    document = Document(text, "d")
    nodes = passages_of(document, 24, 0, splitter)
    assert [text[node.start_char_idx : node.end_char_idx] for node in nodes] == [node.text for node in nodes]
    assert " ".join(node.text for node in nodes).split() == text.split()
    assert all(count_tokens(node.text) <= 24 for node in nodes)


@given(text=LINES)
def test_no_passage_crosses_a_heading_that_separates(text: str) -> None:
    for node in passages_of(Document(text, "d"), 200, 20, "section"):
        assert "\n#" not in node.text


def test_equal_lengths_cut_sentences_and_sentence_mode_does_not() -> None:
    document = Document("One two three. " * 40, "d")
    whole = [node.text.split()[-1] for node in passages_of(document, 22, 0, "sentence")]
    cut = [node.text.split()[-1] for node in passages_of(document, 22, 0, "token")]
    assert set(whole) == {"three."}
    assert set(cut) != {"three."}


def test_no_passage_is_of_two_sheets() -> None:
    sheets = ["Cups\nTeam: Gulls; Cups: 13", "Cups since 67\nTeam: Gulls; Cups: 0"]
    start = len(sheets[0]) + 2
    pages = (Page("Cups", 0, start - 2), Page("Since 67", start, start + len(sheets[1])))
    for splitter in get_args(SplitterName):
        document = Document("\n\n".join(sheets), pages=pages, page_word="sheet")
        passages = passages_of(document, 256, 32, splitter)
        assert [(each.text, each.metadata["page_label"]) for each in passages] == [
            (sheets[0], "Cups"),
            (sheets[1], "Since 67"),
        ]
        assert passages[0].next_id == passages[1].id_
        assert document.text[passages[1].start_char_idx :] == passages[1].text


def test_no_passage_is_of_two_records() -> None:
    orders = (
        "Orders\n\nOrder no. 17\nItem: bolt\nPrice: 2\n\nOrder no. 18\nItem: nut\nPrice: 3\n\nPaid in cash."
    )
    texts = [node.text for node in passages_of(Document(orders, "d"), 400, 0)]
    assert texts == [
        "Orders\n\nOrder no. 17\nItem: bolt\nPrice: 2",
        "Order no. 18\nItem: nut\nPrice: 3\n\nPaid in cash.",
    ]


def test_each_passage_of_a_long_record_has_its_first_line() -> None:
    notes = "Notes: " + "She slept well and ate a little. " * 30
    text = f"Patients\n\nPatient: Ada\nRoom: 1\n{notes}\n\nPatient: Tom\nRoom: 2\n{notes}"
    nodes = passages_of(Document(text, "d"), 64, 0)
    heads = [node.metadata.get("record") for node in nodes]
    tom = next(at for at, node in enumerate(nodes) if node.text.startswith("Patient: Tom"))
    assert set(heads[1:tom]) == {"Patient: Ada"}
    assert set(heads[tom + 1 :]) == {"Patient: Tom"}
    assert heads[0] is heads[tom] is None


def test_headings_and_labels_alone_are_no_records() -> None:
    for text in (
        "Chapter 1\nIt began.\n\nChapter 2\nIt ended.\n",
        "Price: 2\n\nPrice: 3\n",
        "Room | Seats\nRoom: Aspen; Seats: 12\nRoom: Birch; Seats: 8\n\nRoom: Elm; Seats: 9",
    ):
        assert len(passages_of(Document(text, "d"), 400, 0)) == 1
