"""Sets of questions for evaluation, each with its right answers and the documents, pages or passages to
retrieve.

A set is uploaded or downloaded as CSV or as JSON Lines. The columns or keys are: question; answer or answers;
document or documents; page or pages; start and end of the passage in the document, in characters. Several
values in one cell are separated by |, pages by a comma. In JSON Lines a document may be an object with its
own pages and place: {"document": "a.pdf", "start": 0, "end": 90}.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragcore.errors import InputError
from ragcore.readers.encodings import decode
from ragcore.schema import new_id
from ragcore.text.csv_safety import escape_formula, unescape_formula

MOST_QUESTIONS = 5000
QUESTION_CHARS = 8000
LISTED = 3  # invalid lines in a message

_KEYS = {
    "question": "question", "query": "question",
    "answer": "answers", "answers": "answers",
    "document": "documents", "documents": "documents", "file": "documents", "files": "documents",
    "page": "pages", "pages": "pages", "start": "start", "end": "end",
}  # fmt: skip
_COLUMNS = ("question", "answers", "documents", "pages", "start", "end")


@dataclass(frozen=True, slots=True)
class ExpectedSource:
    """The source that a question should retrieve: a document by its name, any of its `pages`, or its
    text[start:end]."""

    document: str
    pages: tuple[str, ...] = ()
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """Any one of `answers` is right. All of the `expected` sources should be retrieved."""

    text: str
    answers: tuple[str, ...] = ()
    expected: tuple[ExpectedSource, ...] = ()
    id: str = field(default_factory=lambda: new_id()[:16])

    @property
    def is_scorable(self) -> bool:
        """Whether retrieved passages can be scored: some source or answer is known."""
        return bool(self.expected or self.answers)


@dataclass(frozen=True, slots=True)
class ImportedQuestions:
    """`ignored` are the names of unknown columns."""

    questions: tuple[Question, ...]
    ignored: tuple[str, ...] = ()


class QuestionSetError(InputError):
    """A file that cannot be imported. `lines` are the numbers of its invalid lines, from 1."""

    def __init__(self, what: str, *, hint: str, lines: Sequence[int] = ()) -> None:
        super().__init__(what, hint=hint)
        self.lines = tuple(lines)


def read_question_set(data: bytes, name: str) -> ImportedQuestions:
    """The questions in a file. QuestionSetError, which names the invalid lines, if any question cannot be
    read."""
    text = decode(data, name)
    rows = _json_rows if name.lower().endswith((".jsonl", ".ndjson")) else _csv_rows
    questions: list[Question] = []
    ignored: dict[str, None] = {}
    wrong: dict[int, str] = {}
    for line, row in rows(text, name):
        if isinstance(row, str):
            wrong[line] = row
            continue
        ignored |= dict.fromkeys(key for key in row if key.strip().lower() not in _KEYS)
        try:
            questions.append(_question(_normalise_names(row)))
        except ValueError as error:
            wrong[line] = str(error)
    if wrong:
        raise _wrong_lines(name, wrong)
    if not questions:
        raise QuestionSetError(
            f"{name} contains no questions.",
            hint="Put one on each line, below a line that names the columns.",
        )
    if len(questions) > MOST_QUESTIONS:
        many = f"{name} contains {len(questions):,} questions; the limit is {MOST_QUESTIONS:,}."
        raise QuestionSetError(many, hint="Split it into several sets.")
    return ImportedQuestions(tuple(questions), tuple(ignored))


def as_csv(questions: Iterable[Question]) -> str:
    """CSV for a spreadsheet and for `read_question_set`. It has the pages and place of a question's first
    document only, and a value that contains a | is read as several values. `as_jsonl` has no such losses."""
    out = io.StringIO()
    writer = csv.DictWriter(out, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    for question in questions:
        first = question.expected[0] if question.expected else ExpectedSource("")
        writer.writerow(
            {
                "question": escape_formula(question.text),
                "answers": escape_formula(" | ".join(question.answers)),
                "documents": escape_formula(" | ".join(source.document for source in question.expected)),
                "pages": escape_formula(", ".join(first.pages)),
                "start": "" if first.start is None else first.start,
                "end": "" if first.end is None else first.end,
            }
        )
    return out.getvalue()


def as_jsonl(questions: Iterable[Question]) -> str:
    """One line for each question. `read_question_set` reads the same questions, with new ids."""
    return "".join(json.dumps(_plain(question), ensure_ascii=False) + "\n" for question in questions)


def _plain(question: Question) -> dict[str, Any]:
    plain: dict[str, Any] = {"question": question.text}
    if question.answers:
        plain["answers"] = list(question.answers)
    names = {source.document for source in question.expected}
    places = {(source.start, source.end) for source in question.expected}
    if len(names) < len(question.expected) or len(places) > 1:
        return plain | {"documents": [_plain_document(source) for source in question.expected]}
    if question.expected:
        plain["documents"] = [source.document for source in question.expected]
    if pages := {source.document: list(source.pages) for source in question.expected if source.pages}:
        plain["pages"] = pages
    if question.expected and question.expected[0].start is not None:
        plain |= {"start": question.expected[0].start, "end": question.expected[0].end}
    return plain


def _plain_document(source: ExpectedSource) -> dict[str, Any]:
    place = {} if source.start is None else {"start": source.start, "end": source.end}
    return {"document": source.document, "pages": list(source.pages), **place}


def _csv_rows(text: str, name: str) -> Iterator[tuple[int, dict[str, Any] | str]]:
    head = text.lstrip().partition("\n")[0]
    delimiter = max(",;\t", key=head.count)
    reader = csv.DictReader(
        io.StringIO(text.lstrip("\n\r"), newline=""), delimiter=delimiter, restkey="\0more"
    )
    columns = [column.strip().lower() for column in reader.fieldnames or ()]
    if not any(_KEYS.get(column) == "question" for column in columns):
        raise QuestionSetError(
            f"{name}, line 1: there is no column “question”.",
            hint=(
                "The first line names the columns: question and, where you know them, answer, document "
                "and pages."
            ),
            lines=[1],
        )
    blank = len(text) - len(text.lstrip("\n\r"))
    try:
        for row in reader:
            line = reader.line_num + blank
            if "\0more" in row:
                yield line, "has more cells than the first line has columns"
            elif any((value or "").strip() for value in row.values()):
                yield line, {key: unescape_formula(value or "") for key, value in row.items()}
    except csv.Error as error:
        yield reader.line_num, f"cannot be read as CSV ({error})"


def _json_rows(text: str, name: str) -> Iterator[tuple[int, dict[str, Any] | str]]:
    for number, line in enumerate(text.split("\n"), 1):  # not splitlines(): JSON allows U+2028 in a text
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError:
            yield number, "is not JSON"
            continue
        yield number, row if isinstance(row, dict) else 'is not an object such as {"question": "..."}'


def _normalise_names(row: Mapping[str, Any]) -> dict[str, Any]:
    """The values that are not blank, by the names of _COLUMNS. ValueError if two columns of one name have
    different values."""
    known: dict[str, Any] = {}
    for key, value in row.items():
        name = _KEYS.get(key.strip().lower())
        blank = not value.strip() if isinstance(value, str) else value in (None, [])
        if name and not blank and known.setdefault(name, value) != value:
            raise ValueError(f"has two different values for {name}")
    return known


def _question(row: Mapping[str, Any]) -> Question:
    """ValueError, whose message ends a sentence such as "line 3 has no question"."""
    text = row.get("question")
    if not isinstance(text, str) or not text.strip():
        raise ValueError("has no question")
    if len(text) > QUESTION_CHARS:
        raise ValueError(f"has a question of {len(text):,} characters; {QUESTION_CHARS:,} is the most")
    documents = row.get("documents")
    if documents and isinstance(documents, list) and all(isinstance(one, dict) for one in documents):
        expected = [each for one in documents for each in _expected_sources({**row, **_normalise_names(one)})]
    else:
        expected = _expected_sources(row)
    return Question(" ".join(text.split()), tuple(_texts(row.get("answers"), "answer")), tuple(expected))


def _expected_sources(row: Mapping[str, Any]) -> list[ExpectedSource]:
    documents, pages = _texts(row.get("documents"), "document"), row.get("pages")
    start, end = _place(row.get("start"), "start"), _place(row.get("end"), "end")
    if (pages or start is not None or end is not None) and not documents:
        raise ValueError("names a page or place, and no document")
    if (start is None) != (end is None) or (start is not None and end is not None and start >= end):
        raise ValueError("needs both start and end, and start before end")
    return [ExpectedSource(document, _pages(pages, document), start, end) for document in documents]


def _texts(value: Any, what: str) -> list[str]:
    values = (
        value.split("|")
        if isinstance(value, str)
        else [value]
        if isinstance(value, (int, float))
        else value or []
    )
    if not isinstance(values, list) or any(not isinstance(one, (str, int, float)) for one in values):
        raise ValueError(f"has something for {what} that is neither text nor a list of texts")
    return list(dict.fromkeys(" ".join(str(one).split()) for one in values if str(one).strip()))


def _pages(value: Any, document: str) -> tuple[str, ...]:
    if isinstance(value, dict):
        value = value.get(document)
    if isinstance(value, str):
        value = re.split(r"[,;|]", value)
    return tuple(_texts(value, "page"))


def _place(value: Any, what: str) -> int | None:
    if value in (None, ""):
        return None
    if not str(value).isdecimal():
        raise ValueError(f"has “{value}” for {what}, which is not a number of characters")
    return int(str(value))


def _wrong_lines(name: str, wrong: Mapping[int, str]) -> QuestionSetError:
    first = [f"line {line} {problem}" for line, problem in list(wrong.items())[:LISTED]]
    more = f"; and {len(wrong) - LISTED:,} more lines are wrong" if len(wrong) > LISTED else ""
    hint = "Nothing was imported. Correct the file and upload it again."
    return QuestionSetError(f"{name}: {'; '.join(first)}{more}.", hint=hint, lines=tuple(wrong))
