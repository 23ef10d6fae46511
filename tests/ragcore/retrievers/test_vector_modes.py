"""The rankings of a vector retriever, beside plain loops over the same vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ragcore import SummaryIndex, VectorStoreIndex
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import DimensionError
from ragcore.retrievers.hybrid import HybridRetriever
from ragcore.retrievers.vector import VectorIndexRetriever
from ragcore.schema import Document, NodeWithScore, QueryBundle, TextNode
from ragcore.vector_stores.base import Store
from ragcore.vector_stores.filters import MetadataFilter, MetadataFilters
from ragcore.vector_stores.memory import MemoryStore
from ragcore.vector_stores.query_modes import VectorStoreQueryMode

MODES = [
    "default",
    "mmr",
    "svm",
    "logistic_regression",
    "linear_regression",
    "sparse",
    "text_search",
    "hybrid",
]


def store_of(rows: Sequence[Sequence[float]]) -> MemoryStore:
    """One document a row: d0, d1, ... with the passages 0, 1, ..."""
    store = MemoryStore()
    for i, row in enumerate(rows):
        node = TextNode(f"text {i}", str(i), {"i": i}, embedding=np.array(row, np.float32))
        store.upsert(Document(f"text {i}", id_=f"d{i}"), [node])
    return store


def ask(store: Store, vector: Sequence[float], top_k: int = 2, **options: Any) -> list[NodeWithScore]:
    retriever = VectorIndexRetriever(store, HashEmbedding(8), top_k, **options)
    return retriever.retrieve(QueryBundle("text", embedding=np.array(vector, np.float32)))


def places(found: Sequence[NodeWithScore]) -> list[int]:
    return [int(hit.node.id_) for hit in found]


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    lengths = math.hypot(*a) * math.hypot(*b)
    return round(sum(x * y for x, y in zip(a, b, strict=True)) / lengths, 6) if lengths else 0.0


def mmr_gains(query: list[float], rows: list[list[float]], taken: list[int], t: float) -> dict[int, float]:
    """What each of the rows that are not taken would bring."""
    left = [place for place in range(len(rows)) if place not in taken]
    like = {place: max((cosine(rows[place], rows[other]) for other in taken), default=0.0) for place in left}
    return {place: t * cosine(query, rows[place]) - (1 - t) * like[place] for place in left}


def mmr_by_hand(query: list[float], rows: list[list[float]], t: float) -> list[int]:
    taken = [max(range(len(rows)), key=lambda place: cosine(query, rows[place]))]
    while len(taken) < len(rows):
        gains = mmr_gains(query, rows, taken, t)
        taken.append(max(gains, key=lambda place: gains[place]))
    return taken


def test_mmr_takes_the_near_and_then_the_near_and_new() -> None:
    rows = [[4.0, 3.0, 0.0], [3.0, 4.0, 0.0], [-4.0, 3.0, 0.0]]
    found = ask(store_of(rows), [5.0, 0.0, 0.0], 3, vector_store_query_mode="mmr", mmr_threshold=0.8)
    assert places(found) == [0, 1, 2]
    assert [hit.score for hit in found] == pytest.approx([0.64, 0.288, -0.64])
    near_twins = [[1.0, 0.0, 0.0], [0.99, 0.01, 0.0], [0.6, 0.0, 0.8]]
    assert places(ask(store_of(near_twins), [1.0, 0.0, 0.3], 2, vector_store_query_mode="mmr")) == [0, 2]


def test_mmr_compares_with_all_chosen_passages_not_only_the_last() -> None:
    # After 0 and 1, passage 3 is far from 1 alone: its likeness to 0, taken before, costs it the third place.
    rows = [[2.0, 1.0], [3.0, -4.0], [3.0, -4.0], [0.0, 2.0]]
    found = ask(store_of(rows), [5.0, 0.0], 4, vector_store_query_mode="mmr", mmr_threshold=0.5)
    assert places(found) == [0, 1, 2, 3]


# 0 and 2 bring the same
@example([[0.0, 0.0, 1.0], [-1.0, 2.0, -1.0], [-2.0, -1.0, 2.0]], [1.0, -1.0, -2.0], 2, 0.5)
@given(
    st.lists(st.lists(st.integers(-3, 3).map(float), min_size=3, max_size=3), min_size=1, max_size=7),
    st.lists(st.integers(-3, 3).map(float), min_size=3, max_size=3),
    st.integers(0, 8),
    st.sampled_from([0.0, 0.25, 0.5, 1.0]),
)
def test_mmr_is_what_a_plain_loop_gives(
    rows: list[list[float]], query: list[float], k: int, t: float
) -> None:
    found = ask(store_of(rows), query, k, vector_store_query_mode="mmr", mmr_threshold=t)
    assert len(set(places(found))) == len(found) == min(k, len(rows))
    for at, (place, hit) in enumerate(zip(places(found), found, strict=True)):
        gains = mmr_gains(query, rows, places(found)[:at], t)
        # the first is the nearest, also where t is 0
        best = gains if at else {row: cosine(query, rows[row]) for row in gains}
        assert best[place] == pytest.approx(max(best.values()), abs=3e-6)  # of equal ones either
        assert hit.score == pytest.approx(gains[place], abs=3e-6)


def test_mmr_threshold_may_be_0_and_may_be_a_store_option() -> None:
    rows = np.random.default_rng(0).normal(size=(12, 8)).tolist()
    store, query = store_of(rows), rows[3]
    plain = places(ask(store, query, 12))
    mmr: dict[str, Any] = {"vector_store_query_mode": "mmr"}
    assert places(ask(store, query, 12, **mmr, mmr_threshold=1.0)) == plain
    for options in ({"mmr_threshold": 0.0}, {"vector_store_kwargs": {"mmr_threshold": 0.0}}):
        assert places(ask(store, query, 12, **mmr, **options)) == mmr_by_hand(query, rows, 0.0)
    assert places(ask(store, query, 12, **mmr)) == mmr_by_hand(query, rows, 0.5)
    with pytest.raises(ValueError, match=r"from 0 to 1, not 1\.5"):
        ask(store, query, **mmr, mmr_threshold=1.5)
    with pytest.raises(ValueError, match="mmr_treshold"):
        ask(store, query, **mmr, vector_store_kwargs={"mmr_treshold": 0.5})


def test_similarity_may_be_dot_product_or_distance_of_raw_rows() -> None:
    rows = [[1.0, 0.0], [3.0, 3.0], [0.0, 0.0], [-9.0, 1.0]]
    store = store_of(rows)
    assert [(hit.node.id_, hit.score) for hit in ask(store, [2.0, 0.0], 4, similarity="dot_product")] == [
        ("1", 6.0),
        ("0", 2.0),
        ("2", 0.0),
        ("3", -18.0),
    ]
    found = ask(store, [2.0, 0.0], 4, similarity="euclidean")
    assert places(found) == [0, 2, 1, 3]
    assert [hit.score for hit in found] == pytest.approx(
        [-1.0, -2.0, -math.dist([3, 3], [2, 0]), -math.dist([-9, 1], [2, 0])]
    )


@pytest.mark.parametrize("size", [1e-9, 1e-4, 1.0, 1e9])
def test_vectors_of_any_size_keep_their_order(size: float) -> None:
    store = store_of([[0.0, size], [size, 0.0], [2 * size, 0.0], [0.0, size]])
    query = [2 * size, 0.0]
    product = ask(store, query, 4, similarity="dot_product")
    assert places(product) == [2, 1, 0, 3]
    assert [hit.score for hit in product] == pytest.approx([4 * size**2, 2 * size**2, 0.0, 0.0], rel=1e-6)
    distance = ask(store, query, 4, similarity="euclidean")
    assert places(distance) == [2, 1, 0, 3]
    assert [hit.score for hit in distance] == pytest.approx(
        [0.0, -size, *[-math.hypot(2, 1) * size] * 2], rel=1e-6
    )
    mmr: dict[str, Any] = {"vector_store_query_mode": "mmr", "mmr_threshold": 0.9}
    assert places(ask(store, query, 4, similarity="dot_product", **mmr)) == [2, 1, 0, 3]


def test_short_vectors_stay_in_order_next_to_a_long_one() -> None:
    store = store_of([[1e-5, 0.0], [2e-5, 0.0], [1e6, 0.0]])
    assert places(ask(store, [1.0, 0.0], 3, similarity="dot_product")) == [2, 1, 0]


@pytest.mark.parametrize("similarity", ["dot_product", "euclidean"])
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_equal_products_and_distances_rank_by_insertion(similarity: str, size: float) -> None:
    # at a whole distance from a row of ones
    numbers = np.random.default_rng(6).permutation([4.0, -2.0] * 32) * size
    others = [(numbers * share).tolist() for share in (1e4, 1e-4)]
    alike = [np.roll(numbers, turn).tolist() for turn in range(40)]  # one sum, in another order of its terms
    found = ask(store_of([*others, *alike]), np.full(64, size).tolist(), 42, similarity=similarity)
    assert [place for place in places(found) if place > 1] == list(range(2, 42))


def test_mmr_uses_the_requested_similarity() -> None:
    rows = [[1.0, 0.0], [1.0, 0.1], [3.0, 3.0]]
    first = {"cosine": 0, "dot_product": 2, "euclidean": 0}
    for similarity, place in first.items():
        found = ask(store_of(rows), [1.0, 0.0], 1, vector_store_query_mode="mmr", similarity=similarity)
        assert places(found) == [place]


@pytest.mark.parametrize("mode", ["svm", "logistic_regression", "linear_regression"])
def test_a_classifier_prefers_what_is_on_the_questions_side(mode: str) -> None:
    rows = np.random.default_rng(1).normal(size=(40, 8))
    rows[17] = [5, 0.1, 0, 0, 0, 0, 0, 0]
    found = ask(store_of(rows.tolist()), [1.0] + [0.0] * 7, 3, vector_store_query_mode=mode)
    assert places(found)[0] == 17
    scores = [hit.get_score() for hit in found]
    assert scores == sorted(scores, reverse=True)


def test_each_mode_uses_its_own_classifier() -> None:
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

    rows = np.random.default_rng(2).normal(size=(30, 8)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    query = np.random.default_rng(3).normal(size=8)
    scores = {
        mode: {
            hit.node.id_: hit.score
            for hit in ask(store_of(rows.tolist()), query.tolist(), 30, vector_store_query_mode=mode)
        }
        for mode in ("svm", "logistic_regression", "linear_regression")
    }
    stacked = np.vstack([query / np.linalg.norm(query), rows])
    weights = {1: 31 / 2, 0: 31 / 60}
    fitted = LogisticRegression(class_weight=weights).fit(stacked, [1] + [0] * 30)
    logits = stacked[1:] @ fitted.coef_[0] + fitted.intercept_[0]
    assert [scores["logistic_regression"][str(i)] for i in range(30)] == pytest.approx(
        logits.tolist(), abs=1e-3
    )
    # Weighted least squares with L2 on what is centred by the weighted means, solved as a linear system.
    w = np.array([weights[1]] + [weights[0]] * 30)
    y = np.array([1.0] + [0.0] * 30)
    centre, mean = (w @ stacked) / w.sum(), (w @ y) / w.sum()
    x = stacked - centre
    coefficients = np.linalg.solve(x.T @ (w[:, None] * x) + np.eye(8), x.T @ (w * (y - mean)))
    expected = (stacked[1:] - centre) @ coefficients + mean
    assert [scores["linear_regression"][str(i)] for i in range(30)] == pytest.approx(
        expected.tolist(), abs=1e-5
    )
    assert len({tuple(sorted(each.items())) for each in scores.values()}) == 3


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_stays_within_documents_passages_and_filters(mode: str) -> None:
    rows = np.random.default_rng(4).normal(size=(10, 8))
    store = store_of(rows.tolist())
    limits: list[tuple[dict[str, Any], set[int]]] = [
        ({"document_ids": ["d1", "d5"]}, {1, 5}),
        ({"doc_ids": ["d1", "d5"]}, {1, 5}),
        ({"node_ids": ["2", "gone"]}, {2}),
        ({"filters": MetadataFilters([MetadataFilter("i", 7, ">")])}, {8, 9}),
        ({"document_ids": []}, set()),
        ({"node_ids": []}, set()),
        ({"node_ids": ["1", "2", "3"], "doc_ids": ["d2", "d3", "d4"]}, {2, 3}),
    ]
    for limit, expected in limits:
        assert (
            set(places(ask(store, rows[0].tolist(), 10, vector_store_query_mode=mode, **limit))) == expected
        ), limit
    assert ask(store, rows[0].tolist(), 0, vector_store_query_mode=mode) == []
    assert ask(MemoryStore(), rows[0].tolist(), 3, vector_store_query_mode=mode) == []
    assert all(
        hit.node.embedding is None for hit in ask(store, rows[0].tolist(), 3, vector_store_query_mode=mode)
    )


def test_words_alone_words_and_vectors_and_their_shares() -> None:
    embedder = HashEmbedding(64)
    store = MemoryStore()
    for i, text in enumerate(["red fish swim", "blue boats", "red boats sail far", "a lake"]):
        store.upsert(
            Document(text, id_=str(i)), [TextNode(text, f"n{i}", embedding=embedder.embed_query(text))]
        )

    def found(**options: Any) -> list[tuple[str, float | None]]:
        return [
            (hit.node.id_, hit.score)
            for hit in VectorIndexRetriever(store, embedder, 3, **options).retrieve("red boats")
        ]

    words = [(hit.node.id_, hit.score) for hit in store.keyword_search("red boats", 9)]
    assert (
        found(vector_store_query_mode="sparse") == found(vector_store_query_mode="text_search") == words[:3]
    )
    assert found(vector_store_query_mode="sparse", sparse_top_k=1) == words[:1]
    both = [
        (hit.node.id_, hit.score)
        for hit in HybridRetriever(store, embedder, 3, cosine_share=0.25).retrieve("red boats")
    ]
    assert found(vector_store_query_mode="hybrid", alpha=0.25) == both
    assert found(vector_store_query_mode="hybrid", alpha=0.25, hybrid_top_k=2) == both[:2] != both
    assert len(found(hybrid_top_k=2)) == 3, "for the mode hybrid alone"
    nearest = [hit.node.id_ for hit in store.search(embedder.embed_query("red boats"), 3)]
    assert [id_ for id_, _ in found(vector_store_query_mode="hybrid", alpha=1.0)] == nearest


def test_sparse_top_k_is_the_candidates_per_side_of_hybrid() -> None:
    passages = {
        "a": ("far", 1.0),
        "b": ("far", 0.99),
        "c": ("red fish and more", 0.9),
        "d": ("red", 0.0),
        "e": ("red", 0.0),
    }
    store = MemoryStore()
    for id_, (text, near) in passages.items():
        vector = np.array([near, math.sqrt(1 - near**2)], np.float32)
        store.upsert(Document(text, id_=id_), [TextNode(text, id_, embedding=vector)])

    def best(sparse_top_k: int | None) -> str:
        options: dict[str, Any] = {"vector_store_query_mode": "hybrid", "sparse_top_k": sparse_top_k}
        retriever = VectorIndexRetriever(store, HashEmbedding(2), 1, **options)
        return retriever.retrieve(QueryBundle("red", embedding=np.array([1, 0], np.float32)))[0].node.id_

    assert [best(None), best(3), best(2)] == ["c", "c", "a"]  # third on both sides, and first together


@dataclass
class Index:
    store: Store
    embed_model: HashEmbedding


def test_an_index_may_stand_for_its_store_and_embedder() -> None:
    embedder = HashEmbedding(64)
    store = MemoryStore()
    for text in ("red fish", "blue boat"):
        store.upsert(Document(text, id_=text), [TextNode(text, text, embedding=embedder.embed_query(text))])
    index = Index(store, embedder)
    assert VectorIndexRetriever(index=index, similarity_top_k=1).retrieve("boat")[0].node.id_ == "blue boat"
    with pytest.raises(DimensionError):
        VectorIndexRetriever(index=index, embed_model=HashEmbedding(32)).retrieve("boat")


def test_a_vector_index_gives_a_retriever_of_any_kind() -> None:
    rows = {"a": [1.0, 0.0], "b": [3.0, 3.0], "c": [1.0, 0.1]}
    nodes = [TextNode("text", id_, embedding=np.array(row, np.float32)) for id_, row in rows.items()]
    index = VectorStoreIndex(nodes, embed_model=HashEmbedding(2))
    bundle = QueryBundle("text", embedding=np.array([1, 0], np.float32))
    mmr = VectorStoreQueryMode.MMR
    for retriever, expected in (
        (index.as_retriever(1), "a"),
        (index.as_retriever(1, similarity="dot_product"), "b"),
        (index.as_retriever(2, vector_store_query_mode=mmr, mmr_threshold=1.0), "ac"),
        (index.as_retriever(2, vector_store_query_mode=mmr, mmr_threshold=0.0), "ab"),
    ):
        assert [hit.node.id_ for hit in retriever.retrieve(bundle)] == list(expected)


def test_impossible_arguments_are_reported_at_once() -> None:
    store = store_of([[1.0, 0.0]])
    for options, message in (
        ({"vector_store_query_mode": "nearest"}, "'nearest' is not a valid"),
        ({"vector_store_query_mode": "semantic_hybrid"}, "no store here has the mode"),
        ({"similarity": "manhattan"}, "not 'manhattan'"),
        ({"document_ids": ["a"], "doc_ids": ["a"]}, "two names of one argument"),
        ({"vector_store_query_mode": "hybrid", "alpha": 5}, "alpha must be from 0 to 1, not 5"),
        ({"filters": [MetadataFilter("i", 1)]}, r"a list is no filter: MetadataFilters\(\[\.\.\.\]\)"),
    ):
        with pytest.raises(ValueError, match=message):
            VectorIndexRetriever(store, HashEmbedding(8), **options)
    with pytest.raises(ValueError, match="a SummaryIndex has no vectors to search"):
        VectorIndexRetriever(SummaryIndex([], embed_model=HashEmbedding(8)))  # type: ignore[arg-type]
