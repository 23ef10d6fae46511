"""Texts are kept in blocks, and whole stores are copied in batches: neither may be seen in what is read."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.schema import Document, TextNode
from ragcore.sql.sqlite import SQLiteDatabase
from ragcore.vector_stores.disk import COPIED, SCHEMA, DiskStore
from ragcore.vector_stores.memory import MemoryStore
from ragcore.vector_stores.sql_rows import BLOCK, FIRST_BLOCK

LETTERS = (
    "abcdefghijklmnopqrstuvwxyz é東\N{GRINNING FACE}\ud800"  # of one to four bytes, and half a character
)


def store_at(folder: Path) -> DiskStore:
    return DiskStore(SQLiteDatabase(folder / "library.db", SCHEMA), vectors=folder / "vectors")


def text_of(length: int) -> str:
    return "".join(np.random.default_rng(length).choice(list(LETTERS), length)) if length else ""


def cut(text: str, spans: Sequence[tuple[int, int]]) -> list[TextNode]:
    """Passages of a document with the id "d"."""
    return [
        TextNode(
            text[start:end],
            f"p{i}",
            start_char_idx=start,
            end_char_idx=end,
            embedding=np.eye(4, dtype=np.float32)[i % 4],
        )
        for i, (start, end) in enumerate(spans)
    ]


def as_the_first_version(store: DiskStore, text: str) -> None:
    """Keep the text of "d" as the first version did."""
    with store._database.transaction() as db:
        seq, layout = db.execute("SELECT seq, layout FROM documents WHERE id = 'd'").fetchone()
        old = {key: value for key, value in json.loads(layout).items() if key != "block"}
        db.execute("UPDATE documents SET layout = ?, content = NULL WHERE seq = ?", (json.dumps(old), seq))
        db.execute("DELETE FROM texts WHERE document = ?", (seq,))
        for number, start in enumerate(range(0, len(text), FIRST_BLOCK)):
            data = zlib.compress(text[start : start + FIRST_BLOCK].encode("utf-8", "surrogatepass"))
            db.execute("INSERT INTO texts VALUES (?, ?, ?)", (seq, number, data))


lengths = st.sampled_from([0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, FIRST_BLOCK, 2 * FIRST_BLOCK + 5])


@pytest.mark.parametrize("kept", ["now", "first version"])
@given(length=lengths, data=st.data())
def test_any_stretch_of_a_text_is_read_wherever_its_blocks_end(
    tmp_path: Path, kept: str, length: int, data: st.DataObject
) -> None:
    text = text_of(length)
    span = st.tuples(st.integers(0, length), st.integers(0, length)).map(lambda ends: (min(ends), max(ends)))
    spans = data.draw(st.lists(span, max_size=8))
    store = store_at(tmp_path)
    store.upsert(Document(text, "d"), cut(text, spans))
    if kept == "first version":
        as_the_first_version(store, text)
    assert store.document("d").text == text
    assert [node.text for node in store.passages("d")] == [text[start:end] for start, end in spans]
    store._database.close()


def test_a_copied_store_is_the_same_to_the_last_bit(tmp_path: Path) -> None:
    rng, source = np.random.default_rng(5), MemoryStore()
    for number in range(2 * COPIED + 3):
        vectors = rng.normal(size=(number % 3, 8)).astype(np.float32) * rng.choice([1, 7])
        nodes = [
            TextNode(f"passage {i}", f"{number}/{i}", embedding=vector) for i, vector in enumerate(vectors)
        ]
        source.upsert(Document(f"text {number}", str(number), {"file_name": f"{number}.txt"}), nodes)
    source.upsert(Document("again", "7"), [TextNode("again", "7/0", embedding=np.ones(8, np.float32))])
    target = store_at(tmp_path)
    target.copy(source)
    expected, found = source.candidates(), target.candidates()
    assert found.ids == expected.ids
    assert found.rows.tobytes() == expected.rows.tobytes()
    assert found.lengths.tobytes() == expected.lengths.tobytes()
    assert [(each.id_, each.hash, each.passages) for each in target.documents()] == [
        (each.id_, each.hash, each.passages) for each in source.documents()
    ]
    assert target.verify() == []
    hits = [(hit.id_, hit.score) for hit in target.search(np.ones(8, np.float32), 50)]
    assert hits == [(hit.id_, hit.score) for hit in source.search(np.ones(8, np.float32), 50)]
    target._database.close()


def test_copying_replaces_existing_documents_and_keeps_others(tmp_path: Path) -> None:
    source, target = MemoryStore(), store_at(tmp_path)
    target.upsert(Document("old", "d"), cut("old", [(0, 3)]))
    target.upsert(Document("other", "e"), [TextNode("other", "q", embedding=np.ones(4, np.float32))])
    source.upsert(Document("new one", "d"), cut("new one", [(0, 3), (4, 7)]))
    target.copy(source)
    assert [(node.ref_doc_id, node.text) for node in target.passages()] == [
        ("e", "other"),
        ("d", "new"),
        ("d", "one"),
    ]
    target._database.close()
