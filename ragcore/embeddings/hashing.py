"""Word-count vectors by feature hashing (Weinberger et al. 2009, https://arxiv.org/abs/0902.2206).

They need no model and no network and are the same on every machine, as tests and first runs need. Texts are
near each other if they share words.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from ragcore.embeddings.base import BaseEmbedding
from ragcore.observe import Span
from ragcore.schema import Vectors
from ragcore.text.keywords import content_words


class HashEmbedding(BaseEmbedding):
    """Each content word adds 1 or -1 to one of `dimension` numbers. A text without words is the first axis.

    >>> embedder = HashEmbedding()
    >>> round(
    ...     embedder.similarity(embedder.embed_query("red boats"), embedder.embed_query("the boat is red")), 2
    ... )
    1.0
    """

    def __init__(self, dimension: int = 256) -> None:
        if dimension < 1:
            raise ValueError(f"dimension is {dimension}; it must be at least 1.")
        self._dimension = dimension

    @property
    def name(self) -> str:
        return f"hash-{self.dimension}"

    @property
    def dimension(self) -> int:
        return self._dimension

    def _embed(self, texts: Sequence[str], step: Span, *, is_query: bool) -> Vectors:
        import numpy as np

        rows = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in content_words(text):
                # crc32 and not hash(): hash() is salted anew in each process.
                code = zlib.crc32(word.encode("utf-8", "surrogatepass"))
                row[(code >> 1) % self.dimension] += 1.0 if code & 1 else -1.0
            if not row.any():
                row[0] = 1.0
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows
