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

    def differing(self, query: Vector) -> Array:
        """In how many bits each row differs from the query: shape (n,), uint16."""
        wanted = packed(query[None, :], self.mean)
        differing = np.empty(len(self), np.uint16)
        for number, chunk in enumerate(self.chunks):
            counts = np.bitwise_count(chunk ^ wanted)  # (words, CHUNK), uint8
            np.add.reduce(counts, axis=0, dtype=np.uint16, out=differing[number * CHUNK : (number + 1) * CHUNK])
        return differing


def words_of(dimension: int) -> int:
    return -(-dimension // WORD)


def packed(rows: Vectors, mean: Vector) -> Array:
    """The bits of some rows, shape (words, n): bit i % 64 of word i // 64 is that of number i."""
    bits = np.zeros((len(rows), words_of(rows.shape[1]) * WORD), bool)
    np.greater(rows, mean, out=bits[:, : rows.shape[1]])
    return np.ascontiguousarray(np.packbits(bits, axis=1, bitorder="little").view("<u8").T)
