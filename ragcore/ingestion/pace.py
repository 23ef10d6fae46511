"""How long it will take: from how long the same work took here before, and more and more from how it goes now.

The work on a file is reading its bytes, recognising the text of its pictures, embedding its characters, and the rest (cutting
and storing them); before the first of them the embedder is loaded. What each costs is kept in the library's database as seconds
over the bytes, pictures or characters of the last files, so that the large ones count more. How much is in a file that waits is
kept there too once it was looked at.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from ragcore.database import Connection
from ragcore.readers.amount import Amount

SCHEMA = """
CREATE TABLE IF NOT EXISTS paces (
    work TEXT PRIMARY KEY,           -- read.pdf, text.pdf, recognise, load, embed, rest
    cost REAL NOT NULL,              -- of the last files, in seconds, or characters for text.*
    amount REAL NOT NULL             -- the bytes, pictures or characters that it was for; 1 for loading the embedder
);
CREATE TABLE IF NOT EXISTS amounts (
    hash TEXT PRIMARY KEY,           -- of a file that is not read yet
    characters INTEGER NOT NULL,     -- that it was seen to hold, see ragcore.readers.amount
    pictures INTEGER NOT NULL
);
"""

# Before anything was measured: seconds for a byte, picture or character, characters for a byte.
GUESSES = {"read": 2e-7, "text": 1.0, "read.pdf": 2e-6, "text.pdf": 0.1, "text.docx": 0.3, "text.pptx": 0.05, "text.epub": 1.5,
           "text.html": 0.3, "text.xlsx": 0.5, "text.zip": 0.3, "text.png": 0.002, "text.jpg": 0.002, "recognise": 3.0,
           "load": 6.0, "embed": 4e-5, "rest": 1e-6}  # fmt: skip
# That guesses weigh as much as: the first file may be so small that it tells nothing about larger ones.
GUESSED = {"read": 100_000, "text": 5_000, "recognise": 0.3, "load": 0.3, "embed": 500, "rest": 20_000}  # bytes, characters ...
READ_SECONDS = 0.02  # that even the smallest file takes
REMEMBERED = 0.9  # of what was known stays beside each new file or group of passages; more beside one that is small, which
SMALL = 10  # times what a guess weighs is not
TRUST_SECONDS = 2.0  # of work going on weigh as much as all that was seen before,
GUESS_SECONDS = 0.6  # or as much as what was only guessed


@dataclass(frozen=True, slots=True)
class Costs:
    """What work was seen to cost; and what was `seen` in files that are not read yet, by their hashes."""

    known: Mapping[str, float] = field(default_factory=dict)
    seen: Mapping[str, Amount] = field(default_factory=dict)

    def of(self, work: str) -> float:
        """Of a byte or character; guessed for what was never done."""
        return self.known.get(work) or guess(work)

    def seconds(self, work: str, left: float, *, took: float = 0.0, done: float = 0.0) -> float:
        """For what is `left` of this work, in bytes or characters, when `done` more took `took` seconds just now."""
        return left * self.each(self.of(work), took=took, done=done, known=work in self.known)

    @staticmethod
    def each(cost: float, *, took: float, done: float, known: bool) -> float:
        """Of one, when it was thought to be `cost`, and `done` of them took `took` just now."""
        trust = TRUST_SECONDS if known else GUESS_SECONDS
        return (took + trust) / (done + trust / cost)

    def amount(self, name: str, size: int, digest: str = "") -> Amount:
        """What a file of `size` bytes, and the hash `digest`, holds, as it was seen to, or probably."""
        return self.seen.get(digest) or Amount(round(size * self.of(f"text.{kind_of(name)}")))

    def reading(self, name: str, size: int, pictures: int) -> float:
        """Seconds until the file is read."""
        return READ_SECONDS + size * self.of(f"read.{kind_of(name)}") + pictures * self.of("recognise")

    def file(self, name: str, size: int, digest: str = "") -> float:
        """Seconds for a file that nobody has begun."""
        amount = self.amount(name, size, digest)
        return self.reading(name, size, amount.pictures) + amount.characters * (self.of("embed") + self.of("rest"))


def guess(work: str) -> float:
    return GUESSES.get(work) or GUESSES[work.split(".")[0]]


def kind_of(name: str) -> str:
    return PurePosixPath(name).suffix.lstrip(".").lower() or "txt"


def read_costs(db: Connection, digest: str | None = None) -> Costs:
    """With what was seen in all files that wait, or in the one with this hash: thousands may."""
    paces = db.execute("SELECT work, cost, amount FROM paces")
    known = {row["work"]: row["cost"] / row["amount"] for row in paces.fetchall()}
    if digest is None:
        amounts = db.execute("SELECT hash, characters, pictures FROM amounts")
    else:
        amounts = db.execute("SELECT hash, characters, pictures FROM amounts WHERE hash = ?", (digest,))
    return Costs(known, {row["hash"]: Amount(row["characters"], row["pictures"]) for row in amounts.fetchall()})


def note_amount(db: Connection, digest: str, amount: Amount) -> None:
    """Keep what was seen in the file with this hash, in the caller's transaction."""
    db.execute(
        "INSERT INTO amounts (hash, characters, pictures) VALUES (?, ?, ?) ON CONFLICT (hash) DO NOTHING",
        (digest, amount.characters, amount.pictures),
    )


def remember(db: Connection, work: str, cost: float, amount: float) -> None:
    """Note what was just seen, in the caller's transaction. An amount of nothing says nothing."""
    if amount > 0 and cost > 0:
        guessed = GUESSED[work.split(".")[0]]
        kept = REMEMBERED ** min(amount / (SMALL * guessed), 1.0)
        db.execute(
            "INSERT INTO paces (work, cost, amount) VALUES (?, ?, ?) ON CONFLICT (work) DO UPDATE SET"
            " cost = paces.cost * ? + ?, amount = paces.amount * ? + ?",
            (work, cost + guessed * guess(work), amount + guessed, kept, cost, kept, amount),
        )


class Loading:
    """Of the embedder, begun when this is made. `clock` as that of an Estimate."""

    def __init__(self, costs: Costs, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._usual = costs.of("load")
        self._clock = clock
        self._began = clock()
        self._ended = False

    def left(self) -> float:
        """Seconds: as long as usual, and half as long again as it has taken when that is longer."""
        took = self._clock() - self._began
        return 0.0 if self._ended else max(self._usual - took, took / 2)

    def end(self) -> float:
        """It is loaded; gives the seconds that it took."""
        self._ended = True
        return self._clock() - self._began


def nothing() -> float:
    return 0.0


class Estimate:
    """The whole work on one file as it goes on: seconds left, and how much is done, 0 to 1, which never falls.

    `now` is any clock that only goes forward, in seconds. `fraction`: what an earlier worker had reached. `loading`: seconds
    until the embedder can be used, which is loaded meanwhile.
    """

    def __init__(
        self,
        costs: Costs,
        name: str,
        size: int,
        now: float,
        fraction: float = 0.0,
        *,
        digest: str = "",
        loading: Callable[[], float] = nothing,
    ) -> None:
        amount = costs.amount(name, size, digest)
        self._costs = costs
        self._loading = loading
        self._pictures = amount.pictures
        self.recognised = 0  # of them, and maybe more than were expected
        self._measured = f"read.{kind_of(name)}" in costs.known
        self._began = now
        self._bare = costs.reading(name, size, 0) - READ_SECONDS  # without recognising anything
        self._characters: float = amount.characters
        self._embedded = self._embed_seconds = self._bar_before = 0.0
        self._to_embed = 0
        self.fraction = fraction
        reading = costs.reading(name, size, amount.pictures)
        self.left = max(reading, loading()) + costs.file(name, size, digest) - reading

    def reading(self, done: int, total: int, now: float) -> None:
        """`done` of `total` pages or whatever the file has; total 0 where it does not say. Those that are `recognised` take far
        longer than the others, and stand anywhere among them."""
        took = now - self._began
        if total and self._bare:
            share, pictures = done / total, min(max(self._pictures - self.recognised, 0), total - done)
            bare = share * self._bare if self.recognised else took
            reading = (1 - share) * self._costs.each(self._bare, took=bare, done=share, known=self._measured)
            reading += self._costs.seconds("recognise", pictures, took=max(took - bare, 0.0), done=self.recognised)
        else:
            reading = max(self._bare + self._costs.seconds("recognise", self._pictures) - took, 0.0)
        self._see(max(READ_SECONDS + reading, self._loading()) + self._after_reading(self._characters), now)

    def fetching(self, done: int, total: int, now: float) -> None:
        """`done` of `total` bytes have come; total 0 where nobody said how many there are."""
        if total and done:
            self.left = (now - self._began) * (total - done) / done
            self.fraction = max(self.fraction, min(done / total, 0.99))

    def to_embed(self, characters: int, now: float) -> None:
        """That many characters are left to be embedded: fewer when some of the passages are known already."""
        self._characters = self._to_embed = characters
        self._see(self._loading() + self._after_reading(characters), now)
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

    def _after_reading(self, characters: float) -> float:
        embedding = self._costs.seconds("embed", characters, took=self._embed_seconds, done=self._embedded)
        return embedding + characters * self._costs.of("rest")

    def _see(self, left: float, now: float) -> None:
        self.left = left
        spent = now - self._began
        most = 0.2 if self.guessed else 0.99  # embedding is most of the work, and how much is a guess yet
        self.fraction = max(self.fraction, min(spent / max(spent + left, 1e-9), most))
