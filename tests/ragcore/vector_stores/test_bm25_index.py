"""The keyword index in a database: what it finds beside a plain count of words, whatever was added and
removed before."""

from __future__ import annotations

import math
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.schema import Document, TextNode
from ragcore.sql.sqlite import SQLiteDatabase
from ragcore.vector_stores import bm25_index, disk, postings_codec
from ragcore.vector_stores.base import Scope
from ragcore.vector_stores.bm25_index import SCHEMA, Postings
from ragcore.vector_stores.disk import DiskStore
from tests.needs import SHARED, needs_documents

UDHR = SHARED / "data" / "udhr" / "txt"
ROOT = Path(__file__).parents[3]

Passages = dict[int, list[str]]  # by row


def bm25(passages: Passages, query: Sequence[str], k: int, among: set[int] | None) -> list[tuple[int, float]]:
    """By the formula of SQLite's FTS5, passage by passage."""
    if not passages:
        return []
    average = sum(map(len, passages.values())) / len(passages)
    found, idf = [], {}
    for term in query:
        having = sum(term in each for each in passages.values())
        idf[term] = max(math.log((len(passages) - having + 0.5) / (having + 0.5)), 1e-6)
    for row, terms in sorted(passages.items()):
        score = 0.0
        for term in query:
            count = terms.count(term)
            if count:
                score += idf[term] * count * 2.2 / (count + 1.2 * (1 - 0.75 + 0.75 * len(terms) / average))
        if score > 0 and (among is None or row in among):
            found.append((row, score))
    return sorted(found, key=lambda hit: -hit[1])[:k]


@contextmanager
def opened(path: Path) -> Iterator[SQLiteDatabase]:
    with closing(SQLiteDatabase(path, SCHEMA)) as database:
        yield database


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SQLiteDatabase]:
    with opened(tmp_path / "words.db") as database:
        yield database


def agree(found: list[tuple[int, float]], expected: list[tuple[int, float]]) -> None:
    assert [row for row, _ in found] == [row for row, _ in expected]
    assert [score for _, score in found] == pytest.approx([score for _, score in expected], rel=1e-12)


WORDS = ["a", "ab", "b", "fish", "Straße", "東京", "คน", "\ud800", "it's", "x" * 300, "¹", "\0"]
texts = st.lists(st.lists(st.sampled_from(WORDS), max_size=12), max_size=6)
steps = st.one_of(
    st.tuples(st.just("add"), texts),
    st.tuples(st.just("remove"), st.lists(st.integers(1, 40), max_size=8)),
    st.tuples(st.just("compact"), st.none()),
)
queries = st.lists(st.sampled_from([*WORDS, "absent"]), min_size=1, max_size=6, unique=True)


@given(
    steps=st.lists(steps, max_size=14),
    query=queries,
    k=st.integers(0, 8),
    among=st.none() | st.sets(st.integers(1, 40)),
)
def test_any_sequence_of_changes_matches_a_plain_count(
    monkeypatch: pytest.MonkeyPatch,
    database: SQLiteDatabase,
    steps: list[tuple[str, Any]],
    query: list[str],
    k: int,
    among: set[int] | None,
) -> None:
    for module, name, small in (
        (postings_codec, "BLOCK", 3),
        (postings_codec, "BATCH", 4),
        (bm25_index, "BLOCKS_PER_STATEMENT", 2),
        (bm25_index, "FEW", 2),
        (bm25_index, "CACHE_BYTES", 2000),
    ):
        monkeypatch.setattr(module, name, small)
    index, known = Postings(), dict[int, list[str]]()
    with database.transaction() as db:
        index.clear(db, 1)
        index.add(db, 2, [(1, ["fish", "of", "another", "index"])])
        for step, given_ in steps:
            if step == "add":
                added = dict(enumerate(given_, max(known, default=0) + 1))
                index.add(db, 1, added.items())
                known |= added
            elif step == "remove":
                index.remove(db, 1, given_)
                known = {row: terms for row, terms in known.items() if row not in given_}
            else:
                index.compact(db, 1)
            agree(index.search(db, 1, query, k, among), bm25(known, query, k, among))
        agree(Postings().search(db, 1, query, 99), bm25(known, query, 99, None))


def test_among_many_passages_the_best_are_those_of_a_plain_count(database: SQLiteDatabase) -> None:
    chance = np.random.default_rng(4)
    vocabulary = np.array([f"word{i}" for i in range(500)])
    known = {row: vocabulary[chance.zipf(1.2, 40) % 500].tolist() for row in range(1, 1501)}
    index = Postings()
    with database.transaction() as db:
        rows = list(known.items())
        for start in range(0, len(rows), 100):
            index.add(db, 1, rows[start : start + 100])
        gone = chance.choice(1500, 300, replace=False) + 1
        index.remove(db, 1, gone.tolist())
    known = {row: terms for row, terms in known.items() if row not in gone}
    with database.snapshot() as db:
        for _ in range(10):
            query = list(dict.fromkeys(vocabulary[chance.zipf(1.3, 12) % 500].tolist()))
            agree(index.search(db, 1, query, 10), bm25(known, query, 10, None))


def test_thousand_single_additions_leave_few_segments(database: SQLiteDatabase) -> None:
    index, written = Postings(), Counter[str]()
    database.connection().set_trace_callback(lambda statement: written.update([statement[:26]]))
    for number in range(1000):
        with database.transaction() as db:
            index.add(db, 1, [(number + 1, [f"word{number % 7}", f"own{number}"])])
    database.connection().set_trace_callback(None)
    with database.snapshot() as db:
        (segments,) = db.execute("SELECT count(*) FROM keyword_segments").fetchone()
        assert [row for row, _ in index.search(db, 1, ["word3"], 1000)] == list(range(4, 1001, 7))
    assert segments <= 15
    assert 1000 <= written["INSERT INTO keyword_blocks"] <= 2000


def test_removing_frees_what_nothing_living_needs(database: SQLiteDatabase) -> None:
    index = Postings()
    with database.transaction() as db:
        index.add(db, 1, ((row, [f"word{row}"]) for row in range(1, 101)))
        index.remove(db, 1, range(1, 60))
        index.remove(db, 1, range(1, 60))
        names = b"\n".join(
            zlib.decompress(row["terms"]) for row in db.execute("SELECT terms FROM keyword_blocks")
        )
        assert set(names.decode().split()) == {f"word{row}" for row in range(60, 101)}
        index.remove(db, 1, range(60, 101))
        for table in ("keyword_segments", "keyword_passages", "keyword_blocks"):
            assert db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] == 0
        assert index.search(db, 1, ["word70"], 5) == []


def test_a_change_undone_is_forgotten(database: SQLiteDatabase) -> None:
    index = Postings()
    with database.transaction() as db:
        index.add(db, 1, [(1, ["stays"])])

    def undone() -> None:
        with database.transaction() as db:
            index.remove(db, 1, [1])
            index.add(db, 1, [(2, ["goes"])])
            assert [row for row, _ in index.search(db, 1, ["stays", "goes"], 5)] == [2]
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        undone()
    with database.snapshot() as db:
        assert [row for row, _ in index.search(db, 1, ["stays", "goes"], 5)] == [1]


KILLED = """
import sys
import zlib
from pathlib import Path
from tests.ragcore.vector_stores.test_bm25_index import opened, Postings
with opened(Path(sys.argv[1])) as database, database.transaction() as db:
    Postings().remove(db, 1, range(1, 30))
    Postings().add(db, 1, ((row, ["new"] * 500) for row in range(1000, 4000)))
    print("written", flush=True)
    sys.stdin.read()
"""


def test_a_process_killed_in_a_transaction_leaves_what_was_there(tmp_path: Path) -> None:
    with opened(tmp_path / "words.db") as database:
        with database.transaction() as db:
            Postings().add(db, 1, ((row, ["old", f"word{row}"]) for row in range(1, 50)))
        arguments = [sys.executable, "-c", KILLED, str(tmp_path / "words.db")]
        writer = subprocess.Popen(arguments, stdout=subprocess.PIPE, stdin=subprocess.PIPE, cwd=ROOT)
        with writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"written\n"
            writer.kill()
        with database.transaction() as db:
            index = Postings()
            assert [row for row, _ in index.search(db, 1, ["old", "new"], 99)] == list(range(1, 50))
            index.add(db, 1, [(50, ["new"])])
            assert [row for row, _ in index.search(db, 1, ["new"], 99)] == [50]


# --- in the store -------------------------------------------------------------------------------------------


def stored(store: DiskStore, name: str, texts: Sequence[str]) -> None:
    vector = np.ones(2, np.float32)
    store.upsert(
        Document("\n".join(texts), id_=name),
        [TextNode(t, f"{name}/{i}", ref_doc_id=name, embedding=vector) for i, t in enumerate(texts)],
    )


def test_library_with_fts5_keywords_is_reindexed_on_first_use(tmp_path: Path) -> None:
    with closing(SQLiteDatabase(tmp_path / "library.db", disk.SCHEMA)) as database:
        store = DiskStore(database, vectors=tmp_path)
        stored(store, "a", ["red fish", "blue boat"])
        stored(store, "b", ["red lake"])
        db = database.connection()
        for table in ("keyword_segments", "keyword_passages", "keyword_blocks"):
            db.execute(f"DROP TABLE {table}")
        db.execute("CREATE VIRTUAL TABLE keywords_1 USING fts5 (terms, content='')")
        db.execute("UPDATE indexes SET terms = 'an earlier version'")
    with closing(SQLiteDatabase(tmp_path / "library.db", disk.SCHEMA)) as database:
        store = DiskStore(database, vectors=tmp_path)
        store.delete("b")
        stored(store, "c", ["red boat"])
        assert [hit.node.id_ for hit in store.keyword_search("red boats", 5)] == ["c/0", "a/0", "a/1"]
        assert [hit.node.id_ for hit in store.keyword_search("red", 5, Scope(document_ids=["a"]))] == ["a/0"]
        tables = {row["name"] for row in database.connection().execute("SELECT name FROM sqlite_master")}
        assert not [name for name in tables if name.startswith("keywords_")]


def test_keywords_of_an_index_dropped_meanwhile_match_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(SQLiteDatabase(tmp_path / "library.db", disk.SCHEMA)) as database:
        store, given_up = DiskStore(database, vectors=tmp_path), []
        stored(store, "a", ["red fish"])

        def newer() -> str:
            if not given_up:
                given_up.append(True)
                store.drop()  # as another process does after a rebuild
            return "newer"

        monkeypatch.setattr(disk, "terms_version", newer)
        assert store.keyword_search("red", 5) == []
        assert given_up


@needs_documents(UDHR)
@pytest.mark.parametrize("language", ["jpn", "cmn_hans", "cmn_hant", "kor", "tha", "lao", "khm", "mya"])
def test_part_of_a_paragraph_matches_it_in_unspaced_scripts(language: str, tmp_path: Path) -> None:
    lines = (UDHR / f"{language}.txt").read_text(encoding="utf-8").splitlines()
    paragraphs = [line.strip() for line in dict.fromkeys(lines) if len(line.strip()) > 30]
    with closing(SQLiteDatabase(tmp_path / "library.db", disk.SCHEMA)) as database:
        store = DiskStore(database, vectors=tmp_path)
        stored(store, "a", paragraphs)
        asked = [paragraph[len(paragraph) // 3 :][:14] for paragraph in paragraphs]
        found = [[hit.node.id_ for hit in store.keyword_search(question, 3)] for question in asked]
    assert len(asked) > 30
    assert sum(f"a/{number}" in ids for number, ids in enumerate(found)) >= 0.8 * len(asked)


@pytest.mark.parametrize("word", ["水曜", "경찰", "ยา", "งู", "ປາ", "ត្រី", "ငါး"])
def test_a_short_word_matches_inside_longer_text(word: str, tmp_path: Path) -> None:
    around = {
        "水": "毎週{}日です",
        "경": "서울{}청",
        "ย": "ร้านขาย{}ใกล้บ้าน",
        "ง": "เห็น{}ในสวน",
        "ປ": "ຊື້{}ໃນຕະຫຼາດ",
    }
    text = around.get(word[0], "{0}{0}").format(word)
    with closing(SQLiteDatabase(tmp_path / "library.db", disk.SCHEMA)) as database:
        store = DiskStore(database, vectors=tmp_path)
        stored(store, "a", ["ข้าวและน้ำ", text, "東京都"])
        assert [hit.node.id_ for hit in store.keyword_search(word, 3)] == ["a/1"]
