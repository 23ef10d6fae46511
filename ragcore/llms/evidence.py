"""What the answerer without a model goes by: closeness of meaning from the embedder, and words in common."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ragcore.embeddings.base import Embedder
from ragcore.text.quotes import Quote
from ragcore.text.relevance import UNRELATED, idf_shares, log_odds, measure, unrelated_cosine

if TYPE_CHECKING:
    import numpy.typing as npt

    from ragcore.schema import Vector, Vectors

CACHED_VECTORS = 4096  # sentences; about 6 MB at 384 numbers each


class Evidence:
    """One embedder's, with the vectors of the latest texts kept. Safe to share between threads."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._vectors: OrderedDict[str, npt.NDArray[np.float32]] = OrderedDict()
        self._lock = threading.Lock()

    def odds(self, query: str, quotes: Sequence[Quote]) -> npt.NDArray[np.float64]:
        """(n,): the log odds of each quote being the answer against there being none."""
        if not quotes:
            return np.zeros(0)
        asked = self.embedder.embed_query(query)
        vectors = self.embed([quote.read_with_lead for quote in quotes])
        return log_odds(measure(query, asked, quotes, vectors, floor=self._floor))

    def near(self, query: str, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """(n,), 0 to 1: half closeness of meaning, half the share of the query's words, the rare ones counting more."""
        if not texts:
            return np.zeros(0)
        words: npt.NDArray[np.float64] = idf_shares(query, texts).sum(axis=1)
        return (self._closeness(self.embedder.embed_query(query), texts) + words) / 2

    def alike(self, text: str, others: Sequence[str]) -> npt.NDArray[np.float64]:
        """(n,), 0 to 1: how close in meaning the text is to each of the others. It is no question, but one of their kind."""
        return self._closeness(self.embed([text])[0], others)

    def _closeness(self, vector: Vector, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Cosines, counted from that of texts which have nothing to do with each other."""
        cosines = self.embed(texts) @ vector  # (n, d) @ (d,) -> (n,)
        return np.asarray(np.clip((cosines - self._floor) / (1 - self._floor), 0.0, 1.0), dtype=np.float64)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, d); at least one text."""
        with self._lock:
            known = {text: self._vectors[text] for text in texts if text in self._vectors}
        fresh = [text for text in dict.fromkeys(texts) if text not in known]
        if fresh:
            known.update(zip(fresh, self.embedder.embed_passages(fresh), strict=True))
        with self._lock:
            for text in texts:
                self._vectors[text] = known[text]
                self._vectors.move_to_end(text)
            while len(self._vectors) > CACHED_VECTORS:
                self._vectors.popitem(last=False)
        return np.stack([known[text] for text in texts])

    @cached_property
    def _floor(self) -> float:
        return unrelated_cosine(self.embedder.embed_passages(UNRELATED))
