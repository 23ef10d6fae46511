"""How long reading and embedding a file will take: by the bytes done, the pace so far and the pace of the
last files.

A file costs `size * (read + text * embed)` seconds. `read`, in seconds per byte, and `text`, in characters
per byte, depend on the kind of file; `embed`, in seconds per character, does not. The library's database
keeps each as two sums over the last files, so that a large file counts more than a small one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from ragcore.sql.base import Connection

SCHEMA = """
CREATE TABLE IF NOT EXISTS paces (
    work TEXT PRIMARY KEY,           -- read.pdf, text.pdf, embed
    cost REAL NOT NULL,              -- of the last files, in seconds, or in characters for text.*
    amount REAL NOT NULL             -- the bytes or characters that it was for
);
"""

# Costs before the first measurement. Those of pictures include text recognition.
GUESSES = {
    "read": 2e-7, "text": 1.0, "embed": 4e-5, "read.pdf": 2e-6, "text.pdf": 0.1, "text.docx": 0.3,
    "text.pptx": 0.05, "text.epub": 1.5, "text.html": 0.3, "text.xlsx": 0.5, "text.zip": 0.3,
    "read.png": 6e-6, "text.png": 0.002, "read.jpg": 6e-6, "text.jpg": 0.002,
}  # fmt: skip
# bytes or characters; older work counts less and less
WINDOWS = {"read": 10_000_000, "text": 10_000_000, "embed": 150_000}
GUESS_SHARE = 0.005  # weight of a guess, as a share of the window
FILE_SECONDS = 0.1  # for the smallest file
USUAL_SHARE = 0.05  # weight of the usual pace, as a share of the file


@dataclass(frozen=True, slots=True)
class Costs:
    """Costs of the last files. `sums` by work: seconds or characters, and the bytes or characters they were
    for."""

    sums: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def of(self, work: str) -> float:
        """The cost of one byte or character, as measured or guessed."""
        cost, amount = self._sums(work)
        return cost / amount

    def file(self, name: str, size: int) -> tuple[float, float]:
        """Seconds for reading and for embedding a file of `size` bytes."""
        kind = kind_of(name)
        return FILE_SECONDS + size * self.of(f"read.{kind}"), size * self.of(f"text.{kind}") * self.of(
            "embed"
        )

    def add(self, work: str, cost: float, amount: float) -> Costs:
        """The costs with more work added. Earlier work of this kind loses weight once the sum exceeds the
        window."""
        cost_before, before = self._sums(work)
        weight = min(1.0, WINDOWS[work.split(".")[0]] / (before + amount))
        return Costs({**self.sums, work: (weight * (cost_before + cost), weight * (before + amount))})

    def _sums(self, work: str) -> tuple[float, float]:
        kind = work.split(".")[0]
        amount = GUESS_SHARE * WINDOWS[kind]
        return self.sums.get(work) or (amount * (GUESSES.get(work) or GUESSES[kind]), amount)


def kind_of(name: str) -> str:
    return PurePosixPath(name).suffix.lstrip(".").lower() or "txt"


def read_costs(db: Connection) -> Costs:
    rows = db.execute("SELECT work, cost, amount FROM paces").fetchall()
    return Costs({row["work"]: (row["cost"], row["amount"]) for row in rows})


def remember(db: Connection, work: str, cost: float, amount: float) -> None:
    """Store the cost of some work, in the caller's transaction. A cost or an amount of 0 changes nothing."""
    if amount > 0 and cost > 0:
        statement = "INSERT INTO paces (work, cost, amount) VALUES (?, ?, ?) ON CONFLICT (work)"
        values = read_costs(db).add(work, cost, amount).sums[work]
        db.execute(
            f"{statement} DO UPDATE SET cost = excluded.cost, amount = excluded.amount", (work, *values)
        )


class TimeLeft:
    """Estimates the remaining time of a file while it is read and embedded. `fraction` of the work is done;
    it starts where an earlier worker ended, never falls and stays below 1. `clock` returns seconds and never
    goes back."""

    def __init__(
        self,
        costs: Costs,
        name: str,
        size: int,
        fraction: float = 0.0,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        # seconds: of reading, and of the steps after the current one
        self._usual, self._later = costs.file(name, size)
        self._usual_share = USUAL_SHARE if size else 0.0  # The size of a file is unknown while it is fetched.
        # of the bar for reading, because embedding may take long
        self._most = 0.99 if "embed" in costs.sums else 0.2
        self._clock = clock
        self._began = self._progressed = clock()
        self._step = self._usual  # seconds that the current step needed at the last progress
        self._characters, self._bar_before = 0, fraction
        self.fraction = fraction

    @property
    def seconds_left(self) -> float:
        """The rest of a step without progress: the expected time, or half of the time so far if that is
        over."""
        waited = self._clock() - self._progressed
        return max(self._step - waited, waited / 2) + self._later

    def report_reading(self, done: int, total: int) -> None:
        """`done` of `total` pages, rows or bytes are read or fetched. A total of 0 is unknown and changes
        nothing."""
        if total and done:
            self._progressed, share = self._clock(), done / total
            spent = self._progressed - self._began
            whole = (self._usual_share * self._usual + spent) / (self._usual_share + share)
            self._step = whole * (1 - share)
            self._advance(min(whole * share / max(whole + self._later, 1e-9), self._most))

    def report_embedding(self, characters_left: int, seconds_each: float) -> None:
        """The file is read, and these characters are still to be embedded."""
        if not self._characters:
            self._bar_before = self.fraction
        self._progressed, self._characters = self._clock(), max(self._characters, characters_left, 1)
        self._step, self._later = characters_left * seconds_each, 0.0
        self._advance(self._bar_before + (1 - self._bar_before) * (1 - characters_left / self._characters))

    def _advance(self, fraction: float) -> None:
        self.fraction = max(self.fraction, min(fraction, 0.99))
