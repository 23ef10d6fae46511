"""Questions to measure with: which documents, pages or passages they should find, and what the right answer says.

A set is uploaded or downloaded as CSV or as JSON Lines. Columns, or keys: question; answer or answers; document or documents;
page or pages; start and end, in characters of the document, where one passage of it is meant. Several values in one cell stand
with a | between them, pages with a comma. In JSON Lines a document may be an object with pages and a place of its own:
{"document": "a.pdf", "start": 0, "end": 90}.
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
from ragcore.text.csv_safety import as_meant, harmless

MOST_QUESTIONS = 5000
QUESTION_CHARS = 8000
SHOWN_LINES = 3  # of an upload that cannot be used

_KEYS = {
    "question": "question", "query": "question",
    "answer": "answers", "answers": "answers",
    "document": "documents", "documents": "documents", "file": "documents", "files": "documents",
    "page": "pages", "pages": "pages", "start": "start", "end": "end",
}  # fmt: skip
_COLUMNS = ("question", "answers", "documents", "pages", "start", "end")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a question should find: a document by its name, any of these pages of it, or characters start to end of it."""

    document: str
    pages: tuple[str, ...] = ()
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """`answers` are right answers, any of them. Each of `wanted` is expected to be found."""

    text: str
    answers: tuple[str, ...] = ()
    wanted: tuple[Wanted, ...] = ()
    id: str = field(default_factory=lambda: new_id()[:16])

    @property
    def findable(self) -> bool:
        """Whether it can be said if a passage is a right one."""
        return bool(self.wanted or self.answers)


@dataclass(frozen=True, slots=True)
class ReadSet:
    """`ignored` are columns that mean nothing here."""

    questions: tuple[Question, ...]
    ignored: tuple[str, ...] = ()


class QuestionSetError(InputError):
    """An upload that cannot be used. `lines` are those that are wrong, from 1."""

    def __init__(self, what: str, *, hint: str, lines: Sequence[int] = ()) -> None:
        super().__init__(what, hint=hint)
        self.lines = tuple(lines)


def read_set(data: bytes, name: str) -> ReadSet:
    """The questions in a file. QuestionSetError, which names the lines that are wrong; nothing is left out in silence."""
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
            questions.append(_question(_known(row)))
        except ValueError as error:
            wrong[line] = str(error)
    if wrong:
        raise _wrong_lines(name, wrong)
    if not questions:
        raise QuestionSetError(
            f"{name} contains no questions.", hint="Put one on each line, below a line that names the columns."
        )
    if len(questions) > MOST_QUESTIONS:
        many = f"{name} contains {len(questions):,} questions; the limit is {MOST_QUESTIONS:,}."
        raise QuestionSetError(many, hint="Split it into several sets.")
    return ReadSet(tuple(questions), tuple(ignored))


def as_csv(questions: Iterable[Question]) -> str:
    """For a spreadsheet, and for `read_set`. Pages and place are those of a question's first document; a value with a | in it
    comes back as several. `as_jsonl` has all of it."""
    out = io.StringIO()
    writer = csv.DictWriter(out, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    for question in questions:
        first = question.wanted[0] if question.wanted else Wanted("")
        writer.writerow(
            {
                "question": harmless(question.text),
                "answers": harmless(" | ".join(question.answers)),
                "documents": harmless(" | ".join(wanted.document for wanted in question.wanted)),
                "pages": harmless(", ".join(first.pages)),
                "start": "" if first.start is None else first.start,
                "end": "" if first.end is None else first.end,
            }
        )
    return out.getvalue()


def as_jsonl(questions: Iterable[Question]) -> str:
    """One line for each question; `read_set` gives the same questions, under new ids."""
    return "".join(json.dumps(_plain(question), ensure_ascii=False) + "\n" for question in questions)


def _plain(question: Question) -> dict[str, Any]:
    plain: dict[str, Any] = {"question": question.text}
    if question.answers:
        plain["answers"] = list(question.answers)
    names = {wanted.document for wanted in question.wanted}
    places = {(wanted.start, wanted.end) for wanted in question.wanted}
    if len(names) < len(question.wanted) or len(places) > 1:
        return plain | {"documents": [_plain_document(wanted) for wanted in question.wanted]}
    if question.wanted:
        plain["documents"] = [wanted.document for wanted in question.wanted]
    if pages := {wanted.document: list(wanted.pages) for wanted in question.wanted if wanted.pages}:
        plain["pages"] = pages
    if question.wanted and question.wanted[0].start is not None:
        plain |= {"start": question.wanted[0].start, "end": question.wanted[0].end}
    return plain


def _plain_document(wanted: Wanted) -> dict[str, Any]:
    place = {} if wanted.start is None else {"start": wanted.start, "end": wanted.end}
    return {"document": wanted.document, "pages": list(wanted.pages), **place}


def _csv_rows(text: str, name: str) -> Iterator[tuple[int, dict[str, Any] | str]]:
    head = text.lstrip().partition("\n")[0]
    delimiter = max(",;\t", key=head.count)
    reader = csv.DictReader(io.StringIO(text.lstrip("\n\r"), newline=""), delimiter=delimiter, restkey="\0more")
    columns = [column.strip().lower() for column in reader.fieldnames or ()]
    if not any(_KEYS.get(column) == "question" for column in columns):
        raise QuestionSetError(
            f"{name}, line 1: there is no column “question”.",
            hint="The first line names the columns: question and, where you know them, answer, document and pages.",
            lines=[1],
        )
    blank = len(text) - len(text.lstrip("\n\r"))
    try:
        for row in reader:
            line = reader.line_num + blank
            if "\0more" in row:
                yield line, "has more cells than the first line has columns"
            elif any((value or "").strip() for value in row.values()):
                yield line, {key: as_meant(value or "") for key, value in row.items()}
    except csv.Error as error:
        yield reader.line_num, f"cannot be read as CSV ({error})"


def _json_rows(text: str, name: str) -> Iterator[tuple[int, dict[str, Any] | str]]:
    for line, said in enumerate(text.split("\n"), 1):  # not splitlines(): JSON allows U+2028 in a text
        if not said.strip():
            continue
        try:
            row = json.loads(said)
        except ValueError:
            yield line, "is not JSON"
            continue
        yield line, row if isinstance(row, dict) else 'is not an object such as {"question": "..."}'


def _known(row: Mapping[str, Any]) -> dict[str, Any]:
    """What is filled in, under one name for each thing. ValueError where two of its names say two things."""
    known: dict[str, Any] = {}
    for key, value in row.items():
        name = _KEYS.get(key.strip().lower())
        blank = not value.strip() if isinstance(value, str) else value in (None, [])
        if name and not blank and known.setdefault(name, value) != value:
            raise ValueError(f"has two different values for {name}")
    return known


def _question(row: Mapping[str, Any]) -> Question:
    """ValueError with what is wrong, as the end of a sentence about the line."""
    text = row.get("question")
    if not isinstance(text, str) or not text.strip():
        raise ValueError("has no question")
    if len(text) > QUESTION_CHARS:
        raise ValueError(f"has a question of {len(text):,} characters; {QUESTION_CHARS:,} is the most")
    documents = row.get("documents")
    if documents and isinstance(documents, list) and all(isinstance(one, dict) for one in documents):
        wanted = [each for one in documents for each in _wanted({**row, **_known(one)})]
    else:
        wanted = _wanted(row)
    return Question(" ".join(text.split()), tuple(_texts(row.get("answers"), "answer")), tuple(wanted))


def _wanted(row: Mapping[str, Any]) -> list[Wanted]:
    documents, pages = _texts(row.get("documents"), "document"), row.get("pages")
    start, end = _place(row.get("start"), "start"), _place(row.get("end"), "end")
    if (pages or start is not None or end is not None) and not documents:
        raise ValueError("names a page or place, and no document")
    if (start is None) != (end is None) or (start is not None and end is not None and start >= end):
        raise ValueError("needs both start and end, and start before end")
    return [Wanted(document, _pages(pages, document), start, end) for document in documents]


def _texts(value: Any, what: str) -> list[str]:
    values = value.split("|") if isinstance(value, str) else [value] if isinstance(value, (int, float)) else value or []
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
    first = [f"line {line} {problem}" for line, problem in list(wrong.items())[:SHOWN_LINES]]
    more = f"; and {len(wrong) - SHOWN_LINES:,} more lines are wrong" if len(wrong) > SHOWN_LINES else ""
    hint = "Nothing was imported. Correct the file and upload it again."
    return QuestionSetError(f"{name}: {'; '.join(first)}{more}.", hint=hint, lines=tuple(wrong))
