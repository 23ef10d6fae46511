"""Defects of vector search that are known from elsewhere, and are not here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragcore.retrievers.vector import VectorIndexRetriever
from ragcore.schema import Document, QueryBundle, TextNode
from ragcore.vector_stores.base import Candidates
from ragcore.vector_stores.chroma import ChromaVectorStore
from ragcore.vector_stores.memory import MemoryStore
from ragcore.vector_stores.ranking import mmr
from ragcore.vector_stores.search import nearest


class CountingArray(np.ndarray[Any, Any]):
    """An array that counts the products it takes part in, and how many rows are read one by one."""

    products = 0
    rows_read = 0

    def __matmul__(self, other: Any) -> Any:
        type(self).products += 1
        return np.asarray(self) @ other

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, int | np.integer):
            type(self).rows_read += 1
        return super().__getitem__(key)


@pytest.fixture
def counted() -> Any:
    CountingArray.products = CountingArray.rows_read = 0
    rows = np.random.default_rng(0).normal(size=(20_000, 16)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows.view(CountingArray)


def test_d08_nearest_come_from_one_product_without_a_row_loop(counted: Any) -> None:
    query = np.asarray(counted)[7] * 1.0
    places, _ = nearest(counted, query, 10)
    assert (
        places.tolist() == np.argsort(-(np.asarray(counted, np.float64) @ query), kind="stable")[:10].tolist()
    )
    assert CountingArray.products == 1
    assert CountingArray.rows_read == 0


def test_d08_mmr_costs_one_product_a_pick(counted: Any) -> None:
    found = Candidates([str(i) for i in range(20_000)], counted, np.ones(20_000, np.float32))
    places, _ = mmr(found, np.asarray(counted)[7] * 1.0, 10, 0.5)
    assert len(set(places.tolist())) == 10
    assert CountingArray.products == 10
    assert CountingArray.rows_read == 9  # each pick but the last, to compare the others with


def test_d08_a_hundred_thousand_rows_give_the_exact_nearest() -> None:
    rows = np.random.default_rng(1).normal(size=(100_000, 32)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    for query in rows[:3]:
        exact = rows.astype(np.float64) @ query
        places, scores = nearest(rows, query, 10)
        assert places.tolist() == np.argsort(-exact, kind="stable")[:10].tolist()
        assert scores == pytest.approx(exact[places], abs=2e-6)


class Facing:
    """Knows one question, and turns it one way or the other."""

    name = "facing"
    dimension = 2

    def __init__(self, direction: Sequence[float]) -> None:
        self._direction = np.array(direction, np.float32)

    def embed_query(self, text: str) -> Any:
        return self._direction

    def embed_passages(self, texts: Sequence[str]) -> Any:
        return np.tile(self._direction, (len(texts), 1))


def compass() -> MemoryStore:
    store = MemoryStore()
    for name, vector in (
        ("east", [1.0, 0.0]),
        ("north", [0.0, 1.0]),
        ("twin", [1.0, 0.0]),
        ("nothing", [0.0, 0.0]),
    ):
        store.upsert(
            Document(name, id_=name), [TextNode(name, f"{name}/0", embedding=np.array(vector, np.float32))]
        )
    return store


@pytest.mark.parametrize(
    "mode", ["default", "mmr", "svm", "logistic_regression", "linear_regression", "hybrid"]
)
def test_d17_a_question_keeps_no_vector_of_an_index(mode: str) -> None:
    store, bundle = compass(), QueryBundle("wind")
    for direction, nearest_one in (([1.0, 0.0], "east/0"), ([0.0, 1.0], "north/0")):
        retriever = VectorIndexRetriever(store, Facing(direction), 1, vector_store_query_mode=mode)
        assert [hit.node.id_ for hit in retriever.retrieve(bundle)] == [nearest_one]
        assert bundle.embedding is None


@pytest.mark.parametrize("mode", ["default", "mmr"])
def test_d33_zero_vector_scores_0_between_near_and_opposite(mode: str) -> None:
    store = compass()
    store.upsert(
        Document("w", id_="west"), [TextNode("w", "west/0", embedding=np.array([-1, 0], np.float32))]
    )
    options: dict[str, Any] = {"vector_store_query_mode": mode, "mmr_threshold": 1.0}
    found = VectorIndexRetriever(store, Facing([1, 0]), 9, **options).retrieve("wind")
    assert [(hit.node.id_, hit.score) for hit in found] == [
        ("east/0", 1.0),
        ("twin/0", 1.0),
        ("north/0", 0.0),
        ("nothing/0", 0.0),
        ("west/0", -1.0),
    ]
    zero = VectorIndexRetriever(store, Facing([0, 0]), 2, **options).retrieve("wind")
    assert [hit.node.id_ for hit in zero] == ["east/0", "north/0"]
    assert not any(math.isnan(hit.get_score()) for hit in zero)


def test_d33_top_k_0_is_empty_and_documents_and_ties_count() -> None:
    store = compass()
    assert VectorIndexRetriever(store, Facing([1, 0]), 0).retrieve("wind") == []
    found = VectorIndexRetriever(store, Facing([1, 0]), 9, doc_ids=["twin", "north"]).retrieve("wind")
    assert [hit.node.id_ for hit in found] == ["twin/0", "north/0"]
    store.upsert(
        Document("first by name", id_="aaa"), [TextNode("x", "aaa", embedding=np.array([2, 0], np.float32))]
    )
    assert [hit.node.id_ for hit in VectorIndexRetriever(store, Facing([1, 0]), 3).retrieve("wind")] == [
        "east/0",
        "twin/0",
        "aaa",
    ]


def test_d33_each_learner_is_itself() -> None:
    rows = np.random.default_rng(5).normal(size=(25, 4)).astype(np.float32)
    store = MemoryStore()
    nodes = [TextNode("x", str(i), embedding=row) for i, row in enumerate(rows)]
    store.upsert(Document("x", id_="d"), nodes)
    scores = set()
    for mode in ("svm", "logistic_regression", "linear_regression"):
        found = VectorIndexRetriever(store, Facing([0, 0]), 25, vector_store_query_mode=mode).retrieve(
            QueryBundle("wind", embedding=np.ones(4, np.float32))
        )
        scores.add(tuple(hit.score for hit in found))
    assert len(scores) == 3


def test_d39_storing_turns_no_text_of_a_passage_into_json(monkeypatch: pytest.MonkeyPatch) -> None:
    import json

    written: list[str] = []
    real = json.JSONEncoder.encode

    def noted(encoder: json.JSONEncoder, value: Any) -> str:
        written.append(real(encoder, value))
        return written[-1]

    monkeypatch.setattr(json.JSONEncoder, "encode", noted)
    store = MemoryStore()
    store.upsert(
        Document("needle in the text", id_="d"),
        [TextNode("needle in the text", "n", {"k": 1}, embedding=np.ones(2, np.float32))],
    )
    assert written
    assert not any("needle" in text for text in written)


def test_d38_chroma_gives_all_passages_with_own_ids_and_cosines(tmp_path: Path) -> None:
    chromadb = pytest.importorskip("chromadb")
    client = chromadb.PersistentClient(
        path=str(tmp_path), settings=chromadb.config.Settings(anonymized_telemetry=False)
    )
    # squared distances
    store = ChromaVectorStore(chroma_collection=client.get_or_create_collection("quickstart"))
    rows = np.random.default_rng(6).normal(size=(50, 4)).astype(np.float32)
    nodes = [TextNode(f"text {i}", f"passage number {i}", embedding=row) for i, row in enumerate(rows)]
    store.upsert(Document("x", id_="d"), nodes)
    assert [node.id_ for node in store.passages()] == [node.id_ for node in nodes]
    assert store.candidates().ids == [node.id_ for node in nodes]
    (found,) = store.search(np.array([2, 0, 0, 0], np.float32), 1)
    cosines = rows[:, 0] / np.linalg.norm(rows, axis=1)
    assert found.node.id_ == f"passage number {int(cosines.argmax())}"
    assert found.score == pytest.approx(cosines.max(), abs=1e-5)
