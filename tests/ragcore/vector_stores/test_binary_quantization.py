from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.schema import Document, TextNode
from ragcore.sql.sqlite import SQLiteDatabase
from ragcore.vector_stores import disk, disk_vectors, search
from ragcore.vector_stores.base import EVERYTHING, Scope
from ragcore.vector_stores.binary_quantization import CHUNK, Signs, sign_bits
from ragcore.vector_stores.disk import SCHEMA, DiskStore
from ragcore.vector_stores.search import nearest, nearest_by_signs

WIDTH = 48


def clustered(count: int, width: int = WIDTH, seed: int = 0) -> Any:
    """Unit rows around a few hundred centres and all to one side of the origin, as embeddings are."""
    chance = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(300, width)) + 1.5
    rows = centres[chance.integers(300, size=count)] + 0.7 * chance.normal(size=(count, width))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def signs_of(rows: Any) -> Signs:
    mean = rows.mean(axis=0)
    chunks = [
        sign_bits(rows[start : start + CHUNK], mean) for start in range(0, len(rows) // CHUNK * CHUNK, CHUNK)
    ]
    return Signs(mean, np.stack(chunks))


@given(count=st.integers(1, 5), width=st.integers(1, 200), seed=st.integers(0, 9))
def test_a_bit_says_whether_a_number_is_above_the_mean(count: int, width: int, seed: int) -> None:
    rows = np.random.default_rng(seed).normal(size=(count, width)).astype(np.float32)
    mean = rows.mean(axis=0)
    words = sign_bits(rows, mean)
    assert words.shape == (-(-width // 64), count)
    for row in range(count):
        for number in range(width):
            assert (int(words[number // 64, row]) >> number % 64) & 1 == int(rows[row, number] > mean[number])


def test_the_differing_signs_are_those_of_a_plain_count() -> None:
    rows = clustered(2 * CHUNK, 100)
    signs = signs_of(rows)
    query = clustered(1, 100, seed=5)[0]
    assert (
        signs.count_differing_bits(query).tolist()
        == ((rows > signs.mean) != (query > signs.mean)).sum(axis=1).tolist()
    )


def in_any_direction(count: int, width: int = WIDTH, seed: int = 0) -> Any:
    """Unit rows of which none is near another."""
    rows = np.random.default_rng(seed).normal(size=(count, width))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("share", [None, 0.3], ids=["all", "chosen"])
@pytest.mark.parametrize("some_rows", [clustered, in_any_direction])
def test_sign_search_loses_at_most_one_percent_of_the_top_ten(some_rows: Any, share: float | None) -> None:
    rows = some_rows(8 * CHUNK + 500, 96)
    signs = signs_of(rows)
    chosen = None if share is None else np.random.default_rng(4).random(len(rows)) < share
    found = 0
    for query in some_rows(40, 96, seed=3):
        exact, _ = nearest(rows, query, 10, chosen)
        places, scores = nearest_by_signs(rows, signs, query, 10, chosen)
        assert scores == pytest.approx(
            [float(rows[place].astype(float) @ query) for place in places], abs=1e-5
        )
        found += len(set(places.tolist()) & set(exact.tolist()))
    assert found >= 0.99 * 40 * 10


def test_where_the_nearest_stand_out_few_rows_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = clustered(4 * CHUNK, 384)
    signs, compared = signs_of(rows), []

    def counted(rows: Any, query: Any, k: int, chosen: Any = None) -> Any:
        compared.append(int(chosen.sum()))
        return nearest(rows, query, k, chosen)

    monkeypatch.setattr(search, "nearest", counted)
    for query in clustered(20, 384, seed=3):
        search.nearest_by_signs(rows, signs, query, 10)
    assert len(compared) == 20  # none is asked for twice
    assert max(compared) < len(rows) / 10


def node(document: str, number: int, row: Any) -> TextNode:
    return TextNode("x", f"{document}/{number}", ref_doc_id=document, embedding=row)


def store_rows(store: DiskStore, id_: str, rows: Any) -> None:
    store.upsert(Document("x", id_=id_), [node(id_, number, row) for number, row in enumerate(rows)])


def turn_bits(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:5000] + b"\x55" * 900 + data[5900:])


def test_store_uses_signs_where_they_exist_and_searches_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (disk, disk_vectors):
        monkeypatch.setattr(module, "SIGNS_FROM", CHUNK)
    rows = clustered(CHUNK + 700)
    ids = [f"large/{i}" for i in range(CHUNK + 300)] + [f"small/{i}" for i in range(400)]
    queries = clustered(10, seed=7)

    def check(store: DiskStore, among: Any, scope: Scope = EVERYTHING) -> None:
        for query in queries:
            cosines = np.where(among, rows.astype(float) @ query, -9)
            expected = np.argsort(-cosines, kind="stable")[:10]
            found = store.search(query, 10, scope)
            assert [hit.node.id_ for hit in found] == [ids[i] for i in expected]
            assert [hit.score for hit in found] == pytest.approx(cosines[expected], abs=1e-5)

    everything = np.ones(len(rows), bool)
    database = SQLiteDatabase(tmp_path / "library.db", SCHEMA)
    store = DiskStore(database, vectors=tmp_path / "vectors")
    store_rows(store, "large", rows[: CHUNK + 300])
    (signs,) = (tmp_path / "vectors").glob("*.signs")
    assert signs.stat().st_size == 4 * WIDTH + 8 * CHUNK
    store_rows(store, "small", rows[CHUNK + 300 :])
    check(store, everything)
    check(store, np.arange(len(rows)) >= CHUNK + 300, Scope(document_ids=["small"]))
    sound = signs.read_bytes()
    for damage in (Path.unlink, lambda path: path.write_bytes(b"short"), turn_bits):
        damage(signs)
        fresh = DiskStore(database, vectors=tmp_path / "vectors")
        if damage is not turn_bits:  # which loses a few until it is found
            check(fresh, everything)
        assert fresh.verify() == []
        assert signs.read_bytes() == sound
        check(fresh, everything)
    store.delete("large")
    check(store, np.arange(len(rows)) >= CHUNK + 300)
    assert list((tmp_path / "vectors").glob("*.signs")) == []
    store.close()
    database.close()
