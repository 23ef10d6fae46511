"""Reads JSON in rows of the library's database. A value that cannot be read is logged with the id of its row,
and never keeps the other rows from being read."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Annotated, Any, TypeVar

from pydantic import Field, OnErrorOmit

from lectern.schema import MOST, Ask, Source, adapter, is_moment, parse_json
from ragcore.errors import Problem
from ragcore.observe import Span

T = TypeVar("T")
D = TypeVar("D")

logger = logging.getLogger(__name__)

MAX_SPAN_DEPTH = 60  # steps within steps; the traces of Lectern have at most ten levels
_SOURCE_FIELDS = tuple(field.name for field in fields(Source))
_INVALID = (KeyError, TypeError, ValueError, AttributeError, RecursionError, OverflowError)


@dataclass
class _Hit:
    id: str


@dataclass
class _Part:
    origin: str
    text: str


@dataclass
class _PromptMessage:
    parts: list[_Part] = field(default_factory=list)


@dataclass
class _ToolCall:
    function: dict[str, Any] = field(default_factory=dict)


# The types of the facts in a trace that screens calculate with.
_Number = Annotated[int, Field(strict=True, ge=0, le=MOST)]
_FACT_TYPES: Mapping[str, Any] = {
    **dict.fromkeys(("prompt_tokens", "completion_tokens", "tokens", "waiting", "part"), _Number),
    "kept": _Number | None,
    "passages": list[_Number | None],
    **dict.fromkeys(("found", "followed"), list[_Hit]),
    "messages": list[_PromptMessage],
    "tool_calls": list[_ToolCall],
}


def read_stored(read: Callable[[str], T], text: str | None, default: D, *, row: str) -> T | D:
    """The value that `read` finds in the text; the default for no text, or one that cannot be read. `row`
    names it in the log."""
    if not text:
        return default
    try:
        return read(text)
    except _INVALID as error:
        log_broken(row, type(error).__name__)
        return default


def read_rows(read: Callable[[Any], T], rows: Iterable[Any], *, table: str, key: str = "id") -> list[T]:
    """The values of all rows that can be read. The others are logged."""
    values = []
    for row in rows:
        try:
            values.append(read(row))
        except _INVALID as error:
            log_broken(f"{table} {row[key]}", type(error).__name__)
    return values


@lru_cache(maxsize=1000)  # once for each row, because screens read it every second
def log_broken(row: str, error: str) -> None:
    logger.warning("%s cannot be read (%s) and is left out", row, error)


def stored_moment(value: object) -> float:
    """The time in a row; 0 for one that cannot be displayed."""
    return float(value) if is_moment(value) else 0.0  # type: ignore[arg-type]


def parse_sources(text: str) -> tuple[Source, ...]:
    """The sources that can be read. ValueError if it is no list."""
    return parse_json(tuple[OnErrorOmit[Source], ...], text)


def renew_ask(ask: Ask, file_ids: Mapping[str, str]) -> Ask:
    """The ask with the new ids of its files, by the old ones."""
    if ask.file_ids is None:
        return ask
    return replace(ask, file_ids=tuple(file_ids.get(id_, id_) for id_ in ask.file_ids))


def renew_file_ids(sources: Iterable[Source], file_ids: Mapping[str, str]) -> tuple[Source, ...]:
    """The sources with the new ids of their files, by the old ones."""
    return tuple(replace(source, file_id=file_ids.get(source.file_id, source.file_id)) for source in sources)


def dump_sources(sources: Iterable[Source]) -> str:
    """The JSON that `parse_sources` reads; faster than with `asdict`, which copies."""
    return json.dumps([{name: getattr(source, name) for name in _SOURCE_FIELDS} for source in sources])


def parse_problem(text: str) -> Problem:
    return parse_json(Problem, text)


def parse_problems(text: str) -> tuple[Problem, ...]:
    return parse_json(tuple[Problem, ...], text)


def parse_trace(text: str) -> Span:
    """The trace of an answer. Facts of an unexpected type are left out. ValueError."""
    return _parse_span(json.loads(text), MAX_SPAN_DEPTH)


def _parse_span(value: Any, depth: int) -> Span:
    error = value.get("error")
    name, facts, started, seconds = value["name"], value["facts"], value["started"], value["seconds"]
    if not (depth and isinstance(name, str) and isinstance(error, str | None) and is_moment(started)):
        raise ValueError("no span")
    if not (isinstance(facts, dict) and isinstance(seconds, int | float) and abs(seconds) < 1e9):
        raise ValueError("no span")
    facts = {fact: facts[fact] for fact in facts if _is_valid(fact, facts[fact])}
    children = [_parse_span(child, depth - 1) for child in value["children"]]
    return Span(name, facts, started, seconds, error, children)


def _is_valid(fact: str, value: object) -> bool:
    if fact not in _FACT_TYPES:
        return True
    try:
        adapter(_FACT_TYPES[fact]).validate_python(value)
    except ValueError:
        return False
    return True
