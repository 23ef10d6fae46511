"""Which vectors may be the nearest, seen from one bit of each of their numbers: whether it is above the mean of its column.

Vectors at a small angle agree in most of these bits (Charikar 2002, https://doi.org/10.1145/509907.509965), and comparing them
reads a thirty-second of what the vectors take. The mean is taken off first because the embeddings of some models all point
roughly one way, and then most of their signs are the same for every text. What is found is only where to look: the order comes
from the vectors themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ragcore.vector_stores.search import Array

if TYPE_CHECKING:
    from ragcore.schema import Vector, Vectors

CHUNK = 1 << 14  # rows whose bits stand together, the first word of each and then the second: compared at one go, in cache
WORD = 64  # bits


@dataclass(frozen=True, slots=True)
class Signs:
    """The bits of the first rows of an index: `mean`, shape (d,), and `chunks`, shape (rows / CHUNK, words, CHUNK), uint64."""

    mean: Vector
    chunks: Array

    def __len__(self) -> int:
        return len(self.chunks) * CHUNK

    def nearest(self, query: Vector, count: int, left_out: Array | None = None) -> Array:
        """A mask of the rows that agree with the query in most bits: `count` of them, and all others that agree in as many.

        `left_out`, shape (n,) or longer, is a mask of rows that are not among them.
        """
        wanted = packed(query[None, :], self.mean)[:, :1]
        differing = np.empty(len(self), np.uint16)
        for number, chunk in enumerate(self.chunks):
            counts = np.bitwise_count(chunk ^ wanted)  # (words, CHUNK), uint8
            np.add.reduce(counts, axis=0, dtype=np.uint16, out=differing[number * CHUNK : (number + 1) * CHUNK])
        if left_out is not None:
            differing[left_out[: len(self)]] = np.iinfo(np.uint16).max
        most = np.partition(differing, count - 1)[count - 1] if count < len(self) else np.iinfo(np.uint16).max
        return np.asarray(differing <= most)


def words_of(dimension: int) -> int:
    return -(-dimension // WORD)


def packed(rows: Vectors, mean: Vector) -> Array:
    """The bits of some rows, shape (words, n): bit i % 64 of word i // 64 is that of number i."""
    bits = np.zeros((len(rows), words_of(rows.shape[1]) * WORD), bool)
    np.greater(rows, mean, out=bits[:, : rows.shape[1]])
    return np.ascontiguousarray(np.packbits(bits, axis=1, bitorder="little").view("<u8").T)
