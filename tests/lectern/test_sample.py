"""The sample documents: real files, enough to read, agreeing with the questions asked of them, and made anew
the same."""

from __future__ import annotations

import email
import email.policy
import json
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from sample.build import DOCUMENTS, build, curly, parse

QUESTIONS: list[dict[str, Any]] = [
    json.loads(line) for line in (DOCUMENTS.parent / "questions.jsonl").read_text("utf-8").splitlines()
]
NAMES = sorted(path.name for path in DOCUMENTS.iterdir())
KINDS = {"fact", "combine", "change", "table", "per_document", "summary", "followup", "unanswerable"}
WORDS_ON_A_PAGE = 400


def test_sample_has_five_small_documents_in_five_formats() -> None:
    assert len(NAMES) >= 5
    assert {Path(name).suffix for name in NAMES} >= {".pdf", ".docx", ".md", ".xlsx", ".html"}
    assert sum((DOCUMENTS / name).stat().st_size for name in NAMES) < 2_000_000


def test_the_sample_is_about_forty_pages_of_words() -> None:
    words = sum(len(re.findall(r"[^\W\d_]+", text_of(name))) for name in NAMES)
    assert 38 * WORDS_ON_A_PAGE <= words <= 46 * WORDS_ON_A_PAGE


def test_building_again_gives_the_same_bytes(tmp_path: Path) -> None:
    build(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == NAMES
    changed = [name for name in NAMES if (tmp_path / name).read_bytes() != (DOCUMENTS / name).read_bytes()]
    # Another version of a library that writes these files may write other bytes, never other words.
    assert {name: text_of(name) for name in changed} == {name: extract(tmp_path / name) for name in changed}


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith(".pdf")])
def test_every_sample_pdf_page_is_mostly_text_with_its_number(name: str) -> None:
    pages = pdf_pages(DOCUMENTS / name)
    for number, page in enumerate(pages[1:], start=2):
        assert len(page.split()) > 120
        assert str(number) in page.split()[:20]


@pytest.mark.parametrize("item", QUESTIONS, ids=lambda item: item["question"])
def test_sample_answers_and_files_correspond(item: dict[str, Any]) -> None:
    texts = [plain(text_of(name)) for name in item["files"]]
    answers = [plain(answer) for answer in item["answer"]]
    if item["kind"] == "per_document":  # one answer for each file, in the files' order
        assert [answer for answer, text in zip(answers, texts, strict=True) if answer not in text] == []
    assert [answer for answer in answers if not any(answer in text for text in texts)] == []
    assert [
        name for name, text in zip(item["files"], texts, strict=True) if not any(a in text for a in answers)
    ] == []


@pytest.mark.parametrize(
    "item", [item for item in QUESTIONS if "pages" in item], ids=lambda item: item["question"]
)
def test_each_expected_answer_is_on_its_page(item: dict[str, Any]) -> None:
    for name, number in item["pages"].items():
        page = plain(pdf_pages(DOCUMENTS / name)[number - 1])
        assert any(plain(answer) in page for answer in item["answer"])


def test_a_question_names_the_page_of_each_pdf_that_answers_it() -> None:
    for item in QUESTIONS:
        assert set(item.get("pages", {})) == {name for name in item["files"] if name.endswith(".pdf")}


def test_unanswerable_questions_match_nothing_in_the_sample() -> None:
    everything = {name: plain(text_of(name)) for name in NAMES}
    asked = [item for item in QUESTIONS if item["kind"] == "unanswerable"]
    assert len(asked) >= 4
    for item in asked:
        assert item["answer"] == []
        assert item["absent"]
        found = [
            (term, name)
            for term in item["absent"]
            for name, text in everything.items()
            if has_word(plain(term), text)
        ]
        assert found == []


def test_the_questions_are_of_every_kind_and_four_are_suggested() -> None:
    assert {item["kind"] for item in QUESTIONS} == KINDS
    assert len(QUESTIONS) >= 40
    assert len({item["question"] for item in QUESTIONS}) == len(QUESTIONS)
    suggested = [item for item in QUESTIONS if item.get("suggested")]
    assert len(suggested) == 4
    assert all("after" not in item and item["kind"] != "unanswerable" for item in suggested)


def test_a_follow_up_names_the_question_that_it_follows() -> None:
    asked = {item["question"] for item in QUESTIONS}
    assert {item["after"] for item in QUESTIONS if "after" in item} <= asked
    assert all("after" in item for item in QUESTIONS if item["kind"] == "followup")


def test_every_document_answers_some_question() -> None:
    assert {name for item in QUESTIONS for name in item["files"]} == set(NAMES)


def test_the_money_of_the_repair_adds_up() -> None:
    report = parse((DOCUMENTS.parent / "source" / "report.md").read_text("utf-8"))
    (estimate,) = (
        block.rows for block in report.blocks if block.kind == "table" and "Estimate" in block.rows[0]
    )
    pounds = [int(row[2].lstrip("£").replace(",", "")) for row in estimate[1:]]
    assert sum(pounds[:-1]) == pounds[-1] == 186_000
    minutes = text_of("committee-minutes-2022-2024.md")
    parts = re.search(
        r"reserve £([\d,]+); Heritage Fund £([\d,]+);.*?£([\d,]+), of which.*?loan £([\d,]+)", minutes
    )
    assert parts is not None
    assert sum(int(part.replace(",", "")) for part in parts.groups()) == 201_750


def test_the_months_of_a_year_add_up_to_its_row() -> None:
    import openpyxl

    book = openpyxl.load_workbook(DOCUMENTS / "passenger-figures.xlsx")
    months = [[cell.value for cell in row] for row in book["By month"].iter_rows()]
    years = {row[0].value: row[1].value for row in book["By year"].iter_rows(min_row=2)}
    for column in range(1, 5):
        total = sum(row[column] for row in months[1:-1])
        assert total == months[-1][column] == years[months[0][column]]


@pytest.mark.parametrize(
    ("typed", "printed"),
    [
        ('She said, "The bench."', "She said, \u201cThe bench.\u201d"),
        ("the ice-boats' moorings", "the ice-boats\u2019 moorings"),
        ("('so')", "(\u2018so\u2019)"),
    ],
)
def test_quotation_marks_open_and_close(typed: str, printed: str) -> None:
    assert curly(typed) == printed


# Reading the files with the formats' own libraries, so that the documents are checked without ours


@cache
def text_of(name: str) -> str:
    return extract(DOCUMENTS / name)


def extract(path: Path) -> str:
    if path.suffix == ".pdf":
        return "\n".join(pdf_pages(path))
    return {".docx": _docx, ".xlsx": _xlsx, ".pptx": _pptx, ".html": _html, ".eml": _eml}.get(
        path.suffix, _text
    )(path)


@cache
def pdf_pages(path: Path) -> list[str]:
    import pypdfium2

    with pypdfium2.PdfDocument(path) as document:
        return [page.get_textpage().get_text_range() for page in document]


def _text(path: Path) -> str:
    return path.read_text("utf-8")


def _docx(path: Path) -> str:
    import docx

    lines: list[str] = []
    for block in docx.Document(str(path)).iter_inner_content():
        lines += (
            [block.text]
            if hasattr(block, "text")
            else [cell.text for row in block.rows for cell in row.cells]
        )
    return "\n".join(lines)


def _xlsx(path: Path) -> str:
    import openpyxl

    book = openpyxl.load_workbook(path, read_only=True)
    text = "\n".join(" ".join(str(cell) for cell in row) for sheet in book for row in sheet.values)
    book.close()
    return text


def _pptx(path: Path) -> str:
    from pptx import Presentation

    lines: list[str] = []
    for slide in Presentation(str(path)).slides:
        lines += [shape.text_frame.text for shape in slide.shapes if shape.has_text_frame]
        lines.append(slide.notes_slide.notes_text_frame.text)
    return "\n".join(lines)


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.hidden = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hidden = tag == "style"

    def handle_endtag(self, tag: str) -> None:
        self.hidden = False

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.words.append(data)


def _html(path: Path) -> str:
    parser = _Words()
    parser.feed(path.read_text("utf-8"))
    return " ".join(parser.words)


def _eml(path: Path) -> str:
    mail = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
    body = mail.get_body()
    assert body is not None
    return f"{mail['From']}\n{mail['To']}\n{mail['Subject']}\n{mail['Date']}\n\n{body.get_content()}"


def plain(text: str) -> str:
    """Lower case, straight quotation marks, one space between words."""
    straight = text.translate(str.maketrans("\u2018\u2019\u201c\u201d", "''\"\""))
    return re.sub(r"\s+", " ", straight).lower()


def has_word(term: str, text: str) -> bool:
    return re.search(rf"\b{re.escape(term)}\b", text) is not None
