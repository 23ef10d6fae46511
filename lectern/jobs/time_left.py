"""How long it will take: from how long the same work took here before, and more and more from how it goes now.

The work on a file is reading its bytes, recognising the text of its pictures, embedding its characters, and the rest (cutting
and storing them); before the first of them the embedder is loaded. What each costs is kept in the library's database as seconds
over the bytes, pictures or characters of the last files, so that the large ones count more, and what was seen last. Characters
are counted by their weight, see `ragcore.readers.workload.weight`. How much is in a file that waits is kept there too once it
was looked at.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from ragcore.readers.workload import Amount
from ragcore.sql.base import Connection

SCHEMA = """
CREATE TABLE IF NOT EXISTS paces (
    work TEXT PRIMARY KEY,           -- read.pdf, text.pdf, recognise, load, embed, rest, weight
    cost REAL NOT NULL,              -- of the last files, in seconds, or characters by weight for text.* and weight
    amount REAL NOT NULL             -- the bytes, pictures or characters that it was for; loading the embedder is 1
);
CREATE TABLE IF NOT EXISTS amounts (
    hash TEXT PRIMARY KEY,           -- of a file that is not read yet
    characters INTEGER NOT NULL,     -- that it was seen to hold, by their weight, see ragcore.readers.workload
    pictures INTEGER NOT NULL
);
"""

# Before anything was measured: seconds for a byte, picture or character, characters for a byte, weight of a character.
GUESSES = {"read": 2e-7, "text": 1.0, "read.pdf": 2e-6, "text.pdf": 0.1, "text.docx": 0.3, "text.pptx": 0.05, "text.epub": 1.5,
           "text.html": 0.3, "text.xlsx": 0.5, "text.zip": 0.3, "text.png": 0.002, "text.jpg": 0.002, "recognise": 3.0,
           "load": 6.0, "embed": 4e-5, "rest": 1e-6, "weight": 1.0}  # fmt: skip
# That guesses weigh as much as: the first file may be so small that it tells nothing about larger ones.
GUESSED = {"read": 100_000, "text": 5_000, "recognise": 0.3, "load": 0.3, "embed": 500, "rest": 20_000,
           "weight": 20_000}  # bytes, characters ...  # fmt: skip
SLOWED = ("read", "recognise", "embed", "rest")  # on a slow or busy machine
READ_SECONDS = 0.02  # that even the smallest file takes
REMEMBERED = 0.9  # of what was known stays beside each new file or group of passages; more beside one that is small, which
SMALL = 10  # times what a guess weighs is not
TRUST_SECONDS = 2.0  # of work going on weigh as much, at first, as all that was seen before,
GUESS_SECONDS = 0.6  # or as much as what was only guessed;
RECENT = 0.95  # of both weighs on beside each new group of passages


@dataclass(frozen=True, slots=True)
class Costs:
    """What work was seen to cost; and what was `seen` in files that are not read yet, by their hashes."""

    known: Mapping[str, float] = field(default_factory=dict)
    seen: Mapping[str, Amount] = field(default_factory=dict)

    def of(self, work: str) -> float:
        """Of a byte, picture or character; guessed for what was never done, and more where the embedder, which is loaded first
        of all, has taken longer than it should."""
        slow = max(self.known.get("load", 0.0) / guess("load"), 1.0) if work.startswith(SLOWED) else 1.0
        return self.known.get(work) or guess(work) * slow

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
        guessed, kept = GUESSED[work.split(".")[0]], _kept(work, amount, REMEMBERED)
        db.execute(
            "INSERT INTO paces (work, cost, amount) VALUES (?, ?, ?) ON CONFLICT (work) DO UPDATE SET"
            " cost = paces.cost * ? + ?, amount = paces.amount * ? + ?",
            (work, cost + guessed * guess(work), amount + guessed, kept, cost, kept, amount),
        )


def expect(db: Connection, work: str, cost: float) -> None:
    """Note that what is going on costs at least so much, in the caller's transaction, until it is remembered."""
    db.execute(
        "INSERT INTO paces (work, cost, amount) VALUES (?, ?, 1)"
        " ON CONFLICT (work) DO UPDATE SET cost = excluded.cost, amount = 1",
        (work, cost),
    )


def _kept(work: str, amount: float, share: float) -> float:
    """The part of what was seen before that is kept beside so much more of it: that share, and more beside a small amount."""
    return float(share ** min(amount / (SMALL * GUESSED[work.split(".")[0]]), 1.0))


class Recent:
    """What work costs as it goes on: at first what was known or guessed, then more and more what was seen, most of all last."""

    def __init__(self, costs: Costs, work: str) -> None:
        self._work = work
        self._seconds = TRUST_SECONDS if work in costs.known else GUESS_SECONDS
        self._amount = self._seconds / costs.of(work)

    def add(self, seconds: float, amount: float) -> None:
        kept = _kept(self._work, amount, RECENT)
        self._seconds = (self._seconds + seconds) * kept
        self._amount = (self._amount + amount) * kept

    @property
    def cost(self) -> float:
        """Of a byte, picture or character."""
        return self._seconds / self._amount


class Loading:
    """Of the embedder, begun when this is made. `clock` as that of an Estimate."""

    def __init__(self, costs: Costs, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._usual = costs.of("load")
        self._clock = clock
        self._began = clock()
        self._ended = False

    def left(self) -> float:
        """Seconds: as long as usual, and half as long again as it has taken when that is longer."""
        return 0.0 if self._ended else yet(self._usual, self._clock() - self._began)

    def late(self) -> float:
        """Seconds that it has taken, when that is longer than usual, else 0."""
        took = self._clock() - self._began
        return took if took > self._usual and not self._ended else 0.0

    def end(self) -> float:
        """It is loaded; gives the seconds that it took."""
        self._ended = True
        return self._clock() - self._began


def yet(usual: float, took: float) -> float:
    """Seconds until something ends that took so long already: half as long again where that is longer than usual."""
    return max(usual - took, took / 2)


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
        amount, read = costs.amount(name, size, digest), f"read.{kind_of(name)}"
        self._loading = loading
        self._size = size
        self._pictures = amount.pictures
        self.recognised = 0  # of them, and maybe more than were expected
        self._read, self._recognise, self._embed = Recent(costs, read), Recent(costs, "recognise"), Recent(costs, "embed")
        self._done, self._counted = 0.0, 0  # bytes that are read, and pictures that were recognised, when it was last told
        self._began = self._told = now
        self._characters: float = amount.characters
        self._storing = costs.of("rest")
        self._rest = amount.characters * self._storing
        self._bar_before = 0.0
        self._to_embed = self._going = 0  # characters, and those of the group that is being embedded
        self._fetching = self._begun = False  # the latter is embedding
        self._guessed = "embed" not in costs.known  # what is most of the work
        self.fraction = fraction
        self._until_read = self._reading()
        self.left = self._whole(now)

    def reading(self, done: int, total: int, now: float) -> None:
        """`done` of `total` pages or whatever the file has; total 0 where it does not say. Those that are `recognised` take far
        longer than the others, and stand anywhere among them."""
        if total:
            took, read = now - self._told, max(self._size * done / total - self._done, 0.0)
            pictures = self.recognised - self._counted
            if pictures:
                self._recognise.add(max(took - read * self._read.cost, 0.0), pictures)
            else:
                self._read.add(took, read)
            self._done, self._counted, self._told = self._done + read, self._counted + pictures, now
            self._pictures = min(max(self._pictures - pictures, 0), total - done)
            self._until_read = self._reading()
        self._see(now)

    def fetching(self, done: int, total: int, now: float) -> None:
        """`done` of `total` bytes have come; total 0 where nobody said how many there are."""
        self._fetching = True
        if total and done:
            self.left = (now - self._began) * (total - done) / done
            self.fraction = max(self.fraction, min(done / total, 0.99))

    def to_embed(self, characters: int, now: float, first: int = 0) -> None:
        """That many characters are left to be embedded: of the whole text, when it is read, and then fewer when some of the
        passages are known already. `first`: of them, those that are embedded from now on."""
        if self._until_read:
            self._until_read, self._rest = 0.0, characters * self._storing
        self._characters = self._to_embed = characters
        self._going, self._told = first, now
        self._see(now)
        self._bar_before = self.fraction

    def embedded(self, characters: int, seconds: float, now: float, following: int = 0) -> None:
        """That many more are embedded, in so many seconds, and `following` from now on."""
        self._characters -= characters
        self._going, self._told = following, now
        self._begun = True
        self._embed.add(seconds, characters)
        self.left = self._whole(now)
        # From here on the bar goes by the work, whatever the time that it was thought to take.
        done = 1 - self._characters / self._to_embed if self._to_embed else 1.0
        self.fraction = max(self.fraction, min(self._bar_before + (1 - self._bar_before) * done, 0.99))

    def waited(self, costs: Costs, now: float) -> None:
        """Nothing new was told of this file; `costs` are as they are known by now."""
        if self._fetching:
            return
        if not self._begun:
            self._embed = Recent(costs, "embed")
            if self._loading() and not self._until_read:
                self._told = now  # embedding begins after it
        self.left = self._whole(now)

    def _reading(self) -> float:
        """Seconds, when it was last told."""
        pictures = self._pictures * self._recognise.cost
        return READ_SECONDS + (self._size - self._done) * self._read.cost + pictures

    def _whole(self, now: float) -> float:
        took, cost = now - self._told, self._embed.cost
        reading = yet(self._until_read, took) if self._until_read else 0.0
        going = yet(self._going * cost, took) if self._going else 0.0
        return max(reading, self._loading()) + going + (self._characters - self._going) * cost + self._rest

    def _see(self, now: float) -> None:
        self.left = self._whole(now)
        spent = now - self._began
        most = 0.2 if self._guessed else 0.99  # embedding is most of the work, and how much is a guess yet
        self.fraction = max(self.fraction, min(spent / max(spent + self.left, 1e-9), most))
