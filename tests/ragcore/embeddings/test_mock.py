"""The vector that says nothing; the values are those of llama-index-core 0.14.25."""

from __future__ import annotations

import asyncio

import pytest

from ragcore import Document, VectorStoreIndex
from ragcore.embeddings import MockEmbedding
from ragcore.observe import span
from ragcore.text.tokens import count_tokens


def test_every_text_and_question_has_the_same_vector() -> None:
    model = MockEmbedding(embed_dim=3)
    assert (
        model.get_text_embedding("herons").tolist()
        == model.get_query_embedding("").tolist()
        == [0.5, 0.5, 0.5]
    )
    assert model.get_text_embedding_batch(["a", "b"]).tolist() == [[0.5] * 3] * 2
    assert asyncio.run(model.aget_text_embedding("herons")).tolist() == [0.5] * 3
    assert model.get_text_embedding_batch([]).shape == (0, 3)
    assert (model.dimension, model.name) == (3, "mock-3")


def test_an_index_is_built_with_it_and_its_tokens_are_counted() -> None:
    with span("test") as step:
        index = VectorStoreIndex.from_documents(
            [Document("herons fish"), Document("owls")], embed_model=MockEmbedding(8)
        )
    assert step.total_tokens().embedding == count_tokens("herons fish") + count_tokens("owls") == 4
    scores = [found.score for found in index.as_retriever(similarity_top_k=2).retrieve("Who?")]
    assert scores == pytest.approx([1.0, 1.0])


def test_a_vector_has_at_least_one_number() -> None:
    with pytest.raises(ValueError, match="embed_dim is 0"):
        MockEmbedding(0)
