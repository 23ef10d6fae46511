"""The words of passages as postings in memory, and how the keyword index packs them into bytes.

Inside a segment of n passages the terms are numbered in the order of their bytes and the passages by their place, 0 to n - 1.
Passage p having term t is the number t * n + p; a block holds the terms and these numbers, in order, as the gaps between them,
with how often each passage has the term.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

import numpy as np

from ragcore.vector_stores.search import Array

BLOCK = 2048  # postings or more, of whole terms
BATCH = 10_000  # passages taken into memory together
BREAK = b"\n"  # between terms, in none of which it can be


@dataclass(frozen=True, slots=True)
class Contents:
    """The words of some passages, or a whole segment, in memory.

    `keys` ascend, each a term's number times the passages plus a passage's place.
    """

    rows: Array
    lengths: Array
    terms: list[bytes]
    keys: Array
    counts: Array


def contents_of(passages: Iterable[tuple[int, Sequence[str]]]) -> Iterator[Contents]:
    """The words of passages by row, as `Postings.add` takes them, for `Postings.put`, one after the other."""
    remaining = iter(passages)
    while batch := list(islice(remaining, BATCH)):
        yield _pack_contents(batch)


def _pack_contents(passages: Sequence[tuple[int, Sequence[str]]]) -> Contents:
    numbers: dict[str, int] = {}
    said = array("q")
    for _, terms in passages:
        said.extend([numbers.setdefault(term, len(numbers)) for term in terms])
    lengths = np.array([len(terms) for _, terms in passages], np.int64)
    names = [term_bytes(term) for term in numbers]
    order = sorted(range(len(names)), key=names.__getitem__)
    rank = np.empty(len(names), np.int64)
    rank[order] = np.arange(len(names))
    places = np.repeat(np.arange(len(passages)), lengths)
    keys, counts = np.unique(rank[np.frombuffer(said, np.int64)] * len(passages) + places, return_counts=True)
    return Contents(np.array([row for row, _ in passages], np.int64), lengths, [names[i] for i in order], keys, counts)


def without(contents: Contents, removed: Array) -> Contents:
    """Without the passages of this mask and the terms that only they have."""
    terms, places = np.divmod(contents.keys, len(removed))
    kept = ~removed[places]
    used, terms = np.unique(terms[kept], return_inverse=True)
    left = np.cumsum(~removed) - 1
    keys = terms * len(removed[~removed]) + left[places[kept]]
    names = [contents.terms[number] for number in used.tolist()]
    return Contents(contents.rows[~removed], contents.lengths[~removed], names, keys, contents.counts[kept])


def merge(parts: Sequence[Contents]) -> Contents:
    names = sorted(set().union(*(part.terms for part in parts)))
    number = {name: i for i, name in enumerate(names)}
    rows = np.concatenate([part.rows for part in parts])
    keys, first = [], 0
    for part in parts:
        ranks = np.array([number[name] for name in part.terms], np.int64)
        terms, places = np.divmod(part.keys, max(len(part.rows), 1))
        keys.append(ranks[terms] * len(rows) + places + first)
        first += len(part.rows)
    joined = np.concatenate(keys)
    order = np.argsort(joined, kind="stable")  # quick for runs that are in order already
    lengths, counts = (np.concatenate([getattr(part, name) for part in parts]) for name in ("lengths", "counts"))
    return Contents(rows, lengths, names, joined[order], counts[order])


def cut_blocks(contents: Contents) -> Iterator[tuple[list[bytes], Array, Array]]:
    """Blocks: terms, keys from the first of these terms on, and counts."""
    passages, terms = len(contents.rows), contents.terms
    starts = np.searchsorted(contents.keys, np.arange(len(terms) + 1) * passages)
    alone = np.diff(starts) >= BLOCK
    begins = (np.diff(starts[:-1] // BLOCK, prepend=-1) > 0) | alone | np.append(False, alone)[:-1]
    cuts = [*np.flatnonzero(begins).tolist(), len(terms)]
    for first, end in pairwise(cuts):
        low, high = starts[first], starts[end]
        yield terms[first:end], contents.keys[low:high] - first * passages, contents.counts[low:high]


def pack(numbers: Array) -> bytes:
    """Whole numbers from 0 on, in as few bytes each as the largest needs, their lowest bytes first, then the next."""
    largest = int(numbers.max(initial=0))
    width = next(width for width in (1, 2, 4, 8) if largest < 256**width)
    ranks = numbers.astype(f"<u{width}").view(np.uint8).reshape(-1, width).T
    return bytes([width]) + zlib.compress(ranks.tobytes(), 1)


def unpack(data: bytes) -> Array:
    width = data[0]
    ranks = np.frombuffer(zlib.decompress(memoryview(data)[1:]), np.uint8).reshape(width, -1)
    return np.ascontiguousarray(ranks.T).view(f"<u{width}").ravel()


def pack_gaps(ascending: Array) -> bytes:
    return pack(np.diff(ascending, prepend=0))


def unpack_gaps(gaps: bytes) -> Array:
    unpacked = unpack(gaps)
    narrow = unpacked.sum(dtype=np.int64) < 1 << 30  # half the memory
    return np.cumsum(unpacked, dtype=np.int32 if narrow else np.int64)


def join_terms(terms: Sequence[bytes]) -> bytes:
    return zlib.compress(BREAK.join(terms))


def split_terms(joined: bytes) -> list[bytes]:
    text = zlib.decompress(joined)
    return text.split(BREAK) if text else []


def term_bytes(term: str) -> bytes:
    return term.encode("utf-8", "surrogatepass")
