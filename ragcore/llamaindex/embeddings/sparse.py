"""Sparse embeddings: a text as a few weights by their places in a large vocabulary."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from ragcore.concurrency import awaitable
from ragcore.schema import Fields

SparseEmbedding: TypeAlias = dict[int, float]


def sparse_similarity(a: Mapping[int, float], b: Mapping[int, float]) -> float:
    """The cosine, -1 to 1; 0 if a vector is all zeros."""
    lengths = math.hypot(*a.values()) * math.hypot(*b.values())
    return sum(weight * b[place] for place, weight in a.items() if place in b) / lengths if lengths else 0.0


class BaseSparseEmbedding(Fields, ABC):
    """Subclasses have `_get_text_embedding` and, if questions are embedded differently,
    `_get_query_embedding`.

    >>> class Lengths(BaseSparseEmbedding):
    ...     def _get_text_embedding(self, text):
    ...         return {len(word): 1.0 for word in text.split()}
    >>> Lengths().get_text_embedding("A red boat")
    {1: 1.0, 3: 1.0, 4: 1.0}
    """

    similarity = staticmethod(sparse_similarity)

    @abstractmethod
    def _get_text_embedding(self, text: str) -> SparseEmbedding: ...

    def _get_query_embedding(self, query: str) -> SparseEmbedding:
        return self._get_text_embedding(query)

    def get_text_embedding(self, text: str) -> SparseEmbedding:
        return self._get_text_embedding(text)

    def get_query_embedding(self, query: str) -> SparseEmbedding:
        return self._get_query_embedding(query)

    def get_text_embedding_batch(self, texts: Sequence[str]) -> list[SparseEmbedding]:
        return [self._get_text_embedding(text) for text in texts]

    def get_agg_embedding_from_queries(self, queries: Sequence[str]) -> SparseEmbedding:
        """The mean vector of several questions; {} for none."""
        rows = [self._get_query_embedding(query) for query in queries]
        places = dict.fromkeys(place for row in rows for place in row)
        return {place: sum(row.get(place, 0.0) for row in rows) / len(rows) for place in places}

    aget_text_embedding = awaitable(get_text_embedding)
    aget_query_embedding = awaitable(get_query_embedding)
    aget_text_embedding_batch = awaitable(get_text_embedding_batch)
    aget_agg_embedding_from_queries = awaitable(get_agg_embedding_from_queries)


class MockSparseEmbedding(BaseSparseEmbedding):
    """The vectors of `text_to_embedding`, and `default_embedding` for other texts.

    >>> MockSparseEmbedding(text_to_embedding={"boat": {4: 0.5}}).get_text_embedding("boat")
    {4: 0.5}
    """

    default_embedding: Mapping[int, float] = MappingProxyType({0: 1.0})
    text_to_embedding: Mapping[str, SparseEmbedding] = MappingProxyType({})

    def _get_text_embedding(self, text: str) -> SparseEmbedding:
        return dict(self.text_to_embedding.get(text, self.default_embedding))
