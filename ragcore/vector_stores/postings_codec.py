"""Postings of passages in memory, and the packed form in which the keyword index stores them.

A segment of n passages numbers its terms in the order of their bytes, and its passages by their position, 0
to n - 1. The number t * n + p says that passage p has term t. A block has terms, the gaps between these
numbers in order, and the counts of the terms in the passages.
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
BATCH = 10_000  # passages in memory at a time
BREAK = b"\n"  # between terms; no term contains it


@dataclass(frozen=True, slots=True)
class Contents:
    """The words of some passages, or a whole segment, in memory.

    `keys` ascend; each is the number of a term times the number of passages, plus the position of a passage.
    """

    rows: Array
    lengths: Array
    terms: list[bytes]
    keys: Array
    counts: Array


def contents_of(passages: Iterable[tuple[int, Sequence[str]]]) -> Iterator[Contents]:
    """Batches for `Postings.insert`, of passages as `Postings.add` takes them."""
    remaining = iter(passages)
    while batch := list(islice(remaining, BATCH)):
        yield _contents(batch)


def _contents(passages: Sequence[tuple[int, Sequence[str]]]) -> Contents:
    numbers: dict[str, int] = {}
    tokens = array("q")
    for _, terms in passages:
        tokens.extend([numbers.setdefault(term, len(numbers)) for term in terms])
    lengths = np.array([len(terms) for _, terms in passages], np.int64)
    names = [term_bytes(term) for term in numbers]
    order = sorted(range(len(names)), key=names.__getitem__)
    rank = np.empty(len(names), np.int64)
    rank[order] = np.arange(len(names))
    positions = np.repeat(np.arange(len(passages)), lengths)
    keys, counts = np.unique(
        rank[np.frombuffer(tokens, np.int64)] * len(passages) + positions, return_counts=True
    )
    return Contents(
        np.array([row for row, _ in passages], np.int64), lengths, [names[i] for i in order], keys, counts
    )


def without(contents: Contents, removed: Array) -> Contents:
    """Without the passages of this mask and the terms that no other passage has."""
    terms, positions = np.divmod(contents.keys, len(removed))
    living = ~removed[positions]
    used_terms, terms = np.unique(terms[living], return_inverse=True)
    new_positions = np.cumsum(~removed) - 1
    keys = terms * len(removed[~removed]) + new_positions[positions[living]]
    names = [contents.terms[number] for number in used_terms.tolist()]
    return Contents(contents.rows[~removed], contents.lengths[~removed], names, keys, contents.counts[living])


def merge(parts: Sequence[Contents]) -> Contents:
    names = sorted(set().union(*(part.terms for part in parts)))
    number = {name: i for i, name in enumerate(names)}
    rows = np.concatenate([part.rows for part in parts])
    keys, first = [], 0
    for part in parts:
        ranks = np.array([number[name] for name in part.terms], np.int64)
        terms, positions = np.divmod(part.keys, max(len(part.rows), 1))
        keys.append(ranks[terms] * len(rows) + positions + first)
        first += len(part.rows)
    joined = np.concatenate(keys)
    order = np.argsort(joined, kind="stable")  # fast for runs that are already sorted
    lengths, counts = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("lengths", "counts")
    )
    return Contents(rows, lengths, names, joined[order], counts[order])


def cut_blocks(contents: Contents) -> Iterator[tuple[list[bytes], Array, Array]]:
    """Blocks: terms, keys relative to the first of these terms, and counts."""
    passages, terms = len(contents.rows), contents.terms
    starts = np.searchsorted(contents.keys, np.arange(len(terms) + 1) * passages)
    alone = np.diff(starts) >= BLOCK
    begins = (np.diff(starts[:-1] // BLOCK, prepend=-1) > 0) | alone | np.append(False, alone)[:-1]
    cuts = [*np.flatnonzero(begins).tolist(), len(terms)]
    for first, end in pairwise(cuts):
        low, high = starts[first], starts[end]
        yield terms[first:end], contents.keys[low:high] - first * passages, contents.counts[low:high]


def pack(numbers: Array) -> bytes:
    """Non-negative integers in as few bytes each as the largest needs: first all lowest bytes, then all next
    bytes."""
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
