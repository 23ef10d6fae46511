"""The wording of prompts as a person has changed it: every version is kept, and the newest is used by the next answer.

A version that is the built-in wording again holds no text, so that it follows the program when that is updated.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

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
    TEXT_QA,
    TREE_SUMMARIZE,
)
from ragcore.schema import ChatMessage
from ragcore.sql.base import Database, writable

LONGEST = 20_000  # characters of a message

SCHEMA = """
CREATE TABLE IF NOT EXISTS prompt_versions (
    name TEXT NOT NULL,              -- of the prompt, see EDITABLE
    number INTEGER NOT NULL,         -- 1, 2, 3 ...; the highest is used
    texts TEXT,                      -- JSON list, a text for each message; NULL is the built-in wording
    saved REAL NOT NULL,             -- seconds since the epoch
    PRIMARY KEY (name, number)
);
"""

_COLUMNS = ("name", "number", "texts", "saved")

EDITABLE: Mapping[str, Prompt] = {
    prompt.name: prompt
    for prompt in (
        TEXT_QA, REFINE, TREE_SUMMARIZE, CONTEXT_CHAT, CONDENSE_QUESTION, SIMPLE_CHAT, GENERATION, REACT, QUESTIONS,
        FAITHFULNESS, RELEVANCY,
    )
}  # fmt: skip
"""The prompts that can be worded anew, by their names."""

_BRACED = re.compile(r"\{([^{}\"\n]{1,40})\}")


class WordingError(InputError):
    """A wording that cannot work. `unknown` and `missing` are names of variables."""

    def __init__(self, what: str, hint: str, unknown: Sequence[str] = (), missing: Sequence[str] = ()) -> None:
        super().__init__(what, hint=hint)
        self.unknown = tuple(unknown)
        self.missing = tuple(missing)


@dataclass(frozen=True, slots=True)
class PromptVersion:
    """`texts` has a text for each message of the prompt. Version 0 is the wording that the program came with."""

    name: str
    number: int
    texts: tuple[str, ...]
    saved: float = 0.0  # seconds since the epoch
    built_in: bool = True


def built_in(name: str) -> PromptVersion:
    """KeyError for a name that EDITABLE lacks."""
    return PromptVersion(name, 0, tuple(message.content for message in EDITABLE[name].messages))


def check(name: str, texts: Sequence[str]) -> None:
    """WordingError, with the variables that the prompt does not have, and those that the texts lack."""
    prompt = EDITABLE[name]
    if len(texts) != len(prompt.messages):
        raise WordingError(
            f"{len(texts)} texts were given for {name}; it takes {len(prompt.messages)}.",
            "Give one for each message; it may be empty.",
        )
    given = {found.group(1) for text in texts for found in _BRACED.finditer(text)}
    unknown, missing = sorted(given - prompt.variables), sorted(prompt.variables - given)
    if unknown or missing:
        wrong = [f"{_listed(unknown)} cannot be used here."] if unknown else []
        if missing:
            wrong.append(f"{_listed(missing)} is missing." if len(missing) == 1 else f"{_listed(missing)} are missing.")
        hint = (
            f"This prompt must contain {_listed(sorted(prompt.variables))} and nothing else in braces. Nothing "
            "was saved; your text is still here."
        )
        raise WordingError(" ".join(wrong), hint, unknown, missing)
    if long := next((text for text in texts if len(text) > LONGEST), None):
        raise WordingError(f"A message has {len(long):,} characters; the limit is {LONGEST:,}.", "Shorten it and save again.")


def fits(version: PromptVersion) -> bool:
    """Whether this program can use the version: another one may have had other variables."""
    try:
        check(version.name, version.texts)
    except WordingError:
        return False
    return True


class PromptVersions:
    """Safe to share between threads."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def current(self) -> dict[str, Prompt]:
        """The prompts that are worded otherwise than built in, by name; as they are now, whichever process changed them."""
        with self._database.snapshot() as db:
            rows = db.execute(
                "SELECT name, number, texts, saved FROM prompt_versions v WHERE texts IS NOT NULL AND number ="
                " (SELECT max(number) FROM prompt_versions o WHERE o.name = v.name)"
            ).fetchall()
        versions = [_version(row) for row in rows if row["name"] in EDITABLE]
        return {version.name: _prompt(version) for version in versions if fits(version)}

    def used(self, name: str) -> PromptVersion:
        """The version that the next answer uses."""
        return self.history(name)[0]

    def history(self, name: str) -> list[PromptVersion]:
        """Every version, the newest first; the last is version 0."""
        with self._database.snapshot() as db:
            rows = db.execute(
                "SELECT name, number, texts, saved FROM prompt_versions WHERE name = ? ORDER BY number DESC", (name,)
            ).fetchall()
        return [*map(_version, rows), built_in(name)]

    def save(self, name: str, texts: Sequence[str]) -> PromptVersion:
        """Keep a new version; the one in use where that says the same. WordingError, and then nothing is kept."""
        check(name, texts)
        said = tuple(map(writable, texts))
        return self._add(name, None if said == built_in(name).texts else json.dumps(said, ensure_ascii=False))

    def restore(self, version: PromptVersion) -> PromptVersion:
        """Use the wording of an earlier version again, as a new one. WordingError where this program has other variables."""
        return self.save(version.name, version.texts)

    def reset(self, name: str) -> PromptVersion:
        """Use the built-in wording again. The other versions stay."""
        return self._add(name, None)

    def dump(self) -> Iterator[dict[str, Any]]:
        """Every version as plain values for `load`."""
        with self._database.snapshot() as db:
            rows = db.execute("SELECT name, number, texts, saved FROM prompt_versions ORDER BY name, number").fetchall()
        for row in rows:
            yield {column: row[column] for column in _COLUMNS}

    def load(self, dumped: Sequence[Mapping[str, Any]]) -> None:
        """Add the versions of prompts that have none here; others stay as they are."""
        with self._database.transaction() as db:
            here = {row["name"] for row in db.execute("SELECT DISTINCT name FROM prompt_versions").fetchall()}
            db.executemany(
                "INSERT INTO prompt_versions (name, number, texts, saved) VALUES (?, ?, ?, ?)",
                [[row[column] for column in _COLUMNS] for row in dumped if row["name"] not in here],
            )

    def _add(self, name: str, texts: str | None) -> PromptVersion:
        with self._database.transaction() as db:
            row = db.execute(
                "SELECT name, number, texts, saved FROM prompt_versions WHERE name = ? ORDER BY number DESC LIMIT 1", (name,)
            ).fetchone()
            last = _version(row) if row else built_in(name)
            if (row["texts"] if row else None) == texts:
                return last
            made = (name, last.number + 1, texts, self._clock())
            db.execute("INSERT INTO prompt_versions (name, number, texts, saved) VALUES (?, ?, ?, ?)", made)
        return _version(dict(zip(_COLUMNS, made, strict=True)))


def _version(row: Any) -> PromptVersion:
    if row["texts"] is None:
        return replace(built_in(row["name"]), number=row["number"], saved=row["saved"])
    return PromptVersion(row["name"], row["number"], tuple(json.loads(row["texts"])), row["saved"], built_in=False)


def _prompt(version: PromptVersion) -> Prompt:
    ours = EDITABLE[version.name]
    said = [ChatMessage(message.role, text) for message, text in zip(ours.messages, version.texts, strict=True) if text.strip()]
    return replace(ours, messages=tuple(said))


def _listed(names: Sequence[str]) -> str:
    shown = [f"{{{name}}}" for name in names]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
