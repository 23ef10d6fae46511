"""The rows in a copy of a library, which may come from a stranger: the columns of each table, and what their
values may be.

A row is checked twice, by the confined process that reads the copy (`lectern.jobs.copy_contents`) and by the
application before it stores the row. Unknown columns are ignored.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from lectern.db.evaluations import State as EvalState
from lectern.db.evaluations import parse_detail, parse_question
from lectern.db.stored_json import parse_problem, parse_sources, parse_trace
from lectern.schema import Amount, AnswerFacts, Ask, Count, Kind, Moment, State, adapter, parse_json

TEXT_CHARS = 4_000_000  # Maximum length of an answer, a note or a comment.
NAME_CHARS = 1_000  # Maximum length of a title or the name of a file.
SUFFIX_BYTES = 100  # Maximum size of a file's suffix, which is part of the name of a file on disk.
JSON_CHARS = 10_000_000  # Maximum length of JSON in a column.
TRACE_CHARS = 20_000_000
JSON_VALUES = 300_000  # Maximum number of values in one JSON text, each of which needs up to 100 bytes.

_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\Z)', re.DOTALL)
_STRING_BYTES = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\Z)', re.DOTALL)
# Such as javascript: and data:, but neither https:// nor C:\.
_SCHEME = re.compile(r"\s*(?!dropped:)[a-z][a-z0-9+.-]+:(?!//)", re.IGNORECASE)


def count_values(text: str | bytes) -> int:
    """At least the number of values in JSON, without parsing it.

    >>> count_values('{"a, b": [1, 2]}')
    4
    """
    if isinstance(text, bytes):
        structure = _STRING_BYTES.sub(b"", text)
        return 1 + structure.count(b",") + structure.count(b"[") + structure.count(b"{")
    structure_text = _STRING.sub("", text)
    return 1 + structure_text.count(",") + structure_text.count("[") + structure_text.count("{")


def _is_json_of(parse: Callable[[str], object]) -> AfterValidator:
    """Accepts JSON that `parse` can read, if it is small enough to be parsed."""

    def check(text: str) -> str:
        if count_values(text) > JSON_VALUES:
            raise ValueError("too many values")
        parse(text)
        return text

    return AfterValidator(check)


def _clean_text(text: str) -> str:
    return text.replace("\0", "\ufffd")  # PostgreSQL does not store this character


def _clean_name(name: str) -> str:
    """On one line. ValueError if it would be no name of a file."""
    printable = "".join(character if character.isprintable() else " " for character in name)
    name = unicodedata.normalize("NFC", " ".join(printable.split()))
    if not name or len(PurePosixPath(name).suffix.encode()) > SUFFIX_BYTES:
        raise ValueError("no name of a file")
    return name


def _clean_origin(origin: str) -> str:
    """ "" for an address that would run code if it were followed."""
    return "" if _SCHEME.match(origin) else _clean_text(origin)


Id = Annotated[str, Field(pattern=r"^[0-9A-Za-z._-]{1,100}\z")]
Text = Annotated[str, Field(max_length=TEXT_CHARS), AfterValidator(_clean_text)]
Name = Annotated[str, Field(max_length=NAME_CHARS), AfterValidator(_clean_text)]
FileName = Annotated[str, Field(max_length=NAME_CHARS), AfterValidator(_clean_name)]
Origin = Annotated[str, Field(max_length=4_000), AfterValidator(_clean_origin)]
_Json = Field(max_length=JSON_CHARS)
AskJson = Annotated[str, _Json, _is_json_of(Ask.from_json)]
FactsJson = Annotated[str, _Json, _is_json_of(AnswerFacts.from_json)]
SourcesJson = Annotated[str, _Json, _is_json_of(parse_sources)]
ProblemJson = Annotated[str, _Json, _is_json_of(parse_problem)]
TextsJson = Annotated[str, _Json, _is_json_of(lambda text: parse_json(tuple[str, ...], text))]
QuestionJson = Annotated[str, _Json, _is_json_of(lambda text: parse_question(text, ""))]
ScoresJson = Annotated[str, _Json, _is_json_of(lambda text: parse_json(dict[str, Amount], text))]
DetailJson = Annotated[str, _Json, _is_json_of(parse_detail)]


@dataclass(frozen=True, slots=True)
class CopiedFile:
    id: Id
    name: FileName
    origin: Origin = ""
    size: Count = 0  # bytes


@dataclass(frozen=True, slots=True)
class CopiedConversation:
    id: Id
    kind: Kind
    title: Name
    created: Moment
    updated: Moment
    origin: Id | None = None
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class CopiedMessage:
    id: Id
    conversation_id: Id
    role: Literal["user", "assistant"]
    text: Text
    state: State
    created: Moment
    signed: Moment
    ask: AskJson | None = None
    facts: FactsJson | None = None
    sources: SourcesJson | None = None
    problem: ProblemJson | None = None
    trace: Annotated[str, Field(max_length=TRACE_CHARS)] | None = None
    place: Annotated[int, Field(ge=0, le=1_000_000_000)] = 0


@dataclass(frozen=True, slots=True)
class CopiedFeedback:
    message_id: Id
    good: bool
    word: Name
    given: Moment


@dataclass(frozen=True, slots=True)
class CopiedNote:
    id: Id
    question: Text
    text: Text
    sources: SourcesJson
    created: Moment
    edited: Moment | None = None


@dataclass(frozen=True, slots=True)
class CopiedGroup:
    file_id: Id
    label: Name


@dataclass(frozen=True, slots=True)
class CopiedPrompt:
    name: Id
    number: Annotated[int, Field(ge=1, le=1_000_000)]
    texts: TextsJson | None
    saved: Moment
    braces: Literal[0, 1] = 0  # as in `PromptVersions`; 0 in a copy of an earlier version


@dataclass(frozen=True, slots=True)
class CopiedQuestionSet:
    id: Id
    name: Name
    origin: Literal["documents", "upload"]
    created: Moment
    state: EvalState
    wanted: Annotated[int, Field(ge=0, le=1_000_000)]
    signed: Moment
    problem: ProblemJson | None = None


@dataclass(frozen=True, slots=True)
class CopiedQuestion:
    id: Id
    set_id: Id
    place: Annotated[int, Field(ge=0, le=1_000_000_000)]
    body: QuestionJson


@dataclass(frozen=True, slots=True)
class CopiedSetting:
    id: Id
    name: Name
    ask: AskJson


@dataclass(frozen=True, slots=True)
class CopiedRun:
    id: Id
    set_id: Id
    name: Name
    ask: AskJson
    answering: bool
    model: Name
    created: Moment
    state: EvalState
    signed: Moment
    problem: ProblemJson | None = None


@dataclass(frozen=True, slots=True)
class CopiedResult:
    run_id: Id
    question_id: Id
    place: Annotated[int, Field(ge=0, le=1_000_000_000)]
    question: Text
    scores: ScoresJson
    seconds: Amount
    detail: DetailJson


TABLES: Mapping[str, type] = {
    "files": CopiedFile,
    "conversations": CopiedConversation,
    "messages": CopiedMessage,
    "feedback": CopiedFeedback,
    "notes": CopiedNote,
    "groups": CopiedGroup,
    "prompts": CopiedPrompt,
    "question_sets": CopiedQuestionSet,
    "set_questions": CopiedQuestion,
    "eval_settings": CopiedSetting,
    "eval_runs": CopiedRun,
    "eval_results": CopiedResult,
}
"""By the name of the table."""


def check_row(table: str, row: object) -> dict[str, Any]:
    """The columns of a row with valid values. ValueError for an invalid row, or an unknown table."""
    if table not in TABLES:
        raise ValueError(f"unknown table {table!r}")
    checked = adapter(TABLES[table]).validate_python(row)
    return {field.name: getattr(checked, field.name) for field in fields(checked)}


def is_trace(text: object) -> bool:
    """Whether it is the trace of an answer, or None."""
    if text is None:
        return True
    if not isinstance(text, str) or len(text) > TRACE_CHARS or count_values(text) > JSON_VALUES:
        return False
    try:
        parse_trace(text)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return False
    return True


@dataclass(frozen=True, slots=True)
class CopyHead:
    """The first file of a copy: its form, the name of its embedder, and how its documents are cut."""

    form: Count
    embedder: Name
    passages: dict[str, int | str] | None = None
