"""What the PostgreSQL store does beyond the contract of all stores: its vector index, its tables, other
libraries beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import StoreError
from ragcore.indices.vector import VectorStoreIndex
from ragcore.retrievers.vector import VectorIndexRetriever
from ragcore.schema import Document, TextNode
from ragcore.sql.postgres import PostgresDatabase
from ragcore.storage.storage_context import StorageContext
from ragcore.vector_stores import PGVectorStore, PostgresStore
from ragcore.vector_stores import postgres as store_module
from ragcore.vector_stores.base import Scope
from ragcore.vector_stores.filters import MetadataFilter, MetadataFilters
from ragcore.vector_stores.postgres_schema import SCHEMA
from ragcore.vector_stores.search import passage_terms
from tests import postgres

ROWS = np.random.default_rng(0).normal(size=(600, 24)).astype(np.float32)
UNIT = ROWS / np.linalg.norm(ROWS, axis=1, keepdims=True)


@pytest.fixture
def database() -> Iterator[PostgresDatabase]:
    opened = PostgresDatabase(postgres.fresh(), SCHEMA)
    yield opened
    opened.close()


@pytest.fixture
def store(database: PostgresDatabase) -> PostgresStore:
    return PostgresStore(database)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The vector index is used from 100 passages on, and takes in 20 at a time."""
    monkeypatch.setattr(store_module, "EXACT", 100)
    monkeypatch.setattr(store_module, "BATCH", 20)


def store_passages(store: PostgresStore, numbers: range, rows: Any = ROWS) -> None:
    """Ten passages to a document, each called by its number."""
    for first in range(numbers.start, numbers.stop, 10):
        nodes = [
            TextNode(f"passage {i}", str(i), {"tenth": i % 10}, embedding=rows[i])
            for i in range(first, min(first + 10, numbers.stop))
        ]
        store.upsert(Document(f"document {first}", id_=f"d{first}"), nodes)


def search_numbers(store: PostgresStore, query: Any, k: int = 10, scope: Scope | None = None) -> list[int]:
    return [int(hit.node.id_) for hit in store.search(query, k, scope or Scope())]


def nearest(query: Any, k: int, among: Any) -> list[int]:
    return sorted(among, key=lambda i: -float(UNIT[i] @ query))[:k]


def waiting(database: PostgresDatabase) -> int:
    with database.snapshot() as db:
        (table,) = db.execute("SELECT vectors FROM indexes").fetchall()[0]
        count: int = db.execute(f"SELECT count(*) FROM {table} WHERE NOT indexed").fetchall()[0][0]
        return count


@pytest.mark.usefixtures("small")
def test_vector_index_finds_many_passages_and_new_ones_at_once(
    database: PostgresDatabase, store: PostgresStore
) -> None:
    store_passages(store, range(100))
    assert waiting(database) == 100
    store_passages(store, range(100, 200))
    assert waiting(database) == 0
    with database.transaction():
        store_passages(store, range(200, 230))
        assert waiting(database) == 30
    assert waiting(database) == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store_module, "HNSW_STEPS", 0)
        store_passages(store, range(230, 540))
    assert waiting(database) == 310
    right = [len({*search_numbers(store, query)} & {*nearest(query, 10, range(540))}) for query in UNIT[540:]]
    assert sum(right) / len(right) >= 9.9
    assert search_numbers(store, ROWS[539])[0] == 539
    cosines = {hit.node.id_: hit.score for hit in store.search(ROWS[7], 5)}
    assert cosines == {id_: pytest.approx(float(UNIT[int(id_)] @ UNIT[7]), abs=1e-5) for id_ in cosines}
    store.compact()
    assert waiting(database) == 0


@pytest.mark.usefixtures("small")
def test_vector_index_returns_top_k_under_a_filter(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    # of which a fifth is in the first of these scopes
    monkeypatch.setattr(store_module, "HNSW_CANDIDATES", 40)
    store_passages(store, range(600))
    store.compact()
    for scope, among in [
        (
            Scope(filters=MetadataFilters([MetadataFilter("tenth", [3, 7], "in")])),
            [i for i in range(600) if i % 10 in (3, 7)],
        ),
        (
            Scope(document_ids=[f"d{i}" for i in range(0, 600, 20)]),
            [i for i in range(600) if i // 10 % 2 == 0],
        ),
        (Scope(node_ids=["3", "4", "5"]), [3, 4, 5]),
    ]:
        assert [search_numbers(store, query, 10, scope) for query in UNIT[:20]] == [
            nearest(query, 10, among) for query in UNIT[:20]
        ]


@pytest.mark.usefixtures("small")
def test_vector_index_omits_deleted_and_replaced_passages(store: PostgresStore) -> None:
    store_passages(store, range(400))
    store.compact()
    for i in range(0, 400, 20):
        store.delete(f"d{i}")
    store.upsert(Document("new", id_="d10"), [TextNode("new", "555", embedding=ROWS[555])])
    alive = [*(i for i in range(400) if i // 10 % 2 and not 10 <= i < 20), 555]
    right = [len({*search_numbers(store, query)} & {*nearest(query, 10, alive)}) for query in UNIT[:100]]
    assert sum(right) / len(right) >= 9.9
    assert all(len(search_numbers(store, query)) == 10 for query in UNIT[:100])
    assert search_numbers(store, ROWS[555])[0] == 555
    assert search_numbers(store, ROWS[10]) != [10]


@pytest.mark.parametrize("width", [1, 1901, 4001])
def test_vectors_of_any_width_are_compared(store: PostgresStore, width: int) -> None:
    rows = np.random.default_rng(1).normal(size=(30, width)).astype(np.float32)
    store_passages(store, range(30), rows)
    units = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float64)
    expected = sorted(range(30), key=lambda i: (-round(float(units[i] @ units[4]), 6), i))
    assert search_numbers(store, rows[4], 30) == expected
    assert np.allclose(np.stack([node.embedding for node in store.nodes(["4", "5"])]), rows[4:6], rtol=1e-5)  # type: ignore[arg-type]


def test_of_very_many_equal_vectors_the_first_are_returned(
    database: PostgresDatabase, store: PostgresStore
) -> None:
    rows = np.tile(ROWS[:2], (200, 1))  # a, b, a, b, ...
    store_passages(store, range(400), rows)
    store.delete("d0")
    store_passages(store, range(10), rows)  # now the last
    with database.transaction() as db:
        (table,) = db.execute("SELECT vectors FROM indexes").fetchall()[0]
        # which the server now keeps at the table's end
        db.execute(f"UPDATE {table} SET indexed = false WHERE row < 100")
    assert search_numbers(store, rows[0], 30) == list(range(10, 70, 2))
    assert search_numbers(store, np.zeros(24, np.float32), 3) == [10, 11, 12]


def test_what_is_undone_around_the_store_is_undone_in_it(
    database: PostgresDatabase, store: PostgresStore
) -> None:
    store_passages(store, range(10))

    def broken_off() -> None:
        with database.transaction():
            store_passages(store, range(10, 20))
            store.delete("d0")
            assert len(store) == 10
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        broken_off()
    assert [stored.id_ for stored in store.documents()] == ["d0"]
    assert search_numbers(store, ROWS[12], 20) == nearest(UNIT[12], 20, range(10))
    assert [hit.node.id_ for hit in store.keyword_search("3", 5)] == ["3"]


def test_an_index_is_dropped_without_the_others(database: PostgresDatabase, store: PostgresStore) -> None:
    other = PostgresStore(database, index="other")
    store_passages(store, range(20))
    store_passages(other, range(20), ROWS[:, :6])
    store.drop()
    store.drop()
    assert (len(store), store.documents(), search_numbers(store, ROWS[0])) == (0, [], [])
    assert len(other) == 20
    assert [hit.node.id_ for hit in other.keyword_search("7", 5)] == ["7"]
    store_passages(store, range(5), ROWS[:, :3])
    assert search_numbers(store, ROWS[2, :3], 1) == [2]
    assert tables_of_vectors(database) == 2


def tables_of_vectors(database: PostgresDatabase) -> int:
    with database.snapshot() as db:
        tables = db.execute(
            "SELECT relname FROM pg_class WHERE relname LIKE 'vectors%' AND relkind = 'r'"
            " AND relnamespace = current_schema()::regnamespace"
        )
        return len(tables.fetchall())


def test_index_in_use_is_dropped_at_once_and_cleared_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragcore.sql.postgres.SESSION", {"lock_timeout": "100ms"})
    address = postgres.fresh()
    database, other = PostgresDatabase(address, SCHEMA), PostgresDatabase(address, SCHEMA)
    store, reader = PostgresStore(database), PostgresStore(other)
    store_passages(store, range(10))
    with other.snapshot():  # as while a library is copied
        assert len(reader.candidates().ids) == 10
        store.delete("d0")
        store_passages(store, range(10, 20))
        store.drop()
        assert search_numbers(reader, ROWS[3], 1) == [3]
    assert search_numbers(reader, ROWS[3], 1) == []
    store_passages(store, range(20, 30))
    assert search_numbers(reader, ROWS[23], 1) == [23]
    assert tables_of_vectors(database) == 1
    database.close()
    other.close()


def test_vectors_too_wide_for_the_server_are_refused_in_words(store: PostgresStore) -> None:
    widest = np.ones((1, 16_000), np.float32)
    with pytest.raises(
        StoreError, match="has room for vectors of 16,000 numbers, but was given 16,001"
    ) as caught:
        store_passages(store, range(1), np.ones((1, 16_001), np.float32))
    assert "folder" in caught.value.hint
    store_passages(store, range(1), widest)
    assert search_numbers(store, widest[0]) == [0]


def test_bytes_on_disk_cover_the_tables_and_fall_with_a_drop(store: PostgresStore) -> None:
    before = store.bytes_on_disk()
    store_passages(store, range(600))
    full = store.bytes_on_disk()
    assert full - before > 600 * 24 * 4
    store.drop()
    store.reclaim()
    assert full - store.bytes_on_disk() > 600 * 24 * 4


def test_reclaim_does_not_vacuum_vectors_in_an_hnsw_index(
    database: PostgresDatabase, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    vacuumed = (
        "SELECT vacuum_count FROM pg_stat_user_tables WHERE schemaname = current_schema() AND relname = ?"
    )

    def times(table: str) -> int:
        with database.snapshot() as db:
            return int(db.execute(vacuumed, (table,)).fetchall()[0][0])

    store_passages(store, range(100))
    with database.snapshot() as db:
        (table,) = db.execute("SELECT vectors FROM indexes").fetchall()[0]
    store.reclaim()
    assert (times(table), times("passages")) == (1, 1)
    monkeypatch.setattr(store_module, "EXACT", 50)
    store.compact()
    store.reclaim()
    assert (times(table), times("passages")) == (1, 2)


def test_a_keyword_index_of_other_rules_is_rebuilt(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_passages(store, range(20))
    monkeypatch.setattr(store_module, "terms_version", lambda: "newer")
    monkeypatch.setattr(store_module, "passage_terms", lambda node: ["marker", *node.text.split()])
    assert len(store.keyword_search("marker", 50)) == 20
    assert [hit.node.id_ for hit in store.keyword_search("13", 5)] == ["13"]


def test_others_write_while_a_keyword_index_is_rebuilt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragcore.sql.postgres.SESSION", {"lock_timeout": "100ms"})
    address = postgres.fresh()
    store, other, fresh = (
        PostgresStore(PostgresDatabase(each, SCHEMA)) for each in (address, address, postgres.fresh())
    )
    store_passages(store, range(40))
    written: list[bool] = []

    def meanwhile(node: TextNode) -> list[str]:
        if not written:
            written.append(True)
            other.delete("d30")  # whose rows the next takes
            store_passages(other, range(50, 60))
            other.delete("d0")
            store_passages(other, range(10, 20), -ROWS)
        return passage_terms(node)

    monkeypatch.setattr(store_module, "terms_version", lambda: "newer")
    monkeypatch.setattr(store_module, "passage_terms", meanwhile)
    for numbers in (range(20, 30), range(50, 60), range(10, 20)):
        store_passages(fresh, numbers)
    for question in ("passage", "5", "13", "35", "55"):
        found, expected = (each.keyword_search(question, 99) for each in (store, fresh))
        assert [(hit.node.id_, hit.score) for hit in found] == [(hit.node.id_, hit.score) for hit in expected]
    assert written
    for each in (store, other, fresh):
        each._database.close()


def test_machines_with_different_rules_do_not_reindex_forever(
    database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(store: PostgresStore, rules: str) -> str:
        monkeypatch.setattr(store_module, "terms_version", lambda: rules)
        assert [hit.node.id_ for hit in store.keyword_search("13", 5)] == ["13"]
        with database.snapshot() as db:
            return str(db.execute("SELECT terms FROM indexes").fetchall()[0][0])

    one, other = PostgresStore(database), PostgresStore(database)
    store_passages(one, range(20))
    assert [asked(each, rules) for each, rules in 3 * [(one, "these"), (other, "those")]] == ["these"] + 5 * [
        "those"
    ]


def test_keywords_of_an_index_dropped_meanwhile_match_nothing(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_passages(store, range(10))
    given_up: list[bool] = []

    def newer() -> str:
        if not given_up:
            given_up.append(True)
            store.drop()  # as another process does after a rebuild
        return "newer"

    monkeypatch.setattr(store_module, "terms_version", newer)
    assert store.keyword_search("passage", 5) == []
    assert given_up


def test_a_vector_index_is_a_view_on_what_the_store_holds(store: PostgresStore) -> None:
    embedder = HashEmbedding()
    documents = [
        Document(f"The {colour} boat lies at the pier.", id_=colour) for colour in ("red", "green", "blue")
    ]
    context = StorageContext.from_defaults(vector_store=store)
    made = VectorStoreIndex.from_documents(documents, storage_context=context, embed_model=embedder)
    made.delete_ref_doc("green")
    again = VectorStoreIndex.from_vector_store(store, embed_model=embedder)
    hits = VectorIndexRetriever(again, similarity_top_k=3).retrieve("the red boat")
    assert [hit.node.ref_doc_id for hit in hits] == ["red", "blue"]


def test_a_store_is_opened_by_the_parts_of_its_address(store: PostgresStore) -> None:
    strange = {"user": "a:user/@", "password": "p%40:/?#", "database": "my library"}
    address = PGVectorStore.from_params(**strange, host="::1", port="6543")._database.address
    assert (address.user, address.password, address.database) == tuple(strange.values())
    assert (address.host, address.port) == ("::1", 6543)
    usual = PGVectorStore.from_params(**strange)._database.address
    assert (usual.host, usual.port) == ("127.0.0.1", 5432)


def test_a_store_that_was_opened_by_parts_closes_its_connection() -> None:
    folder = postgres.server().partition("?host=")[2]
    postgres.with_password("opener", "its own")
    postgres.admin(postgres.server(), "CREATE DATABASE opened OWNER opener")
    postgres.admin(postgres.server().replace("/postgres?", "/opened?"), "CREATE EXTENSION vector")
    store = PGVectorStore.from_params(
        user="opener", password="its own", database="opened", host=folder, table_name="notes"
    )
    store_passages(store, range(10))
    assert search_numbers(store, ROWS[3], 1) == [3]
    connection = store._database.connection()
    store.close()
    with pytest.raises(StoreError):
        connection.execute("SELECT 1")


def test_a_server_without_pgvector_says_how_to_get_it() -> None:
    postgres.admin(postgres.server(), "CREATE DATABASE bare")
    url = postgres.with_password("guarded", "the right one").replace("/postgres?", "/bare?")
    postgres.admin(postgres.server().replace("/postgres?", "/bare?"), "GRANT ALL ON SCHEMA public TO guarded")
    database = PostgresDatabase(url, SCHEMA)
    with pytest.raises(
        StoreError, match='has no extension for vectors: permission denied to create extension "vector"'
    ) as caught:
        len(PostgresStore(database))
    assert "apt install postgresql-" in caught.value.hint
    assert "in the database bare: CREATE EXTENSION vector" in caught.value.hint
    database.close()
