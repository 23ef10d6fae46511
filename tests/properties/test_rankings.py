"""Rankings beside another way to come to them, and cases in which a near miss of the rule would give another
order."""

from __future__ import annotations

import numpy as np
import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.llamaindex.indices import SimpleKeywordTableIndex
from ragcore.llamaindex.postprocessor import EmbeddingRecencyPostprocessor
from ragcore.prompts.prompt import Prompt
from ragcore.retrievers import VectorIndexRetriever
from ragcore.schema import Document, NodeWithScore, QueryBundle, TextNode
from ragcore.vector_stores.memory import MemoryStore


def test_a_support_vector_machine_is_the_minimum_of_its_loss() -> None:
    """L2 of weights and intercept, and C = 0.1 times the squared hinge, each class with the same weight in
    all."""
    from scipy.optimize import minimize  # type: ignore[import-untyped]

    rows = np.random.default_rng(7).normal(size=(20, 5)).astype(np.float32)
    query = np.random.default_rng(8).normal(size=5).astype(np.float32)
    store = MemoryStore()
    nodes = [TextNode(f"text {place}", str(place), embedding=row) for place, row in enumerate(rows)]
    store.upsert(Document("text", "d"), nodes)
    retriever = VectorIndexRetriever(store, HashEmbedding(5), 20, vector_store_query_mode="svm")
    found = retriever.retrieve(QueryBundle("text", embedding=query))

    x = np.vstack([query / np.linalg.norm(query), rows / np.linalg.norm(rows, axis=1, keepdims=True)]).astype(
        float
    )
    sides = np.array([1.0] + [-1.0] * 20)
    weights = np.array([21 / 2] + [21 / 40] * 20)

    def loss(w: np.ndarray) -> float:
        hinge = np.maximum(0, 1 - sides * (x @ w[:5] + w[5]))
        return float(w @ w / 2 + 0.1 * (weights * hinge**2).sum())

    best = minimize(loss, np.zeros(6), tol=1e-12).x
    expected = x[1:] @ best[:5] + best[5]
    assert [int(hit.node.id_) for hit in found] == np.argsort(-expected).tolist()
    assert [hit.score for hit in found] == pytest.approx(np.sort(expected)[::-1].tolist(), abs=1e-3)


class Directed(HashEmbedding):
    """A text is an angle in degrees."""

    def _embed(self, texts: object, step: object, *, is_query: bool) -> np.ndarray:  # type: ignore[override]
        angles = np.deg2rad([float(text) for text in texts])  # type: ignore[attr-defined]
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def test_an_old_passage_that_is_like_a_repeated_one_alone_stays() -> None:
    """60 degrees is as 30, which repeats 0; but it is not as 0, so nothing newer that stays says it."""
    years = {"0": 2023, "30": 2022, "60": 2021, "65": 2020}
    hidden = ("date",)
    found = [
        NodeWithScore(TextNode(text, text, {"date": f"{year}-01-01"}, excluded_embed_metadata_keys=hidden))
        for text, year in years.items()
    ]
    processor = EmbeddingRecencyPostprocessor(Directed(2), similarity_cutoff=0.7)
    assert [hit.node.id_ for hit in processor.postprocess_nodes(found)] == ["0", "60"]


def test_later_passage_with_more_query_words_ranks_first() -> None:
    texts = ["herons fly", "herons eat fish", "herons eat fish in lakes", "herons"]
    nodes = [TextNode(text, str(place)) for place, text in enumerate(texts)]
    index = SimpleKeywordTableIndex(nodes, embed_model=HashEmbedding(8))
    found = index.as_retriever().retrieve("herons fish lakes")
    assert [(hit.node.id_, hit.score) for hit in found] == [("2", 3.0), ("1", 2.0), ("0", 1.0), ("3", 1.0)]


def test_a_later_value_overrides_a_partial_one() -> None:
    from ragcore import PromptTemplate

    template = PromptTemplate("{tone}: {query_str}").partial_format(tone="calm")
    assert template.format(query_str="why?") == "calm: why?"
    assert template.format(query_str="why?", tone="loud") == "loud: why?"
    assert isinstance(template, Prompt)
