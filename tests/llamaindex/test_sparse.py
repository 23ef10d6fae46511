"""Sparse embeddings of a script's own, and of tests."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from ragcore.llamaindex.embeddings import BaseSparseEmbedding, MockSparseEmbedding
from ragcore.llamaindex.embeddings.sparse import SparseEmbedding, sparse_similarity


class Letters(BaseSparseEmbedding):
    def _get_text_embedding(self, text: str) -> SparseEmbedding:
        return {place: float(text.count(letter)) for place, letter in enumerate("abc") if letter in text}

    def _get_query_embedding(self, query: str) -> SparseEmbedding:
        return {0: 1.0} if "a" in query else {}


def dense(vector: SparseEmbedding) -> np.ndarray:
    return np.array([vector.get(place, 0.0) for place in range(3)])


def test_texts_and_questions_have_their_own_vectors() -> None:
    model = Letters()
    assert model.get_text_embedding_batch(["abba", "c"]) == [{0: 2.0, 1: 2.0}, {2: 1.0}]
    assert asyncio.run(model.aget_text_embedding("abba")) == model.get_text_embedding("abba")
    assert (model.get_query_embedding("banana"), asyncio.run(model.aget_query_embedding("c"))) == (
        {0: 1.0},
        {},
    )
    assert model.get_agg_embedding_from_queries(["a", "c"]) == {0: 0.5}
    assert asyncio.run(model.aget_agg_embedding_from_queries([])) == {}


def test_the_similarity_is_the_cosine_of_the_dense_vectors() -> None:
    one, other = Letters().get_text_embedding("abba"), Letters().get_text_embedding("cab")
    cosine = dense(one) @ dense(other) / (np.linalg.norm(dense(one)) * np.linalg.norm(dense(other)))
    assert Letters().similarity(one, other) == sparse_similarity(other, one) == pytest.approx(cosine)
    assert sparse_similarity(one, {}) == sparse_similarity({0: 0.0}, one) == 0.0


def test_the_mock_has_the_vectors_of_a_table() -> None:
    model = MockSparseEmbedding(text_to_embedding={"boat": {4: 0.5}})
    assert (model.get_text_embedding("boat"), model.get_query_embedding("gull")) == ({4: 0.5}, {0: 1.0})
