"""The keyword index of a store in a database: for each term the passages that have it, and how often.

Passages are added in segments that never change. Several neighbouring segments of similar size are merged
into one (a log-structured merge: O'Neil et al. 1996, https://doi.org/10.1007/s002360050048), so that adding n
passages one by one writes n log n postings, and a search reads log n segments. A removed passage is marked,
and disappears when its segment is rewritten.

`postings_codec` packs the postings of a segment. Everything happens in the caller's transaction, in SQL that
every database understands.
"""

from __future__ import annotations

import secrets
import threading
import zlib
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ragcore.sql.base import Connection
from ragcore.vector_stores.postings_codec import (
    BREAK,
    Contents,
    contents_of,
    cut_blocks,
    join_terms,
    merge,
    pack,
    pack_gaps,
    split_terms,
    term_bytes,
    unpack,
    unpack_gaps,
    without,
)
from ragcore.vector_stores.search import Array, length_norm, rarity, term_scores, top_k

SCHEMA = """
CREATE TABLE IF NOT EXISTS keyword_segments (
    id INTEGER PRIMARY KEY,             -- random: never that of an earlier segment, which may be in a cache
    index_id INTEGER NOT NULL,
    first_row INTEGER NOT NULL,         -- of its passages; segments are in this order
    last_row INTEGER NOT NULL,
    postings INTEGER NOT NULL,          -- including those of removed passages
    living INTEGER NOT NULL,            -- passages that are not removed
    words INTEGER NOT NULL,             -- of these passages
    removed BLOB                        -- a bit for every passage; NULL: none is removed
);
CREATE INDEX IF NOT EXISTS keyword_segments_by_index ON keyword_segments (index_id, first_row);
CREATE TABLE IF NOT EXISTS keyword_passages (
    segment INTEGER PRIMARY KEY,
    row_gaps BLOB NOT NULL,             -- from each passage's row to the next one's
    lengths BLOB NOT NULL,              -- of each passage in words
    first_terms BLOB NOT NULL           -- of each block
);
CREATE TABLE IF NOT EXISTS keyword_blocks (
    id INTEGER PRIMARY KEY,             -- the segment's, plus the block's number in it
    terms BLOB NOT NULL,
    gaps BLOB NOT NULL,
    counts BLOB NOT NULL
);
"""

MOST_BLOCKS = 1 << 18  # in a segment
RUN = 4  # neighbouring segments of similar size to merge
LARGEST = 1 << 22  # postings; larger segments are not merged again
CACHE_BYTES = 32 << 20  # of unpacked arrays
BLOCKS_PER_STATEMENT = 400
FEW = 2000  # passages for which a lookup in each term is faster than adding up all postings
ROUNDED = 1e-9  # upper bound of the rounding error of a sum of scores


@dataclass(frozen=True, slots=True)
class _Segment:
    """A row of `keyword_segments`."""

    id_: int
    postings: int
    living: int
    words: int
    removed: bytes | None

    @property
    def tier(self) -> int:
        """Sizes in one tier differ by less than a factor of four."""
        return self.postings.bit_length() // 2


@dataclass(frozen=True, slots=True)
class _Passages:
    """The passages of a segment by position, and the first term of each block."""

    rows: Array
    lengths: Array
    first_terms: list[bytes]

    @property
    def size(self) -> int:
        return int(self.rows.nbytes + self.lengths.nbytes) + sum(50 + len(term) for term in self.first_terms)


@dataclass(frozen=True, slots=True)
class _Block:
    """Some terms of a segment, each between two breaks, and their postings, numbered from the block's first
    term."""

    terms: bytes
    keys: Array
    counts: Array

    @property
    def size(self) -> int:
        return len(self.terms) + int(self.keys.nbytes + self.counts.nbytes)

    def postings(self, term: bytes, passages: int) -> tuple[Array, Array]:
        """The positions of the passages with this term, ascending, and the counts."""
        at = self.terms.find(BREAK + term + BREAK)
        if at < 0:
            return self.keys[:0], self.counts[:0]
        first = self.terms.count(BREAK, 0, at) * passages
        low, high = np.searchsorted(self.keys, np.array((first, first + passages), self.keys.dtype))
        return self.keys[low:high] - first, self.counts[low:high]


@dataclass(frozen=True, slots=True)
class _Term:
    """A term of a question: its weight, the positions of the passages that have it, ascending, and the
    counts."""

    weight: float
    positions: Array
    counts: Array


class Postings:
    """The keyword indexes of one database. Threads may share it; its cache is valid in any transaction.

    `index_id` distinguishes the indexes of a database. A row is the caller's number of a passage.
    """

    def __init__(self) -> None:
        self._cache = _Cache(CACHE_BYTES)

    def add(self, db: Connection, index_id: int, passages: Iterable[tuple[int, Sequence[str]]]) -> None:
        """Add passages by row, each with all its words in any order. Rows ascend, and are above all earlier
        ones."""
        for contents in contents_of(passages):
            self.insert(db, index_id, contents)

    def insert(self, db: Connection, index_id: int, contents: Contents, first_row: int = 0) -> None:
        """Add the result of `contents_of`, as `add`; `first_row` is the row of its row 0."""
        self._write(db, index_id, replace(contents, rows=contents.rows + first_row))
        self._merge_newest(db, index_id)

    def remove(self, db: Connection, index_id: int, rows: Sequence[int]) -> None:
        """Remove the passages of these rows. Unknown rows are ignored."""
        if not rows:
            return
        span = (index_id, max(rows), min(rows))
        for segment in self._segments(db, "index_id = ? AND first_row <= ? AND last_row >= ?", span):
            passages = self._passages(db, segment)
            removed = _mask(segment, len(passages.rows))
            gone = np.isin(passages.rows, np.asarray(rows)) & ~removed
            if not gone.any():
                continue
            living = segment.living - int(gone.sum())
            words = segment.words - int(passages.lengths[gone].sum())
            packed = zlib.compress(np.packbits(removed | gone).tobytes())
            db.execute(
                "UPDATE keyword_segments SET removed = ?, living = ?, words = ? WHERE id = ?",
                (packed, living, words, segment.id_),
            )
            if 2 * living < len(removed):
                self._rewrite(db, index_id, self._segments(db, "id = ?", (segment.id_,)))

    def clear(self, db: Connection, index_id: int) -> None:
        """Remove all passages of this index."""
        self._drop(db, self._segments(db, "index_id = ?", (index_id,)))

    def compact(self, db: Connection, index_id: int) -> None:
        """Rewrite the segments that have removed passages."""
        for segment in self._segments(db, "index_id = ? AND removed IS NOT NULL", (index_id,)):
            self._rewrite(db, index_id, [segment])
        self._merge_newest(db, index_id)

    def search(
        self,
        db: Connection,
        index_id: int,
        terms: Sequence[str],
        k: int,
        among: Collection[int] | None = None,
    ) -> list[tuple[int, float]]:
        """The `k` passages with the highest BM25 for these terms: (row, score > 0), best first, ties in order
        of row.

        Results have at least one of the terms and are in `among`, if it is not None. `KeywordIndex` is the
        same in memory.
        """
        segments = self._segments(db, "index_id = ?", (index_id,))
        passages, words = (
            sum(segment.living for segment in segments),
            sum(segment.words for segment in segments),
        )
        if k <= 0 or not words:
            return []
        contents = [self._passages(db, segment) for segment in segments]
        starts = np.cumsum([0, *(len(each.rows) for each in contents)])
        norms = length_norm(np.concatenate([each.lengths for each in contents]), words / passages)
        rows, removed = np.concatenate([each.rows for each in contents]), _removed_mask(segments, contents)
        chosen = None if among is None else np.isin(rows, np.fromiter(among, np.int64, len(among)))
        postings = self._postings_of(db, segments, contents, terms)
        weighted: list[_Term] = []
        for term in terms:
            parts = [(positions + starts[number], counts) for number, (positions, counts) in postings[term]]
            if not parts:
                continue
            positions, counts = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
            if removed is not None:
                living = ~removed[positions]
                positions, counts = positions[living], counts[living]
            weight = rarity(len(positions), passages)
            if chosen is not None:
                within = chosen[positions]
                positions, counts = positions[within], counts[within]
            if len(positions):
                weighted.append(_Term(weight, positions, counts))
        contenders, scores = _score(weighted, norms, k)
        best = top_k(scores, k)
        return list(zip(rows[contenders[best]].tolist(), scores[best].tolist(), strict=True))

    # --- reading --------------------------------------------------------------------------------------------

    def _segments(self, db: Connection, condition: str, values: Sequence[Any]) -> list[_Segment]:
        """In order of their passages."""
        columns = "id, postings, living, words, removed"
        rows = db.execute(
            f"SELECT {columns} FROM keyword_segments WHERE {condition} ORDER BY first_row", values
        )
        return [_Segment(*row) for row in rows]

    def _passages(self, db: Connection, segment: _Segment) -> _Passages:
        passages: _Passages | None = self._cache.get((_Passages, segment.id_))
        if passages is None:
            row = db.execute(
                "SELECT row_gaps, lengths, first_terms FROM keyword_passages WHERE segment = ?",
                (segment.id_,),
            )
            row_gaps, lengths, first_terms = row.fetchone()
            passages = _Passages(unpack_gaps(row_gaps), unpack(lengths), split_terms(first_terms))
            self._cache.add((_Passages, segment.id_), passages)
        return passages

    def _postings_of(
        self,
        db: Connection,
        segments: Sequence[_Segment],
        contents: Sequence[_Passages],
        terms: Sequence[str],
    ) -> dict[str, list[tuple[int, tuple[Array, Array]]]]:
        """For each term and segment number the positions of the passages with the term, and the counts."""
        locations: list[tuple[str, bytes, int, int]] = []
        for term in dict.fromkeys(terms):
            name = term_bytes(term)
            for number, (segment, passages) in enumerate(zip(segments, contents, strict=True)):
                block = bisect_right(passages.first_terms, name) - 1
                if block >= 0:
                    locations.append((term, name, number, segment.id_ + block))
        blocks = self._blocks(db, {id_ for *_, id_ in locations})
        postings: dict[str, list[tuple[int, tuple[Array, Array]]]] = {term: [] for term in terms}
        for term, name, number, id_ in locations:
            positions, counts = blocks[id_].postings(name, len(contents[number].rows))
            if len(positions):
                postings[term].append((number, (positions, counts)))
        return postings

    def _blocks(self, db: Connection, ids: Collection[int]) -> dict[int, _Block]:
        blocks = {id_: block for id_ in ids if (block := self._cache.get((_Block, id_))) is not None}
        missing = [id_ for id_ in ids if id_ not in blocks]
        for start in range(0, len(missing), BLOCKS_PER_STATEMENT):
            some = missing[start : start + BLOCKS_PER_STATEMENT]
            marks = ", ".join("?" * len(some))
            rows = db.execute(
                f"SELECT id, terms, gaps, counts FROM keyword_blocks WHERE id IN ({marks})", some
            )
            for id_, terms, gaps, counts in rows:
                blocks[id_] = _Block(
                    BREAK + zlib.decompress(terms) + BREAK, unpack_gaps(gaps), unpack(counts)
                )
                self._cache.add((_Block, id_), blocks[id_])
        return blocks

    def _contents(self, db: Connection, segment: _Segment) -> Contents:
        """A segment without its removed passages."""
        passages = self._passages(db, segment)
        terms: list[bytes] = []
        keys: list[Array] = [np.empty(0, np.int64)]
        counts: list[Array] = [np.empty(0, np.uint8)]
        rows = db.execute(
            "SELECT terms, gaps, counts FROM keyword_blocks WHERE id >= ? AND id < ? ORDER BY id",
            (segment.id_, segment.id_ + MOST_BLOCKS),
        )
        for block_terms, gaps, block_counts in rows:
            keys.append(unpack_gaps(gaps).astype(np.int64) + len(terms) * len(passages.rows))
            counts.append(unpack(block_counts))
            terms += split_terms(block_terms)
        contents = Contents(
            passages.rows, passages.lengths, terms, np.concatenate(keys), np.concatenate(counts)
        )
        return contents if segment.removed is None else without(contents, _mask(segment, len(passages.rows)))

    # --- writing --------------------------------------------------------------------------------------------

    def _merge_newest(self, db: Connection, index_id: int) -> None:
        """Merge the newest segments as long as several of them are no larger than the last."""
        while True:
            run: list[_Segment] = []
            for segment in reversed(self._segments(db, "index_id = ?", (index_id,))):
                if segment.postings >= LARGEST or (run and segment.tier > run[0].tier):
                    break
                run.append(segment)
            if len(run) < RUN:
                return
            self._rewrite(db, index_id, run[::-1])

    def _rewrite(self, db: Connection, index_id: int, segments: Sequence[_Segment]) -> None:
        """Replace these neighbours by one segment with their living passages."""
        contents = merge([self._contents(db, segment) for segment in segments])
        self._drop(db, segments)  # first, so that their space is used for the new one
        if len(contents.rows):
            self._write(db, index_id, contents)

    def _drop(self, db: Connection, segments: Sequence[_Segment]) -> None:
        for segment in segments:
            db.execute(
                "DELETE FROM keyword_blocks WHERE id >= ? AND id < ?",
                (segment.id_, segment.id_ + MOST_BLOCKS),
            )
            db.execute("DELETE FROM keyword_passages WHERE segment = ?", (segment.id_,))
            db.execute("DELETE FROM keyword_segments WHERE id = ?", (segment.id_,))

    def _write(self, db: Connection, index_id: int, contents: Contents) -> None:
        id_, rows, blocks = MOST_BLOCKS * secrets.randbits(44), contents.rows, list(cut_blocks(contents))
        db.execute(
            "INSERT INTO keyword_segments (id, index_id, first_row, last_row, postings, living, words)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                id_,
                index_id,
                int(rows[0]),
                int(rows[-1]),
                len(contents.keys),
                len(rows),
                int(contents.lengths.sum()),
            ),
        )
        first_terms = join_terms([terms[0] for terms, _, _ in blocks])
        db.execute(
            "INSERT INTO keyword_passages (segment, row_gaps, lengths, first_terms) VALUES (?, ?, ?, ?)",
            (id_, pack_gaps(rows), pack(contents.lengths), first_terms),
        )
        db.executemany(
            "INSERT INTO keyword_blocks (id, terms, gaps, counts) VALUES (?, ?, ?, ?)",
            (
                (id_ + i, join_terms(terms), pack_gaps(keys), pack(counts))
                for i, (terms, keys, counts) in enumerate(blocks)
            ),
        )


class _Cache:
    """The segments and blocks used last. They never change."""

    def __init__(self, limit: int) -> None:
        self._limit, self._size = limit, 0
        self._entries: OrderedDict[tuple[type, int], Any] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: tuple[type, int]) -> Any:
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key]

    def add(self, key: tuple[type, int], value: _Passages | _Block) -> None:
        with self._lock:
            if key in self._entries or value.size > self._limit:
                return
            self._entries[key] = value
            self._size += value.size
            while self._size > self._limit:
                self._size -= self._entries.popitem(last=False)[1].size


def _score(terms: Sequence[_Term], norms: Array, k: int) -> tuple[Array, Array]:
    """Ascending positions that include the `k` best, and their scores, added up in the order of the terms."""
    contenders = _contenders(terms, norms, k)
    scores = np.zeros(len(contenders))
    for term in terms:
        at = np.searchsorted(term.positions, contenders)
        at[at == len(term.positions)] = 0
        has = term.positions[at] == contenders
        scores[has] += term_scores(term.weight, term.counts[at[has]], norms[contenders[has]])
    return contenders, scores


def _contenders(terms: Sequence[_Term], norms: Array, k: int) -> Array:
    """Positions, ascending, that include the `k` best.

    Terms are added up from the rarest on, until the remaining terms together cannot lift a passage above
    these (MaxScore: Turtle and Flood 1995, https://doi.org/10.1016/0306-4573(95)00020-H).
    """
    scores, shortest = np.zeros(len(norms)), float(norms.min())
    by_weight = sorted(terms, key=lambda term: -term.weight)
    remaining = sum(_highest(term, shortest) for term in by_weight)
    near = np.empty(0, np.intp)
    for number, term in enumerate(by_weight, 1):
        scores[term.positions] += term_scores(term.weight, term.counts, norms[term.positions])
        remaining = remaining - _highest(term, shortest) if number < len(by_weight) else 0.0
        if scores.max() <= remaining:
            continue
        # a lower bound of the k-th of all, from the fewest positions
        least = _kth(scores[by_weight[0].positions], k)
        near = np.flatnonzero(scores > max(least - remaining - ROUNDED, 0.0))
        least = _kth(scores[near], k)
        near = near[scores[near] > max(least - remaining - ROUNDED, 0.0)]
        if least > remaining and len(near) <= FEW:
            break
    return near


def _kth(scores: Array, k: int) -> float:
    """The `k`-th highest score; 0 for fewer scores."""
    return float(np.partition(scores, len(scores) - k)[len(scores) - k]) if k <= len(scores) else 0.0


def _highest(term: _Term, shortest: float) -> float:
    """The highest possible score of this term in a passage."""
    return term_scores(term.weight, float(term.counts.max()), shortest)


def _mask(segment: _Segment, passages: int) -> Array:
    """True at the positions of removed passages."""
    if segment.removed is None:
        return np.zeros(passages, bool)
    return np.unpackbits(np.frombuffer(zlib.decompress(segment.removed), np.uint8), count=passages).astype(
        bool
    )


def _removed_mask(segments: Sequence[_Segment], contents: Sequence[_Passages]) -> Array | None:
    """The masks of all segments concatenated; None if nothing is removed."""
    if all(segment.removed is None for segment in segments):
        return None
    return np.concatenate(
        [_mask(segment, len(each.rows)) for segment, each in zip(segments, contents, strict=True)]
    )
