"""What every store promises, checked on all of them against plain dicts and brute force."""

from __future__ import annotations

import hashlib
import math
import operator
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from ragcore.errors import DimensionError, UnknownDocumentError
from ragcore.schema import Document, IndexNode, NodeWithScore, Page, Template, TextNode
from ragcore.sql.postgres import PostgresDatabase
from ragcore.sql.sqlite import SQLiteDatabase
from ragcore.text.keywords import content_words
from ragcore.vector_stores.base import Scope, Store
from ragcore.vector_stores.chroma import ChromaVectorStore
from ragcore.vector_stores.disk import SCHEMA, DiskStore
from ragcore.vector_stores.filters import FilterOperator, MetadataFilter, MetadataFilters
from ragcore.vector_stores.memory import MemoryStore
from ragcore.vector_stores.postgres import PostgresStore
from ragcore.vector_stores.postgres_schema import SCHEMA as POSTGRES_SCHEMA
from ragcore.vector_stores.types import LlamaIndexMethods
from tests import chroma, postgres

Open = Callable[[Path], Store]

ROOT = Path(__file__).parents[2]

ONE_VALUE = ["==", "!=", ">", "<", ">=", "<=", "contains", "text_match", "text_match_insensitive", "is_empty"]


def open_memory(folder: Path) -> Store:
    return MemoryStore()


def open_disk(folder: Path) -> Store:
    return DiskStore(SQLiteDatabase(folder / "library.db", SCHEMA), vectors=folder / "vectors")


def open_chroma(folder: Path) -> Store:
    return ChromaVectorStore.from_params("passages", persist_dir=str(folder))


def open_chroma_server(folder: Path) -> Store:
    collection = hashlib.sha256(str(folder).encode()).hexdigest()[:32]
    return ChromaVectorStore.from_params(collection, host="127.0.0.1", port=chroma.server())


def open_postgres(folder: Path) -> Store:
    return PostgresStore(PostgresDatabase(postgres.library(folder), POSTGRES_SCHEMA))


def closed(store: Store) -> None:
    store.close()
    if isinstance(store, DiskStore | PostgresStore):
        store._database.close()


STORES: dict[str, Open] = {
    "memory": open_memory,
    "disk": open_disk,
    "chroma": open_chroma,
    "chroma-server": open_chroma_server,
    "postgres": open_postgres,
}
# sequences that hypothesis tries
# random sequences of changes for each 100 examples of a property
SEQUENCES = {"memory": 60, "disk": 40, "chroma": 5, "chroma-server": 2, "postgres": 8}
LASTING = {kind: STORES[kind] for kind in STORES if kind != "memory"}
# a Chroma collection is for one writing process
SHARED = {kind: STORES[kind] for kind in ("disk", "postgres")}


@pytest.fixture(params=STORES.values(), ids=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened = request.param(tmp_path)
    yield opened
    closed(opened)


def vectors(count: int, width: int = 8, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=(count, width)).astype(np.float32)


def document(id_: str, text: str = "", **metadata: str | int | float | bool | None) -> Document:
    return Document(text or f"The text of {id_}.", id_=id_, metadata=metadata)


def cut(source: Document, rows: Any, size: int = 10) -> list[TextNode]:
    """One passage per row, `size` characters each, linked as a splitter links them."""
    ids = [None, *(f"{source.id_}/{i}" for i in range(len(rows))), None]
    return [
        TextNode(
            text=source.text[i * size : (i + 1) * size],
            id_=str(ids[i + 1]),
            metadata=source.metadata,
            ref_doc_id=source.id_,
            start_char_idx=i * size,
            end_char_idx=i * size + len(source.text[i * size : (i + 1) * size]),
            prev_id=ids[i],
            next_id=ids[i + 2],
            embedding=row,
        )
        for i, row in enumerate(rows)
    ]


def passage(id_: str, text: str, vector: list[float] | None = None) -> tuple[Document, list[TextNode]]:
    """A document of one passage."""
    source = Document(text, id_=id_)
    return source, [
        TextNode(text, id_=f"{id_}/0", ref_doc_id=id_, embedding=np.array(vector or [1.0, 0.0], np.float32))
    ]


def fields(node: TextNode) -> dict[str, Any]:
    return {name: getattr(node, name) for name in TextNode.__dataclass_fields__ if name != "embedding"}


def ids(found: list[NodeWithScore]) -> list[str]:
    return [hit.node.id_ for hit in found]


def typed(metadata: Any) -> list[tuple[str, type, Any]]:
    return [(key, type(value), value) for key, value in metadata.items()]


# --- search -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 3, 100, 1000])
def test_search_matches_brute_force_passages_and_cosines(store: Store, count: int) -> None:
    source = document("a", "x" * 10 * count)
    rows = vectors(count)
    store.upsert(source, cut(source, rows))
    for query in vectors(5, seed=1):
        cosines = [
            float(row @ query) / math.dist(row, [0] * 8) / math.dist(query, [0] * 8)
            for row in rows.astype(float)
        ]
        expected = sorted(range(count), key=lambda i: -cosines[i])[:10]
        found = store.search(query, 10)
        assert ids(found) == [f"a/{i}" for i in expected]
        assert [hit.score for hit in found] == pytest.approx([cosines[i] for i in expected], abs=1e-5)


def test_equal_vectors_rank_in_order_of_insertion(store: Store) -> None:
    rows = vectors(700, width=13)
    places = [5, 6, 7, 64, 333, 691, 699]
    rows[places] = rows[5]
    for start in range(0, 700, 100):
        source = document(f"d{start // 100}", "x" * 1000)
        store.upsert(source, cut(source, rows[start : start + 100]))
    expected = [f"d{place // 100}/{place % 100}" for place in places]
    for count in range(1, 8):
        found = store.search(rows[5], count)
        assert ids(found) == expected[:count]
        assert all(1 - 1e-6 < (hit.score or 0) <= 1.0 for hit in found)


def test_nearly_equal_vectors_rank_correctly(store: Store) -> None:
    angles = np.random.default_rng(0).permutation(400) * 1e-5 + 0.5
    source = document("a", "x" * 4000)
    store.upsert(source, cut(source, np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)))
    found = store.search(np.array([1.0, 0.0], np.float32), 20)
    assert ids(found) == [f"a/{i}" for i in np.argsort(angles)[:20]]


def test_an_id_with_a_null_character_is_replaced_and_found(store: Store) -> None:
    for text in ("before", "after"):
        store.upsert(*passage("a\0b", text))
    store.upsert(*passage("a", "another"))
    assert [node.text for node in store.nodes(["a\0b/0"])] == ["after"]
    assert ids(store.search(np.array([1, 0], np.float32), 5, Scope(document_ids=["a\0b"]))) == ["a\0b/0"]
    store.delete("a\0b")
    assert [node.text for node in store.nodes(["a/0"])] == ["another"]
    assert store.nodes(["a\0b/0"]) == []


def test_a_replaced_document_counts_as_inserted_last(store: Store) -> None:
    for name in ("a", "b", "c", "a"):
        store.upsert(*passage(name, "same words"))
    assert ids(store.search(np.array([1, 0], np.float32), 3)) == ["b/0", "c/0", "a/0"]
    assert ids(store.keyword_search("words", 3)) == ["b/0", "c/0", "a/0"]
    assert [stored.id_ for stored in store.documents()] == ["b", "c", "a"]
    assert [node.id_ for node in store.passages()] == ["b/0", "c/0", "a/0"]


def test_top_k_above_the_number_of_passages_returns_all(store: Store) -> None:
    for name in ("a", "b", "c"):
        store.upsert(*passage(name, "same words"))
    for top_k in (4, 10**12):
        assert ids(store.search(np.array([1, 0], np.float32), top_k)) == ["a/0", "b/0", "c/0"]
        assert ids(store.keyword_search("words", top_k)) == ["a/0", "b/0", "c/0"]


@pytest.mark.parametrize("top_k", [0, -1])
def test_top_k_zero_returns_nothing(store: Store, top_k: int) -> None:
    store.upsert(*passage("a", "some words"))
    assert store.search(np.array([1, 0], np.float32), top_k) == []
    assert store.keyword_search("words", top_k) == []


def test_a_store_can_be_emptied(store: Store) -> None:
    for id_ in "abc":
        store.upsert(source := document(id_), cut(source, vectors(2)))
    assert isinstance(store, LlamaIndexMethods)
    store.clear()
    assert (list(store.documents()), store.search(vectors(1)[0], top_k=3)) == ([], [])


def test_an_empty_store_finds_nothing(store: Store) -> None:
    assert store.search(np.ones(3, np.float32), 5) == []
    assert store.keyword_search("words", 5) == []
    assert store.nodes(["a"]) == []
    assert list(store.passages()) == []
    assert store.passage_ids("a") == []
    assert store.documents() == []
    assert len(store) == 0


def test_a_zero_vector_has_cosine_0_with_everything(store: Store) -> None:
    store.upsert(*passage("a", "x", [0.0, 0.0]))
    store.upsert(*passage("b", "y", [-1.0, 0.0]))
    store.upsert(*passage("c", "z", [1.0, 0.0]))
    found = store.search(np.array([2, 0], np.float32), 3)
    assert [(hit.node.id_, hit.score) for hit in found] == [("c/0", 1.0), ("a/0", 0.0), ("b/0", -1.0)]
    found = store.search(np.zeros(2, np.float32), 2)
    assert [(hit.node.id_, hit.score) for hit in found] == [("a/0", 0.0), ("b/0", 0.0)]


def test_search_can_be_limited_to_documents(store: Store) -> None:
    rows = vectors(60)
    for i in range(6):
        source = document(f"d{i}", f"common words of number{i} " * 8)
        store.upsert(source, cut(source, rows[10 * i : 10 * i + 10], size=20))
    store.delete("d3")
    query = vectors(1, seed=5)[0]
    for chosen in (["d1"], ["d4", "d0"], ["d5", "gone", "d3"], [f"d{i}" for i in range(6)], {"d2"}, []):
        everything = [hit for hit in store.search(query, 60) if hit.node.ref_doc_id in chosen]
        assert ids(store.search(query, 7, Scope(document_ids=chosen))) == ids(everything[:7])
        everything = [
            hit for hit in store.keyword_search("common words", 60) if hit.node.ref_doc_id in chosen
        ]
        assert ids(store.keyword_search("common words", 7, Scope(document_ids=chosen))) == ids(everything[:7])


TAGGED: list[dict[str, Any]] = [
    {},
    {"n": 1, "s": "red", "tags": ["a", "b"]},
    {"n": 2.5, "s": "Red fish", "tags": []},
    {"n": True, "s": "", "tags": None},
    {"n": "2", "s": None, "tags": ["b", 1, None]},
    {"n": -3, "s": "fish"},
]


def store_tagged(store: Store) -> list[tuple[str, Any]]:
    """Six documents of two passages: the first has the document's metadata, the second that and the key
    "second"."""
    known = []
    for i, metadata in enumerate(TAGGED):
        source = Document(f"common word{i}first\ncommon word{i}second", id_=f"d{i}", metadata=metadata)
        first, second = cut(source, vectors(2, seed=i), size=18)
        second = replace(second, metadata={**metadata, "second": True})
        store.upsert(source, [first, second])
        known += [(first.id_, first.metadata), (second.id_, second.metadata)]
    return known


def plainly(one: MetadataFilter | MetadataFilters, metadata: Any) -> bool:
    """What a filter says, as a person would write it for these values."""
    if isinstance(one, MetadataFilters):
        passed = [plainly(each, metadata) for each in one.filters]
        return all(passed) if one.condition == "and" or not passed else any(passed) is (one.condition == "or")
    missing, entry, value, is_ = one.key not in metadata, metadata.get(one.key), one.value, one.operator.value
    same = [type(entry) is type(v) and entry == v for v in (value if isinstance(value, list) else [value])]
    number = {type(entry), type(value)} <= {int, float}
    listed = entry if isinstance(entry, list) else []
    if is_ == "is_empty":
        return missing or entry in (None, "", [])
    if is_ in ("!=", "nin"):
        return missing or not any(same)
    if missing:
        return False
    if is_ in ("==", "in"):
        return any(same)
    if is_ in (">", "<", ">=", "<="):
        compare = {">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le}[is_]
        return (number or (type(entry) is str and type(value) is str)) and compare(entry, value)
    if is_ == "contains":
        return any(type(v) is type(value) and v == value for v in listed)
    if is_ in ("any", "all"):
        held = [any(type(v) is type(w) and v == w for v in listed) for w in value]  # type: ignore[union-attr]
        return any(held) if is_ == "any" else isinstance(entry, list) and all(held)
    fold = str.lower if is_ == "text_match_insensitive" else str
    return type(entry) is str and type(value) is str and fold(value) in fold(entry)


scalars = st.sampled_from([1, 2.5, True, "2", -3, "red", "fish", "a", "b", "", None, 0])
single = st.one_of(
    st.builds(
        MetadataFilter,
        st.sampled_from(["n", "s", "tags", "second", "nowhere"]),
        scalars,
        st.sampled_from(ONE_VALUE),
    ),
    st.builds(
        MetadataFilter,
        st.sampled_from(["n", "s", "tags", "second", "nowhere"]),
        st.lists(scalars, max_size=3),
        st.sampled_from(["in", "nin", "any", "all"]),
    ),
)
filters_ = st.recursive(
    st.builds(MetadataFilters, st.lists(single, max_size=3), st.sampled_from(["and", "or", "not"])),
    lambda inner: st.builds(
        MetadataFilters, st.lists(single | inner, max_size=3), st.sampled_from(["and", "or", "not"])
    ),
    max_leaves=4,
)


def test_only_passages_that_pass_the_filters_are_returned(store: Store) -> None:
    known = store_tagged(store)
    query = vectors(1, seed=77)[0]
    nearest, sharing = ids(store.search(query, 99)), ids(store.keyword_search("common", 99))
    assert len(nearest) == len(sharing) == len(known)

    @given(filters_)
    def check(wanted: MetadataFilters) -> None:
        passing = [id_ for id_, metadata in known if plainly(wanted, metadata)]
        assert ids(store.search(query, 99, Scope(filters=wanted))) == [
            id_ for id_ in nearest if id_ in passing
        ]
        assert ids(store.keyword_search("common", 99, Scope(filters=wanted))) == [
            id_ for id_ in sharing if id_ in passing
        ]
        assert store.candidates(Scope(filters=wanted)).ids == passing

    check()


NUMBERS = [-3, 2, 2.0, 2.5, 3, 0.1, 2**53 + 1, -(10**30), 10**400, 1e300, math.inf, -math.inf, math.nan]


def test_metadata_numbers_of_any_kind_compare_by_value(store: Store) -> None:
    for i, number in enumerate(NUMBERS):
        source = document(f"d{i}", n=number)
        store.upsert(source, cut(source, vectors(1, seed=i)))
    query = vectors(1, seed=99)[0]
    for sign, compare in {
        ">": operator.gt,
        "<": operator.lt,
        ">=": operator.ge,
        "<=": operator.le,
        "==": operator.eq,
    }.items():
        for bound in NUMBERS:
            passing = {f"d{i}/0" for i, number in enumerate(NUMBERS) if compare(number, bound)}
            wanted = MetadataFilters([MetadataFilter("n", bound, FilterOperator(sign))])
            assert set(ids(store.search(query, 99, Scope(filters=wanted)))) == passing, (sign, bound)


def test_documents_passages_and_filters_limit_together(store: Store) -> None:
    known = store_tagged(store)
    query = vectors(1, seed=78)[0]
    nearest, sharing = ids(store.search(query, 99)), ids(store.keyword_search("common", 99))
    second = MetadataFilters([MetadataFilter("second", True)])
    everything = [id_ for id_, _ in known]
    for documents in (None, [], ["d1", "d4", "gone"]):
        for nodes in (None, [], ["d4/1", "d0/0", "gone", "d1/0", "d1/1"]):
            for wanted in (None, second):
                left = [
                    id_
                    for id_ in everything
                    if (documents is None or id_.split("/")[0] in documents)
                    and (nodes is None or id_ in nodes)
                    and (wanted is None or id_.endswith("/1"))
                ]
                for k in (1, 3, 99):
                    found = store.search(query, k, Scope(documents, nodes, wanted))
                    assert ids(found) == [id_ for id_ in nearest if id_ in left][:k]
                    found = store.keyword_search("common", k, Scope(documents, nodes, wanted))
                    assert ids(found) == [id_ for id_ in sharing if id_ in left][:k]
                assert store.candidates(Scope(documents, nodes, wanted)).ids == left


def test_candidates_are_the_vectors_that_were_stored(store: Store) -> None:
    assert store.candidates().ids == []
    rows = vectors(30)
    rows[4] = 0
    rows[5:] /= np.linalg.norm(rows[5:], axis=1, keepdims=True)
    for i in range(3):
        source = document(f"d{i}", "x" * 100)
        store.upsert(source, cut(source, rows[10 * i : 10 * i + 10]))
    store.delete("d1")
    for name, places in ((None, [*range(10), *range(20, 30)]), (["d2"], list(range(20, 30)))):
        found = store.candidates(Scope(document_ids=name))
        assert found.ids == [f"d{i // 10}/{i % 10}" for i in places]
        assert found.rows.dtype == np.float32
        assert found.rows * found.lengths[:, None] == pytest.approx(rows[places], abs=1e-6)
        assert found.lengths == pytest.approx(np.linalg.norm(rows[places], axis=1), abs=1e-6)
        assert np.linalg.norm(found.rows, axis=1) == pytest.approx([float(i != 4) for i in places], abs=1e-6)


def test_lengths_stay_with_their_vectors_when_others_go(store: Store) -> None:
    def put(name: str, *sizes: float) -> None:
        source = document(name, "x" * 10 * len(sizes))
        store.upsert(source, cut(source, [np.array([size, 0], np.float32) for size in sizes]))

    put("a", 2, 3, 4, 5)
    put("b", 6, 1)
    store.delete("a")
    assert store.candidates().lengths.tolist() == [6, 1]
    put("c", 1, 7)
    assert store.candidates().lengths.tolist() == [6, 1, 1, 7]
    store.delete("b")
    store.delete("c")
    put("d", 8, 9)
    put("d", 1, 1, 1)
    assert store.candidates().lengths.tolist() == [1, 1, 1]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_vectors_that_are_no_numbers_are_refused(store: Store, bad: float) -> None:
    with pytest.raises(ValueError, match="NaN or infinity"):
        store.upsert(*passage("a", "x", [bad, 1.0]))
    assert len(store) == 0
    store.upsert(*passage("a", "x"))
    with pytest.raises(ValueError, match="NaN or infinity"):
        store.search(np.array([bad, 1.0], np.float32), 1)


def test_an_embedding_without_numbers_is_refused(store: Store) -> None:
    with pytest.raises(ValueError, match="'a/0' has an embedding without numbers"):
        store.upsert(Document("x", id_="a"), [TextNode("x", "a/0", embedding=np.empty(0, np.float32))])
    assert store.documents() == []


def test_another_width_is_refused_and_changes_nothing(store: Store) -> None:
    store.upsert(*passage("a", "x"))
    with pytest.raises(DimensionError, match="vectors of 2 numbers, but was given 3"):
        store.upsert(*passage("b", "y", [1.0, 2.0, 3.0]))
    with pytest.raises(DimensionError, match="vectors of 2 numbers, but was given 3"):
        store.upsert(*passage("a", "y", [1.0, 2.0, 3.0]))
    with pytest.raises(DimensionError, match="vectors of 2 numbers, but was given 1"):
        store.search(np.ones(1, np.float32), 1)
    assert [stored.id_ for stored in store.documents()] == ["a"]
    assert store.document("a").text == "x"


def test_an_emptied_store_takes_another_width(store: Store) -> None:
    store.upsert(*passage("a", "x"))
    store.delete("a")
    # a collection of Chroma cannot change its width, and that is said
    if isinstance(store, ChromaVectorStore):
        with pytest.raises(DimensionError, match="vectors of 2 numbers, but was given 3"):
            store.upsert(*passage("b", "y", [0.0, 0.0, 1.0]))
        return
    store.upsert(*passage("b", "y", [0.0, 0.0, 1.0]))
    assert ids(store.search(np.ones(3, np.float32), 1)) == ["b/0"]


# --- words --------------------------------------------------------------------------------------------------

LAKES = [
    "red fish in the lake",
    "red red fish",
    "the lake",
    "blue boats on the blue water",
    "a red boat",
    "and so on",
]


def by_hand(texts: list[str], query: str) -> list[tuple[int, float]]:
    """BM25 with k1 = 1.2 and b = 0.75, term by term."""
    lists = [text.split() for text in texts]
    average = sum(map(len, lists)) / len(lists)
    scores = [0.0] * len(texts)
    for term in query.split():
        having = sum(term in terms for terms in lists)
        idf = max(math.log((len(lists) - having + 0.5) / (having + 0.5)), 1e-6)
        for i, terms in enumerate(lists):
            often = terms.count(term)
            scores[i] += idf * often * 2.2 / (often + 1.2 * (0.25 + 0.75 * len(terms) / average))
    return sorted(
        ((i, score) for i, score in enumerate(scores) if score), key=lambda item: (-item[1], item[0])
    )


def test_keyword_search_ranks_and_scores_by_bm25(store: Store) -> None:
    for i, text in enumerate(LAKES):
        store.upsert(*passage(str(i), text))
    for query in ("red", "fish lake", "lake", "red fish lake"):
        expected = by_hand(LAKES, query)
        found = store.keyword_search(query, 10)
        assert ids(found) == [f"{i}/0" for i, _ in expected]
        assert [hit.score for hit in found] == pytest.approx([score for _, score in expected], rel=1e-6)


def test_bm25_forgets_what_was_deleted(store: Store) -> None:
    for i, text in enumerate(["fish fish fish", *LAKES, "fish lake red lake", "boats"]):
        store.upsert(*passage(str(i - 1), text))
    for gone in ("-1", "6", "7"):
        store.delete(gone)
    expected = by_hand(LAKES, "red fish lake")
    found = store.keyword_search("red fish lake", 10)
    assert ids(found) == [f"{i}/0" for i, _ in expected]
    assert [hit.score for hit in found] == pytest.approx([score for _, score in expected], rel=1e-6)


def test_a_word_in_every_passage_still_finds_them(store: Store) -> None:
    for name in ("a", "b", "c"):
        store.upsert(*passage(name, "water"))
    found = store.keyword_search("water", 5)
    assert ids(found) == ["a/0", "b/0", "c/0"]
    assert all((hit.score or 0) > 0 for hit in found)


def test_stop_words_count_only_when_there_is_nothing_else(store: Store) -> None:
    for i, text in enumerate([*LAKES, "to be or not to be"]):
        store.upsert(*passage(str(i), text))
    assert ids(store.keyword_search("what about the boats on it?", 9)) == ["4/0", "3/0"]
    assert ids(store.keyword_search("to be or not to be", 1)) == ["6/0"]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("東京都に住んでいます", "東京都"),
        ("Die Straßen von Köln", "STRASSEN"),
        ("naïve cafés", "café"),
        ("Договор аренды", "договор"),
        ("error E-1234_x at 10%", "e-1234_x"),
        ('say "AND OR NOT NEAR(" *', 'NEAR( " *'),
        ("มาตรา สัญญา", "สัญญา"),
        ("Donau\u00addampf\u00adschiff", "Donaudampfschiff"),  # with soft hyphens, as web pages have them
        ("در سال ۱۴۰۲", "1402"),
        ("ปี๒๕๖๔", "2564"),
        ("वर्ष 2024", "२०२४"),
        ("کتاب یک", "كتاب"),  # from a Persian and from an Arabic keyboard
    ],
)
def test_words_of_any_script_match_as_written(store: Store, text: str, query: str) -> None:
    store.upsert(*passage("a", "nothing of the kind"))
    store.upsert(*passage("b", text))
    assert ids(store.keyword_search(query, 5)) == ["b/0"]


@pytest.mark.parametrize(
    "query", ["", "   ", "?!", "\x00", '"', "'; DROP TABLE documents; --", "unknown", "\ud800"]
)
def test_a_question_without_shared_words_finds_nothing(store: Store, query: str) -> None:
    store.upsert(*passage("a", "some words"))
    assert store.keyword_search(query, 5) == []


def test_a_very_long_question_is_looked_for_whole(store: Store) -> None:
    store.upsert(*passage("a", "needle"))
    store.upsert(*passage("b", "other"))
    assert ids(store.keyword_search(" ".join(f"w{i}" for i in range(3000)) + " needle", 5)) == ["a/0"]


def test_a_question_that_names_the_file_finds_its_passages(store: Store) -> None:
    for name in ("Meyer.pdf", "Schulz.pdf", "Kraus.pdf"):
        source = document(name, "Notice is three months.", file_name=name)
        store.upsert(source, cut(source, np.ones((1, 2), np.float32), size=50))
    assert ids(store.keyword_search("notice in the Meyer contract", 1)) == ["Meyer.pdf/0"]


# --- what is kept -------------------------------------------------------------------------------------------

# longer than a block of stored text
STRANGE = "Zürich \U0001f600 e\u0301 \x00 \ud83d \u202e مرحبا\r\n\t" * 900


def strange_document() -> tuple[Document, list[TextNode]]:
    source = Document(
        STRANGE,
        id_="ид/\U0001f600'; --",
        metadata={
            "file_name": "Bericht \U0001f4c4.pdf",
            "none": None,
            "yes": True,
            "one": 1,
            "float": 1.0,
            "text": '"\n\ud800',
        },
        pages=(Page("i", 0, 100), Page("§ 2", 100, len(STRANGE))),
        page_word="slide",
        excluded_embed_metadata_keys=("one",),
        excluded_llm_metadata_keys=("yes", ""),
        template=Template("{content}\n{metadata_str}"),
    )
    nodes = cut(source, vectors(12), size=1700)
    nodes[1] = replace(nodes[1], metadata={"other": 1, "yes": 1})
    nodes[2] = replace(
        nodes[2], text="not the document's words \ud800", start_char_idx=None, end_char_idx=None
    )
    nodes[3] = replace(nodes[3], text="offsets that do not fit")
    nodes[4] = replace(nodes[4], parent_id="above", child_ids=("x", "y"), prev_id=None, next_id="elsewhere")
    nodes[5] = replace(nodes[5], excluded_embed_metadata_keys=("text",), excluded_llm_metadata_keys=())
    nodes[6] = replace(nodes[6], text="", start_char_idx=3, end_char_idx=3)
    nodes[7] = replace(nodes[7], metadata={**source.metadata, "one": True})  # 1 == True, and yet not the same
    nodes[8] = replace(
        nodes[8],
        template=Template("<{metadata_str}>{content}", "{key}={value}", "; "),
        embedding=nodes[8].embedding * 9,
    )
    nodes[9] = replace(
        nodes[9], metadata={"list": ["a", 1, None, True], "empty": []}, embedding=nodes[9].embedding * 0
    )
    return source, [
        replace(node, excluded_embed_metadata_keys=("one",)) if i != 5 else node
        for i, node in enumerate(nodes)
    ]


def test_documents_and_passages_are_read_as_they_were_stored(store: Store) -> None:
    source, nodes = strange_document()
    store.upsert(*passage("before", "x", [1.0] * 8))
    assert store.upsert(source, nodes) == 12
    read = store.document(source.id_)
    for name in Document.__dataclass_fields__:
        assert getattr(read, name) == getattr(source, name), name
    assert typed(read.metadata) == typed(source.metadata)
    listed = store.documents()[1]
    assert (listed.id_, listed.name, listed.hash) == (source.id_, "Bericht \U0001f4c4.pdf", source.hash)
    assert (listed.passages, listed.characters) == (12, len(STRANGE))
    by_ids = store.nodes([node.id_ for node in nodes])
    for version in (by_ids, list(store.passages(source.id_)), list(store.passages())[1:]):
        assert [fields(node) for node in version] == [fields(node) for node in nodes]
        assert [typed(node.metadata) for node in version] == [typed(node.metadata) for node in nodes]
    for node, put in zip(by_ids, nodes, strict=True):
        assert node.embedding is not None
        assert put.embedding is not None
        assert node.embedding == pytest.approx(put.embedding, rel=1e-6, abs=1e-6)
    assert [node.embedding for node in store.passages()] == [None] * 13
    for node in nodes:
        found = store.search(node.embedding, 1, Scope(node_ids=[node.id_]))[0].node  # type: ignore[arg-type]
        assert fields(found) == fields(node)


def test_passage_standing_for_another_keeps_its_reference(store: Store) -> None:
    source, nodes = strange_document()
    stands = IndexNode(**fields(nodes[4]), index_id="the table", embedding=nodes[4].embedding)
    plain = IndexNode(**fields(nodes[0]), index_id="", embedding=nodes[0].embedding)
    store.upsert(source, [plain, *nodes[1:4], stands, *nodes[5:]])
    for version in (store.nodes([nodes[0].id_, stands.id_]), [list(store.passages())[i] for i in (0, 4)]):
        assert [type(node) for node in version] == [IndexNode, IndexNode]
        assert [node.index_id for node in version if isinstance(node, IndexNode)] == ["", "the table"]
        assert [fields(node) for node in version] == [fields(nodes[0]), fields(nodes[4])]
    assert type(store.nodes([nodes[5].id_])[0]) is TextNode


def test_passages_come_in_requested_order_without_missing_ones(store: Store) -> None:
    source = document("a", "x" * 50)
    store.upsert(source, cut(source, vectors(5)))
    assert [node.id_ for node in store.nodes(["a/3", "gone", "a/0", "a/3"])] == ["a/3", "a/0", "a/3"]
    assert store.nodes([]) == []


def test_passage_without_document_joins_the_one_it_is_added_to(store: Store) -> None:
    store.upsert(Document("x", id_="a"), [TextNode("x", id_="n", embedding=np.ones(2, np.float32))])
    assert store.nodes(["n"])[0].ref_doc_id == "a"


def test_putting_edits_nothing_of_the_callers(store: Store) -> None:
    source = document("a", "x" * 20)
    rows = vectors(2)
    nodes = cut(source, rows)
    kept = rows.copy()
    store.upsert(source, nodes)
    found = store.nodes(["a/0"])[0]
    assert found.embedding is not None
    found.embedding[:] = 0
    assert np.array_equal(rows, kept)
    assert store.search(rows[0], 1)[0].score == pytest.approx(1.0)


def test_a_document_without_passages_is_a_document(store: Store) -> None:
    assert store.upsert(document("a"), []) == 0
    assert store.upsert(*passage("b", "y")) == 1
    assert store.upsert(document("c"), []) == 0
    assert [(stored.id_, stored.passages) for stored in store.documents()] == [("a", 0), ("b", 1), ("c", 0)]
    assert ids(store.search(np.ones(2, np.float32), 3)) == ["b/0"]
    assert store.delete("a") == 0
    assert list(store.passages("c")) == []
    assert ids(store.search(np.ones(2, np.float32), 3)) == ["b/0"]


def test_replacing_leaves_nothing_of_the_old_document(store: Store) -> None:
    old = document("a", "old words " * 5)
    store.upsert(old, cut(old, vectors(5)))
    store.upsert(*passage("b", "other", [1.0] * 8))
    new = document("a", "new text")
    assert store.upsert(new, cut(new, vectors(1, seed=3))) == 1
    assert len(store) == 2
    assert store.nodes(["a/1"]) == []
    assert store.keyword_search("old words", 5) == []
    assert ids(store.keyword_search("new", 5)) == ["a/0"]
    assert store.document("a").text == "new text"
    assert ids(store.search(vectors(1, seed=3)[0], 9))[0] == "a/0"


def test_deleting_removes_everything_and_says_how_much(store: Store) -> None:
    for i in range(4):
        source = document(f"d{i}", f"words number{i} " * 5)
        store.upsert(source, cut(source, vectors(3 + i, seed=i)))
    assert store.delete("d2") == 5
    assert len(store) == 3 + 4 + 6
    assert store.keyword_search("number2", 9) == []
    assert "d2" not in {hit.node.ref_doc_id for hit in store.search(vectors(1)[0], 99)}
    for call in (store.delete, store.document, store.passages):
        with pytest.raises(UnknownDocumentError, match="'d2'"):
            call("d2")


def test_an_unknown_document_is_an_error_also_in_an_empty_store(store: Store) -> None:
    for call in (store.delete, store.document, store.passages):
        with pytest.raises(UnknownDocumentError, match="'nobody'"):
            call("nobody")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda nodes: [replace(nodes[0], embedding=None), nodes[1]], "'b/0' has no embedding"),
        (lambda nodes: [nodes[0], replace(nodes[1], id_="b/0")], "two nodes have the id 'b/0'"),
        (lambda nodes: [nodes[0], replace(nodes[1], id_="a/0")], "'a/0' of 'b' is already a node of 'a'"),
        (lambda nodes: [nodes[0], replace(nodes[1], ref_doc_id="z")], "'b/1' was cut from 'z', not from 'b'"),
        (
            lambda nodes: [nodes[0], replace(nodes[1], id_="\ud83d")],
            r"the id '\\ud83d' holds half a character",
        ),
    ],
)
def test_nodes_that_do_not_fit_are_refused_and_change_nothing(
    store: Store, change: Callable[[list[TextNode]], list[TextNode]], message: str
) -> None:
    store.upsert(*passage("a", "first", [1.0] * 8))
    store.upsert(*passage("b", "stays", [1.0] * 8))
    source = document("b", "x" * 20)
    with pytest.raises(ValueError, match=message):
        store.upsert(source, change(cut(source, vectors(2))))
    assert store.document("b").text == "stays"
    assert ids(store.keyword_search("stays", 2)) == ["b/0"]
    assert len(store) == 2


def test_a_document_called_by_half_a_character_is_refused(store: Store) -> None:
    source, nodes = passage("a\udc80", "x")
    for held in (nodes, []):
        with pytest.raises(ValueError, match=r"the id 'a\\udc80' holds half a character"):
            store.upsert(source, held)
    assert store.documents() == []


def test_non_plain_metadata_is_refused_and_changes_nothing(store: Store) -> None:
    source, nodes = passage("a", "x")
    with pytest.raises(TypeError):
        store.upsert(replace(source, metadata={"when": object()}), nodes)  # type: ignore[dict-item]
    assert store.documents() == []


def test_half_the_documents_gone_leaves_the_other_half_as_it_was(store: Store) -> None:
    rows = vectors(200)
    for i in range(20):
        source = document(f"d{i}", f"words number{i} " * 10)
        store.upsert(source, cut(source, rows[10 * i : 10 * i + 10], size=len(f"words number{i} ")))
    for i in range(20):
        if i % 4:
            store.delete(f"d{i}")
            store.upsert(*passage(f"new{i}", f"later {i}", rows[i].tolist()))
            store.delete(f"new{i}")
    alive = [(place, f"d{place // 10}/{place % 10}") for place in range(200) if place // 10 % 4 == 0]
    unit_rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    for query in vectors(4, seed=9):
        expected = sorted(alive, key=lambda item: -float(unit_rows[item[0]] @ query))[:10]
        assert ids(store.search(query, 10)) == [id_ for _, id_ in expected]
    assert [node.id_ for node in store.passages()] == [id_ for _, id_ in alive]
    assert ids(store.keyword_search("number4", 20)) == [f"d4/{i}" for i in range(10)]


# --- several at once ----------------------------------------------------------------------------------------


def test_threads_may_upsert_delete_and_search_at_the_same_time(store: Store) -> None:
    """Every passage of a document has the same vector, so a search must see whole documents only."""
    failures: list[BaseException] = []
    directions = np.eye(6, dtype=np.float32)

    def write(number: int) -> None:
        try:
            for _ in range(6):
                source = document(f"d{number}", "x" * 40)
                store.upsert(source, cut(source, [directions[number]] * 4))
                store.delete(f"d{number}")
            store.upsert(source, cut(source, [directions[number]] * 4))
        except BaseException as error:  # noqa: BLE001 - told by the test's own thread
            failures.append(error)

    def read(number: int) -> None:
        try:
            while not finished.is_set():
                found = [hit for hit in store.search(directions[number], 30) if (hit.score or 0) > 0.9]
                assert ids(found) in ([], [f"d{number}/{i}" for i in range(4)])
                assert len(store) % 4 == 0
        except BaseException as error:  # noqa: BLE001 - told by the test's own thread
            failures.append(error)

    finished = threading.Event()
    writers = [threading.Thread(target=write, args=(i,)) for i in range(4)]
    readers = [threading.Thread(target=read, args=(i,)) for i in range(2)]
    for thread in writers + readers:
        thread.start()
    for thread in writers:
        thread.join()
    finished.set()
    for thread in readers:
        thread.join()
    assert not failures
    assert len(store) == 16
    assert sorted(ids(store.search(directions[2], 4))) == [f"d2/{i}" for i in range(4)]


def churn(kind: str, folder: str, number: int) -> None:
    """Put, replace and delete documents of one's own and one of all; the work of one process of several."""
    store = SHARED[kind](Path(folder))
    print("ready", flush=True)
    sys.stdin.readline()
    for turn in range(8):
        for i in range(3):
            source = document(f"{number}-{i}", f"of{number} turn{turn} " * 3)
            store.upsert(source, cut(source, vectors(3, seed=10 * number + i)))
        store.delete(f"{number}-{turn % 3}")
        everybodys = document("everybody's", f"last written by{number} " * 2)
        nodes = [
            replace(node, id_=f"{node.id_} by {number}")
            for node in cut(everybodys, vectors(2 + number, seed=number))
        ]
        store.upsert(everybodys, nodes)
    closed(store)


@pytest.mark.parametrize("kind", SHARED)
def test_processes_may_upsert_and_delete_at_the_same_time(kind: str, tmp_path: Path) -> None:
    store = SHARED[kind](tmp_path)
    store.upsert(*passage("before", "was here", [1.0] * 8))
    program = f"from tests.contracts.test_stores import churn; churn({kind!r}, {str(tmp_path)!r}, %d)"
    places = {**os.environ, **(postgres.shared(tmp_path) if kind == "postgres" else {})}
    pipe = subprocess.PIPE
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program % number], stdin=pipe, stdout=pipe, text=True, cwd=ROOT, env=places
        )
        for number in range(2)
    ]
    for process in processes:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.communicate("go\n", timeout=120)
    assert [process.returncode for process in processes] == [0, 0]
    found = {stored.id_: stored.passages for stored in store.documents()}
    (last,) = {int(node.id_[-1]) for node in store.passages("everybody's")}
    assert found == {"before": 1, "everybody's": 2 + last} | {
        f"{n}-{i}": 3 for n in range(2) for i in range(3) if i != 1
    }
    assert len(store) == 1 + (2 + last) + 4 * 3 == len(list(store.passages()))
    for number in range(2):
        assert sorted(ids(store.keyword_search(f"of{number}", 20))) == [
            f"{number}-{i}/{j}" for i in (0, 2) for j in range(3)
        ]
        assert store.search(vectors(3, seed=10 * number)[1], 1)[0].node.id_ == f"{number}-0/1"
    assert len(store.search(np.ones(8, np.float32), 99)) == len(store)
    closed(store)


@pytest.mark.parametrize("kind", LASTING)
def test_a_reopened_store_has_all_that_was_stored(kind: str, tmp_path: Path) -> None:
    source, nodes = strange_document()
    store = LASTING[kind](tmp_path)
    store.upsert(*passage("gone", "forgotten", [1.0] * 8))
    store.upsert(source, nodes)
    store.delete("gone")
    query = vectors(1, seed=4)[0]
    before = (
        store.documents(),
        store.search(query, 20),
        store.keyword_search("passage", 20),
        store.nodes([nodes[2].id_]),
    )
    closed(store)
    store = LASTING[kind](tmp_path)
    assert store.document(source.id_).text == source.text
    assert [fields(node) for node in store.passages()] == [fields(node) for node in nodes]
    found = (
        store.documents(),
        store.search(query, 20),
        store.keyword_search("passage", 20),
        store.nodes([nodes[2].id_]),
    )
    assert found[0] == before[0]
    for hits, earlier in zip(found[1:3], before[1:3], strict=True):
        assert [(hit.node.id_, hit.score) for hit in hits] == [(hit.node.id_, hit.score) for hit in earlier]
    assert [fields(node) for node in found[3]] == [fields(node) for node in before[3]]
    closed(store)


# --- against a model ----------------------------------------------------------------------------------------

names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=4)
words_ = st.lists(st.sampled_from(["fish", "lake", "red", "Straße", "東京都", "the", "of"]), max_size=8)
small = st.lists(st.integers(-2, 2), min_size=3, max_size=3)
passages = st.lists(st.tuples(words_, small), max_size=5)


@dataclass
class _Known:
    document: Document
    nodes: list[TextNode] = field(default_factory=list)


class StoreMachine(RuleBasedStateMachine):
    """A store beside a dict, under any sequence of calls."""

    open: Open
    folder: Callable[[], Path]
    keys = Bundle("keys")

    @initialize()
    def begin(self) -> None:
        self.path = type(self).folder()
        self.store = type(self).open(self.path)
        self.known: dict[str, _Known] = {}

    def teardown(self) -> None:
        closed(self.store)

    @rule(target=keys, name=names)
    def name(self, name: str) -> str:
        return name

    @rule(id_=keys, parts=passages)
    def put(self, id_: str, parts: list[tuple[list[str], list[int]]]) -> None:
        texts = [" ".join(words) for words, _ in parts]
        source = Document("\n".join(texts), id_=id_, metadata={"n": len(parts)})
        nodes, start = [], 0
        for i, (text, (_, vector)) in enumerate(zip(texts, parts, strict=True)):
            embedding = np.array(vector, np.float32)
            nodes.append(
                TextNode(
                    text, f"{id_}/{i}", source.metadata, id_, start, start + len(text), embedding=embedding
                )
            )
            start += len(text) + 1
        assert self.store.upsert(source, nodes) == len(nodes)
        self.known.pop(id_, None)
        self.known[id_] = _Known(source, nodes)

    @rule(id_=keys)
    def delete(self, id_: str) -> None:
        if id_ in self.known:
            assert self.store.delete(id_) == len(self.known.pop(id_).nodes)
        else:
            with pytest.raises(UnknownDocumentError):
                self.store.delete(id_)

    @precondition(lambda self: type(self).open is not open_memory)
    @rule()
    def reopen(self) -> None:
        closed(self.store)
        self.store = type(self).open(self.path)

    @rule(query=small, top_k=st.integers(0, 6), chosen=st.none() | st.lists(keys, max_size=2))
    def search(self, query: list[int], top_k: int, chosen: list[str] | None) -> None:
        found = self.store.search(np.array(query, np.float32), top_k, Scope(document_ids=chosen))
        scored = [(node.id_, _cosine(query, node.embedding)) for node in self._nodes(chosen)]
        expected = sorted(scored, key=lambda item: -round(item[1], 6))[:top_k]
        assert ids(found) == [id_ for id_, _ in expected]
        assert [hit.score for hit in found] == pytest.approx([score for _, score in expected], abs=1e-5)

    @rule(query=words_, top_k=st.integers(0, 6), chosen=st.none() | st.lists(keys, max_size=2))
    def keyword_search(self, query: list[str], top_k: int, chosen: list[str] | None) -> None:
        terms = set(content_words(" ".join(query)))
        if not terms:
            return
        found = ids(self.store.keyword_search(" ".join(query), top_k, Scope(document_ids=chosen)))
        sharing = [node.id_ for node in self._nodes(chosen) if terms & set(content_words(node.text))]
        assert len(found) == min(max(top_k, 0), len(sharing))
        assert set(found) <= set(sharing)

    @invariant()
    def holds_what_the_dict_holds(self) -> None:
        assert [stored.id_ for stored in self.store.documents()] == list(self.known)
        assert [fields(node) for node in self.store.passages()] == [
            fields(replace(node, prev_id=None, next_id=None)) for node in self._nodes(None)
        ]
        assert len(self.store) == len(self._nodes(None))
        for id_, known in self.known.items():
            assert self.store.document(id_).text == known.document.text
            assert self.store.passage_ids(id_) == [node.id_ for node in known.nodes]

    def _nodes(self, chosen: list[str] | None) -> list[TextNode]:
        return [
            node
            for id_, known in self.known.items()
            if chosen is None or id_ in chosen
            for node in known.nodes
        ]


def _cosine(a: list[int], b: Any) -> float:
    lengths = math.dist(a, [0] * 3) * math.dist(b, [0] * 3)
    return sum(x * y for x, y in zip(a, b.tolist(), strict=True)) / lengths if lengths else 0.0


@pytest.mark.parametrize("kind", STORES)
def test_any_sequence_of_calls_leaves_what_a_dict_would_hold(
    kind: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    class Machine(StoreMachine):
        open = staticmethod(STORES[kind])
        folder = staticmethod(lambda: tmp_path_factory.mktemp("store"))

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=max(1, SEQUENCES[kind] * settings().max_examples // 100),
            stateful_step_count=30,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.parametrize(("puts", "kept"), [(24, 18), pytest.param(60, 45, marks=pytest.mark.nightly)])
def test_all_stores_give_the_same_passages_with_the_same_scores(tmp_path: Path, puts: int, kept: int) -> None:
    stores = [open_(tmp_path) for open_ in STORES.values()]
    random = np.random.default_rng(3)
    languages = [
        "東京都に住んでいます",
        "京都",
        "ภาษาไทย",
        "กรุงเทพมหานคร",
        "서울",
        "running",
        "runs",
        "Straßen",
        "договора",
    ]
    vocabulary = [f"word{i}" for i in range(40)] + languages
    for i in range(puts):
        texts = [" ".join(random.choice(vocabulary, random.integers(1, 30))) for _ in range(4)]
        nodes = [
            TextNode(text, f"{i % kept}-{j}", embedding=random.normal(size=16).astype(np.float32))
            for j, text in enumerate(texts)
        ]
        for store in stores:
            store.upsert(Document("\n".join(texts), id_=str(i % kept)), nodes)
            if i % 7 == 6:
                store.delete(str(i % kept))
    for question in [*languages, *[""] * 10]:
        query, vector = (
            question or " ".join(random.choice(vocabulary, 4)),
            random.normal(size=16).astype(np.float32),
        )
        for chosen in (None, [str(i) for i in range(0, kept, 3)]):
            for first, *others in (
                [store.keyword_search(query, 20, Scope(document_ids=chosen)) for store in stores],
                [store.search(vector, 20, Scope(document_ids=chosen)) for store in stores],
            ):
                for other in others:
                    assert ids(first) == ids(other)
                    assert [hit.score for hit in first] == pytest.approx(
                        [hit.score for hit in other], rel=1e-5, abs=1e-6
                    )
    for store in stores:
        closed(store)
