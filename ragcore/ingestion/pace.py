"""How long it will take: from how long the same work took here before, and more and more from how it goes now.

The work on a file is reading its bytes, embedding its characters, and the rest (cutting and storing them). What each costs is
kept in the library's database as seconds over the bytes or characters of the last files, so that the large ones count more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from ragcore.database import Connection

SCHEMA = """
CREATE TABLE IF NOT EXISTS paces (
    work TEXT PRIMARY KEY,           -- read.pdf, text.pdf, embed, rest
    cost REAL NOT NULL,              -- of the last files, in seconds, or characters for text.*
    amount REAL NOT NULL             -- the bytes or characters that it was for
);
"""

# Before anything was measured: seconds for a byte or character, characters for a byte.
GUESSES = {"read": 2e-7, "text": 1.0, "read.pdf": 2e-6, "text.pdf": 0.1, "text.docx": 0.3, "text.pptx": 0.05, "text.epub": 1.5,
           "text.html": 0.3, "text.xlsx": 2.0, "text.png": 0.002, "text.jpg": 0.002, "embed": 4e-5, "rest": 1e-6}  # fmt: skip
READ_SECONDS = 0.02  # that even the smallest file takes
REMEMBERED = 0.9  # of what was known stays beside each new file
TRUST_SECONDS = 2.0  # of work going on weigh as much as all that was seen before,
GUESS_SECONDS = 0.6  # or as much as what was only guessed


@dataclass(frozen=True, slots=True)
class Costs:
    """What work was seen to cost."""

    known: Mapping[str, float] = field(default_factory=dict)

    def of(self, work: str) -> float:
        """Of a byte or character; guessed for what was never done."""
        return self.known.get(work) or GUESSES.get(work) or GUESSES[work.split(".")[0]]

    def seconds(self, work: str, left: float, *, took: float = 0.0, done: float = 0.0) -> float:
        """For what is `left` of this work, in bytes or characters, when `done` more took `took` seconds just now."""
        trust = TRUST_SECONDS if work in self.known else GUESS_SECONDS
        return left * (took + trust) / (done + trust / self.of(work))

    def characters(self, kind: str, size: int) -> float:
        """That a file of `size` bytes will probably have. `kind` as the ending of its name, without the dot."""
        return size * self.of(f"text.{kind}")

    def file(self, name: str, size: int) -> float:
        """Seconds for a file that nobody has begun."""
        kind = kind_of(name)
        each = self.of("embed") + self.of("rest")
        return READ_SECONDS + size * self.of(f"read.{kind}") + self.characters(kind, size) * each


def kind_of(name: str) -> str:
    return PurePosixPath(name).suffix.lstrip(".").lower() or "txt"


def read_costs(db: Connection) -> Costs:
    return Costs({row["work"]: row["cost"] / row["amount"] for row in db.execute("SELECT work, cost, amount FROM paces")})


def remember(db: Connection, work: str, cost: float, amount: float) -> None:
    """Note what was just seen, in the caller's transaction. An amount of nothing says nothing."""
    if amount > 0 and cost > 0:
        db.execute(
            "INSERT INTO paces (work, cost, amount) VALUES (?, ?, ?) ON CONFLICT (work) DO UPDATE SET"
            f" cost = paces.cost * {REMEMBERED} + excluded.cost, amount = paces.amount * {REMEMBERED} + excluded.amount",
            (work, cost, amount),
        )


class Estimate:
    """The whole work on one file as it goes on: seconds left, and how much is done, 0 to 1, which never falls.

    `now` is any clock that only goes forward, in seconds. `fraction`: what an earlier worker had reached.
    """

    def __init__(self, costs: Costs, name: str, size: int, now: float, fraction: float = 0.0) -> None:
        self._costs = costs
        self._kind = kind_of(name)
        self._size = size
        self._began = now
        self._characters = costs.characters(self._kind, size)
        self._embedded = self._embed_seconds = self._bar_before = 0.0
        self._to_embed = 0
        self.fraction = fraction
        self.left = costs.file(name, size)

    def reading(self, done: int, total: int, now: float) -> None:
        """`done` of `total` pages or whatever the file has; total 0 where it does not say."""
        took = now - self._began
        share = done / total if total else 0.0
        bytes_left = self._size * (1 - share)
        work = f"read.{self._kind}"
        if total:
            reading = self._costs.seconds(work, bytes_left, took=took, done=self._size * share)
        else:
            reading = max(bytes_left * self._costs.of(work) - took, 0.0)
        self._see(READ_SECONDS + reading + self._after_reading(self._characters), now)

    def to_embed(self, characters: int, now: float) -> None:
        """That many characters are left to be embedded: fewer when some of the passages are known already."""
        self._characters = self._to_embed = characters
        self._see(self._after_reading(characters), now)
        self._bar_before = self.fraction

    def embedded(self, characters: int, seconds: float, now: float) -> None:
        """That many more are embedded, in so many seconds."""
        self._characters -= characters
        self._embedded += characters
        self._embed_seconds += seconds
        self.left = self._after_reading(self._characters)
        # From here on the bar goes by the work, whatever the time that it was thought to take.
        done = 1 - self._characters / self._to_embed if self._to_embed else 1.0
        self.fraction = max(self.fraction, min(self._bar_before + (1 - self._bar_before) * done, 0.99))

    @property
    def guessed(self) -> bool:
        """Whether embedding was never measured before this file."""
        return "embed" not in self._costs.known

    @property
    def seen(self) -> tuple[float, int]:
        """Seconds and characters of embedding, as measured."""
        return self._embed_seconds, int(self._embedded)

    def _after_reading(self, characters: float) -> float:
        embedding = self._costs.seconds("embed", characters, took=self._embed_seconds, done=self._embedded)
        return embedding + characters * self._costs.of("rest")

    def _see(self, left: float, now: float) -> None:
        self.left = left
        spent = now - self._began
        most = 0.2 if self.guessed else 0.99  # embedding is most of the work, and how much is a guess yet
        self.fraction = max(self.fraction, min(spent / max(spent + left, 1e-9), most))
