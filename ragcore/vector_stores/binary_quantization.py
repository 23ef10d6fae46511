"""One bit for each number of a vector, whether it is above the mean of its column, to find the vectors that
may be nearest.

Vectors at a small angle agree in most of these bits (Charikar 2002, https://doi.org/10.1145/509907.509965),
and comparing bits reads a thirty-second of the bytes of the vectors. The mean is subtracted because all
embeddings of some models point roughly in one direction, so that most of their signs would be equal. The bits
only select candidates; the vectors determine the order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ragcore.schema import Vector, Vectors
from ragcore.vector_stores.search import Array

# rows stored together: the first word of each, then the second, and so on; one chunk fits the cache
CHUNK = 1 << 14
WORD = 64  # bits


@dataclass(frozen=True, slots=True)
class Signs:
    """The bits of the first rows of an index: `mean`, shape (d,), and `chunks`, shape (rows / CHUNK, words,
    CHUNK), uint64."""

    mean: Vector
    chunks: Array

    def __len__(self) -> int:
        return len(self.chunks) * CHUNK

    def count_differing_bits(self, query: Vector) -> Array:
        """The number of bits in which each row differs from the query: shape (n,), uint16."""
        query_bits = sign_bits(query[None, :], self.mean)
        differing = np.empty(len(self), np.uint16)
        for number, chunk in enumerate(self.chunks):
            counts = np.bitwise_count(chunk ^ query_bits)  # (words, CHUNK), uint8
            np.add.reduce(
                counts, axis=0, dtype=np.uint16, out=differing[number * CHUNK : (number + 1) * CHUNK]
            )
        return differing


def words_of(dimension: int) -> int:
    return -(-dimension // WORD)


def sign_bits(rows: Vectors, mean: Vector) -> Array:
    """The bits of some rows, shape (words, n): bit i % 64 of word i // 64 is that of number i."""
    bits = np.zeros((len(rows), words_of(rows.shape[1]) * WORD), bool)
    np.greater(rows, mean, out=bits[:, : rows.shape[1]])
    return np.ascontiguousarray(np.packbits(bits, axis=1, bitorder="little").view("<u8").T)
