from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from lectern.jobs.file_rows import FileRow, Stage
from lectern.schema import AnswerFacts, Price, Source
from lectern.settings import RESPONSE_MODES, ChatMode
from lectern.ui import labels

FACTS = AnswerFacts(
    "compact", "compact", calls=2, seconds=1.84, passages_used=6, passages_total=1340, model="tiny"
)
MB, S = "\N{NO-BREAK SPACE}MB", "\N{NO-BREAK SPACE}s"
FILE = FileRow("1", "a.pdf", "p", "h", 2_345_000, 0.0, Stage.READY, 0, 0, 340, 12, None)


def test_every_mode_and_stage_has_its_words() -> None:
    assert set(labels.chat_modes()) == set(get_args(ChatMode))
    assert set(labels.response_modes()) == set(RESPONSE_MODES)
    assert set(labels.stages()) == set(Stage)


@pytest.mark.parametrize(
    ("bytes_", "said"),
    [(0, "0 KB"), (1, "1 KB"), (999_400, "999 KB"), (1_250_000, "1.2 MB"), (3_210_000_000, "3.2 GB")],
)
def test_sizes(bytes_: int, said: str) -> None:
    assert labels.size(bytes_) == said.replace(" ", "\N{NO-BREAK SPACE}")


def test_counts() -> None:
    assert [labels.count(1, "page"), labels.count(1204, "page")] == [
        "1 page",
        "1,204 pages",
    ]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (2, "a few seconds left"),
        (21, "about 20\N{NO-BREAK SPACE}s left"),
        (95, "about 2\N{NO-BREAK SPACE}min left"),
        (7300, "about 2.0\N{NO-BREAK SPACE}h left"),
    ],
)
def test_times(seconds: float, said: str) -> None:
    assert labels.time_left(seconds) == said


def test_the_line_under_an_answer() -> None:
    assert (
        labels.answer_facts(FACTS)
        == f"All together (compact) · 2 calls · 1.8{S} · 6 of 1,340 passages · tiny"
    )
    quoted = replace(FACTS, extractive=True, model="extractive")
    writer = "no language model: quoting your documents"
    expected = f"All together (compact) · 1.8{S} · 6 of 1,340 passages · {writer}"
    assert labels.answer_facts(quoted) == expected


def test_line_of_calls_tokens_and_time_adds_the_estimate_if_any() -> None:
    paid = replace(FACTS, prompt_tokens=2000, completion_tokens=310, money=1.64, currency="€")
    assert labels.cost_facts(paid) == ["2 calls", "2,310 tokens", f"1.8{S}", "€1.64"]
    assert labels.answer_facts(paid).startswith(
        f"All together (compact) · 2 calls · 2,310 tokens · 1.8{S} · €1.64 · "
    )
    expected = replace(paid, expected=Price(2, 2000, 400, 10.0, 1.7))
    assert labels.cost_facts(expected) == [
        "2 calls",
        "2,310 tokens",
        f"1.8{S} (about 10{S} expected)",
        "€1.64",
    ]
    no_idea = replace(paid, expected=Price(2, 2000, 400, None, 1.7))
    assert labels.cost_facts(no_idea) == labels.cost_facts(paid)
    # no time was said
    assert labels.cost_facts(replace(FACTS, calls=0, expected=Price(0, 0, 0, 0.0))) == [f"1.8{S}"]
    assert labels.cost_facts(replace(paid, tokens_estimated=True))[1] == "about 2,300 tokens"
    assert labels.cost_facts(replace(FACTS, expected=Price(2, 2000, 400))) == [
        "2 calls",
        f"1.8{S}",
    ]  # stopped: tokens not known


def test_the_line_under_a_file() -> None:
    assert labels.file_facts(FILE) == f"Ready · 12 pages · 340 passages · 2.3{MB}"
    assert (
        labels.file_facts(replace(FILE, page_word="slide")) == f"Ready · 12 slides · 340 passages · 2.3{MB}"
    )
    assert (
        labels.file_facts(replace(FILE, stage=Stage.READING, done=3, total=12))
        == f"Reading · 3 of 12 pages · 2.3{MB}"
    )
    assert labels.file_facts(replace(FILE, stage=Stage.EMBEDDING, done=20, total=340)).startswith(
        "Indexing · 20 of 340 passages"
    )
    assert labels.file_facts(replace(FILE, stage=Stage.STOPPED)) == f"Stopped · 2.3{MB}"
    unpacking = replace(
        FILE, name="a.zip", stage=Stage.READING, done=1_200_000, total=2_400_000, seconds_left=21.0
    )
    assert labels.file_facts(unpacking) == f"Reading · 1.2{MB} of 2.4{MB} · about 20{S} left · 2.3{MB}"


def test_places() -> None:
    source = Source(1, "n", "f", "a.pdf", 0, 4, "text", page_label="iv")
    assert labels.place(source) == "a.pdf · p. iv"
    assert labels.place(replace(source, page_word="slide", page_label="3")) == "a.pdf · slide 3"
    assert labels.place(replace(source, page_label=None)) == "a.pdf"


def test_a_long_question_is_labelled_by_its_beginning() -> None:
    assert labels.excerpt("Who built it?") == "Who built it?"
    assert labels.excerpt("word " * 1200) == f"{'word ' * 39}word…"


def test_a_missing_size_is_not_displayed() -> None:
    assert labels.file_facts(replace(FILE, stage=Stage.FAILED, size=0)) == "Could not be read"


def test_answer_mode_has_one_name_with_its_technical_one_next() -> None:
    label = labels.chat_modes()["condense_plus_context"].label
    assert labels.answer_facts(replace(FACTS, mode="condense_plus_context")).startswith(f"{label} · ")
    assert labels.caption("condense_plus_context").endswith("(condense + context)")


def test_an_answer_that_looks_in_no_document_counts_no_passages() -> None:
    assert "passages" not in labels.answer_facts(replace(FACTS, mode="generation"))


@pytest.mark.parametrize(
    ("name", "start", "end"),
    [
        ("lease.pdf", "", "lease.pdf"),
        ("Annual report of the council 2024.pdf", "Annual report of the council", "\xa02024.pdf"),
        ("Bedienungsanleitung_SMV4HVX31E_2023-11.pdf", "Bedienungsanleitung_SMV4HVX31E", "_2023-11.pdf"),
        ("Jahresabschlussberichte2024endgueltig.xlsx", "Jahresabschlussberichte2024endguel", "tig.xlsx"),
        ("Resume\u0301s of all the applicants.docx", "Resume\u0301s of all the", "\xa0applicants.docx"),
        ("वार्षिकप्रतिवेदननगरपालिकाकार्यालय.pdf", "वार्षिकप्रतिवेदननगरपालिकाका", "र्यालय.pdf"),
        ("تقرير المجلس السنوي لعام ألفين.pdf", "تقرير المجلس السنوي لعام ألفين.pdf", ""),
        ("__________________________", "__________________________", ""),
    ],
)
def test_the_end_of_a_long_name_stays(name: str, start: str, end: str) -> None:
    assert labels.name_parts(name) == (start, end)


def test_each_response_mode_has_a_plain_name_and_its_own() -> None:
    plain = labels.plain_response_modes()
    assert plain.keys() == labels.response_modes().keys()
    assert len({mode.label for mode in plain.values()}) == len(plain)
    assert labels.plain_mode_label("tree_summarize") == "Summary of summaries (tree summarize)"
    assert labels.plain_mode_label("react") == "Step by step"
