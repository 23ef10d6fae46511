"""Cosines of texts to a question, with a cache of their vectors."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from ragcore.embeddings.base import Embedder, query_vector
from ragcore.schema import QueryBundle, Vector

CACHED = 20_000  # vectors; about 30 MB at 384 numbers each


class Nearest:
    """Safe to share between threads."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: OrderedDict[str, Vector] = OrderedDict()
        self._lock = threading.Lock()

    def cosines(self, query: QueryBundle, texts: Sequence[str]) -> list[float]:
        """One for each text, -1 to 1."""
        if not texts:
            return []
        rows = np.stack(self._vectors(texts))  # (n, d), each of length 1
        vector = query_vector(self._embedder, query)
        return [float(cosine) for cosine in rows @ vector / max(float(np.linalg.norm(vector)), 1e-12)]

    def best(self, query: QueryBundle, texts: Sequence[str], top_k: int) -> list[tuple[int, float]]:
        """(place from 0, cosine) of the `top_k` nearest, best first, ties in their order."""
        cosines = self.cosines(query, texts)
        places = sorted(range(len(texts)), key=lambda place: -cosines[place])[: max(top_k, 0)]
        return [(place, cosines[place]) for place in places]

    def _vectors(self, texts: Sequence[str]) -> list[Vector]:
        with self._lock:
            known = {text: self._known[text] for text in texts if text in self._known}
        fresh = [text for text in dict.fromkeys(texts) if text not in known]
        if fresh:
            known.update(zip(fresh, self._embedder.embed_passages(fresh), strict=True))
        with self._lock:
            for text in fresh:
                self._known[text] = known[text]
            while len(self._known) > CACHED:
                self._known.popitem(last=False)
        return [known[text] for text in texts]
