"""Prompts that a person has edited. All versions are stored, and the next answer uses the newest.

A version with the built-in wording has no text, so that it follows updates of the program.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lectern.db.stored_json import read_rows, stored_moment
from lectern.db.tables import Tables
from lectern.schema import parse_json
from ragcore.errors import InputError
from ragcore.prompts.prompt import Prompt
from ragcore.prompts.wording import (
    CONDENSE_QUESTION,
    CONTEXT_CHAT,
    FAITHFULNESS,
    GENERATION,
    QUESTIONS,
    REACT,
    REFINE,
    RELEVANCY,
    SIMPLE_CHAT,
    TABLE_QUERY,
    TEXT_QA,
    TREE_SUMMARIZE,
)
from ragcore.schema import ChatMessage
from ragcore.sql.base import writable
from ragcore.text.braces import Field, escape_braces, split_template

MESSAGE_CHARS = 20_000  # characters of a message

SCHEMA = """
CREATE TABLE IF NOT EXISTS prompt_versions (
    name TEXT NOT NULL,              -- of the prompt, see EDITABLE
    number INTEGER NOT NULL,         -- 1, 2, 3 ...; the highest is used
    texts TEXT,                      -- JSON list, a text for each message; NULL is the built-in wording
    saved REAL NOT NULL,             -- seconds since the epoch
    braces INTEGER NOT NULL DEFAULT 0,  -- 1 if {{ is a brace in the texts; earlier versions sent both
    PRIMARY KEY (name, number)
);
"""

_COLUMNS = ("name", "number", "texts", "saved", "braces")
_INSERT = (
    "INSERT INTO prompt_versions (name, number, texts, saved, braces) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT DO NOTHING"
)

EDITABLE: Mapping[str, Prompt] = {
    prompt.name: prompt
    for prompt in (
        TEXT_QA, REFINE, TREE_SUMMARIZE, CONTEXT_CHAT, CONDENSE_QUESTION, TABLE_QUERY, SIMPLE_CHAT,
        GENERATION, REACT, QUESTIONS, FAITHFULNESS, RELEVANCY,
    )
}  # fmt: skip
"""The prompts that a person can edit, by name."""

_BRACED = re.compile(r"(?<!\{)\{([^{}\"\n]{1,40})\}(?!\})")
_VARIABLE = re.compile("[a-z_]+")


class WordingError(InputError):
    """A wording with unknown or missing variables, or of a wrong length."""

    def __init__(
        self, what: str, hint: str, unknown: Sequence[str] = (), missing: Sequence[str] = ()
    ) -> None:
        super().__init__(what, hint=hint)
        self.unknown = tuple(unknown)
        self.missing = tuple(missing)


@dataclass(frozen=True, slots=True)
class PromptVersion:
    """`texts` has a text for each message of the prompt. Version 0 is the built-in wording."""

    name: str
    number: int
    texts: tuple[str, ...]
    saved: float = 0.0  # seconds since the epoch
    built_in: bool = True


def built_in(name: str) -> PromptVersion:
    """KeyError for a name that EDITABLE lacks."""
    return PromptVersion(name, 0, tuple(message.content for message in EDITABLE[name].messages))


def check(name: str, texts: Sequence[str]) -> None:
    """WordingError."""
    prompt = EDITABLE[name]
    if len(texts) != len(prompt.messages):
        raise WordingError(
            f"{len(texts)} texts were given for {name}; it takes {len(prompt.messages)}.",
            "Give one for each message; it may be empty.",
        )
    variables = {name for text in texts for name in _names_in(text)}
    unknown, missing = sorted(variables - prompt.variables), sorted(prompt.variables - variables)
    if unknown or missing:
        wrong = [f"{_enumerate(unknown)} cannot be used here."] if unknown else []
        if missing:
            wrong.append(
                f"{_enumerate(missing)} is missing."
                if len(missing) == 1
                else f"{_enumerate(missing)} are missing."
            )
        hint = (
            f"This prompt must contain {_enumerate(sorted(prompt.variables))} and nothing else in "
            "braces. Nothing was saved; your text is still here."
        )
        raise WordingError(" ".join(wrong), hint, unknown, missing)
    if long := next((text for text in texts if len(text) > MESSAGE_CHARS), None):
        raise WordingError(
            f"A message has {len(long):,} characters; the limit is {MESSAGE_CHARS:,}.",
            "Shorten it and save again.",
        )


def _names_in(text: str) -> set[str]:
    """What stands in single braces, such as {query_str} or {the question}."""
    fields = {part.name for part in split_template(text) if isinstance(part, Field)}
    return fields | set(_BRACED.findall(text))


def fits(version: PromptVersion) -> bool:
    """Whether this program can use the version: an older program may have other variables."""
    try:
        check(version.name, version.texts)
    except WordingError:
        return False
    return True


class PromptVersions(Tables):
    def current(self) -> dict[str, Prompt]:
        """The edited prompts by name, with the changes of all processes."""
        rows = self._read(
            "SELECT * FROM prompt_versions v WHERE texts IS NOT NULL AND number ="
            " (SELECT max(number) FROM prompt_versions o WHERE o.name = v.name)"
        )
        versions = read_rows(
            _version, (row for row in rows if row["name"] in EDITABLE), table="prompt", key="name"
        )
        return {version.name: _prompt(version) for version in versions if fits(version)}

    def in_use(self, name: str) -> PromptVersion:
        """The version that the next answer uses."""
        return self.history(name)[0]

    def history(self, name: str) -> list[PromptVersion]:
        """Every version, the newest first; the last is version 0."""
        rows = self._read("SELECT * FROM prompt_versions WHERE name = ? ORDER BY number DESC", name)
        return [*read_rows(_version, rows, table="prompt", key="name"), built_in(name)]

    def save(self, name: str, texts: Sequence[str]) -> PromptVersion:
        """Store a new version, unless the texts are those of the current one. WordingError."""
        check(name, texts)
        stored = tuple(map(writable, texts))
        return self._add(
            name, None if stored == built_in(name).texts else json.dumps(stored, ensure_ascii=False)
        )

    def restore(self, version: PromptVersion) -> PromptVersion:
        """Store an earlier version as the newest. WordingError if this program has other variables."""
        return self.save(version.name, version.texts)

    def reset(self, name: str) -> PromptVersion:
        """Use the built-in wording again. The other versions stay."""
        return self._add(name, None)

    def dump(self) -> Iterator[dict[str, Any]]:
        """Every version as plain values for `load`."""
        for row in self._read("SELECT * FROM prompt_versions ORDER BY name, number"):
            yield {column: row[column] for column in _COLUMNS}

    def load(self, rows: Iterable[Mapping[str, Any]]) -> int:
        """Add the versions of prompts without versions, see `CopiedPrompt`; others do not change. Returns for
        how many prompts."""
        with self._database.transaction() as db:
            edited = {
                row["name"] for row in db.execute("SELECT DISTINCT name FROM prompt_versions").fetchall()
            }
            added = set()
            for row in rows:
                if row["name"] not in edited:
                    added.add(row["name"])
                    version = {"braces": 0, **row}  # a copy of an earlier version has no such column
                    db.execute(_INSERT, [version[column] for column in _COLUMNS])
        return len(added)

    def _add(self, name: str, texts: str | None) -> PromptVersion:
        with self._database.transaction() as db:
            query = "SELECT * FROM prompt_versions WHERE name = ? ORDER BY number DESC LIMIT 1"
            row = db.execute(query, (name,)).fetchone()
            if row is None and texts is None:
                return built_in(name)
            if row is not None and _has_texts(row, texts):
                return _version(row)
            values = (name, row["number"] + 1 if row else 1, texts, self._clock(), 1)
            db.execute(_INSERT, values)
        return _version(dict(zip(_COLUMNS, values, strict=True)))


def _version(row: Any) -> PromptVersion:
    """ValueError for texts that cannot be read."""
    saved = stored_moment(row["saved"])
    if row["texts"] is None:
        return replace(built_in(row["name"]), number=row["number"], saved=saved)
    texts = parse_json(tuple[str, ...], row["texts"])
    if not row["braces"]:
        texts = tuple(map(_convert_braces, texts))
    return PromptVersion(row["name"], row["number"], texts, saved, built_in=False)


def _has_texts(row: Any, texts: str | None) -> bool:
    """Whether the version in the row has these texts, as JSON. False for one that cannot be read."""
    if texts is None or row["texts"] is None:
        return texts is None and row["texts"] is None
    versions = read_rows(_version, [row], table="prompt", key="name")
    return any(list(version.texts) == json.loads(texts) for version in versions)


def _convert_braces(text: str) -> str:
    """A text in which {{ was sent as two braces, as a template that sends the same."""
    parts = re.split(r"(\{[a-z_]+\})", text)  # texts, and the variables between them
    sent = [part if number % 2 else escape_braces(part) for number, part in enumerate(parts)]
    before = [Field(part[1:-1]) if number % 2 else part for number, part in enumerate(parts) if part]
    return text if list(split_template(text, _VARIABLE.fullmatch)) == before else "".join(sent)


def _prompt(version: PromptVersion) -> Prompt:
    prompt = EDITABLE[version.name]
    pairs = zip(prompt.messages, version.texts, strict=True)
    return replace(
        prompt, messages=tuple(ChatMessage(message.role, text) for message, text in pairs if text.strip())
    )


def _enumerate(names: Sequence[str]) -> str:
    braced = [f"{{{name}}}" for name in names]
    return braced[0] if len(braced) == 1 else f"{', '.join(braced[:-1])} and {braced[-1]}"
