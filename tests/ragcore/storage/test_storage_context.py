from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import StoreError
from ragcore.indices.loading import load_index_from_storage
from ragcore.indices.vector import VectorStoreIndex
from ragcore.schema import Document, TextNode
from ragcore.sql.sqlite import SQLiteDatabase
from ragcore.storage.disk import DiskStorage
from ragcore.storage.docstore import SimpleDocumentStore
from ragcore.storage.index_store import IndexRecord, SimpleIndexStore
from ragcore.storage.storage_context import StorageContext
from ragcore.vector_stores.base import Store
from ragcore.vector_stores.disk import SCHEMA, DiskStore
from ragcore.vector_stores.memory import MemoryStore
from tests.ragcore.storage.making import fields, items, texts

ROOT = Path(__file__).parents[3]
EMBEDDER = HashEmbedding(16)


def index_of(*texts: str, context: StorageContext | None = None) -> VectorStoreIndex:
    """A document for each text, with ids "0", "1", ..."""
    documents = [Document(text, str(number)) for number, text in enumerate(texts)]
    return VectorStoreIndex.from_documents(documents, context, embed_model=EMBEDDER)


def opened(folder: Path) -> StorageContext:
    return StorageContext.from_defaults(persist_dir=folder)


def loaded(folder: Path) -> VectorStoreIndex:
    index = load_index_from_storage(opened(folder), embed_model=EMBEDDER)
    assert isinstance(index, VectorStoreIndex)
    return index


def contents(store: Store) -> tuple[list[object], list[float]]:
    """Documents and passages, to compare by, and all numbers of their vectors."""
    held: list[object] = []
    numbers: list[float] = []
    for stored in store.documents():
        held.append(fields(store.document(stored.id_)))
        for node in store.nodes(store.passage_ids(stored.id_)):
            assert node.embedding is not None
            held.append(fields(replace(node, embedding=None)))
            numbers += node.embedding.tolist()
    return held, numbers


vectors = st.lists(st.floats(-9, 9, width=32), min_size=3, max_size=3).map(
    lambda row: np.array(row, np.float32)
)
passages = st.lists(st.tuples(texts, vectors, st.sampled_from("abc")), max_size=8)


@given(passages, st.lists(items, max_size=4), st.dictionaries(texts, texts, max_size=2))
def test_what_is_persisted_is_what_is_opened(
    tmp_path: Path,
    given_passages: list[tuple[str, np.ndarray, str]],
    shared: list[object],
    entries: dict[str, str],
) -> None:
    entries = {json.dumps(key): value for key, value in entries.items()}
    context = StorageContext.from_defaults()
    nodes = [
        TextNode(text, f"n{i}", ref_doc_id=of, embedding=row)
        for i, (text, row, of) in enumerate(given_passages)
    ]
    index = VectorStoreIndex(nodes, storage_context=context, embed_model=EMBEDDER)
    record = context.index_store.all()[0]
    context.docstore.add_documents(shared)  # type: ignore[arg-type]
    context.docstore.set_document_hash("a hash", "alone")
    context.node_store(record.place).add_documents(nodes)
    context.index_store.put_entries(record.place, entries)
    context.persist(tmp_path)  # in the second example, over what the first left
    again = opened(tmp_path)
    assert again.index_store.all() == [record]
    assert again.index_store.entries(record.place) == entries
    assert [fields(item) for item in again.docstore.docs.values()] == [
        fields(i) for i in context.docstore.docs.values()
    ]
    assert again.docstore.get_all_document_hashes() == context.docstore.get_all_document_hashes()
    own = again.node_store(record.place)
    assert [node.id_ for node in own.nodes()] == [node.id_ for node in nodes]
    kept, numbers = contents(index.store)
    assert contents(again.store_of(record)) == (kept, pytest.approx(numbers, rel=1e-5, abs=1e-30))
    again.close()


@pytest.mark.smoke
def test_an_opened_index_finds_the_same_with_the_same_scores(tmp_path: Path) -> None:
    index = index_of("cats purr", "dogs bark loudly", "birds sing and dogs bark", "fish say nothing")
    index.storage_context.persist(tmp_path)
    again = loaded(tmp_path)
    for question in ("dogs bark", "who sings", "fish"):
        found = index.as_retriever(3).retrieve(question)
        reloaded = again.as_retriever(3).retrieve(question)
        assert [hit.node.id_ for hit in reloaded] == [hit.node.id_ for hit in found]
        assert [hit.score for hit in reloaded] == pytest.approx([hit.score for hit in found])


def test_changes_to_a_reopened_index_persist(tmp_path: Path) -> None:
    index_of("cats purr", "dogs bark").storage_context.persist(tmp_path)
    index = loaded(tmp_path)
    index.insert(Document("birds sing", "2"))
    assert index.delete_ref_doc("0") == 1
    index.summary = "about animals"
    again = loaded(tmp_path)
    assert [node.text for node in again.store.passages()] == ["dogs bark", "birds sing"]
    assert again.summary == "about animals"
    assert again.index_id == index.index_id


def test_persisting_again_replaces_what_was_there(tmp_path: Path) -> None:
    index_of("old", "older").storage_context.persist(tmp_path)
    index = index_of("cats purr", "dogs bark")
    context, place = index.storage_context, index.storage_context.index_store.all()[0].place
    for documents in (context.docstore, context.node_store(place)):
        documents.add_documents([TextNode("text", "n", ref_doc_id="0")])
        documents.set_document_hash("0", "hash")
    context.index_store.put_entries(place, {"old": 1, "kept": 2})
    context.persist(tmp_path)
    index.delete_ref_doc("0")
    context.node_store(place).delete_ref_doc("0")
    context.index_store.delete_entries(place, ["old"])
    context.persist(tmp_path)
    again = loaded(tmp_path)
    assert again.storage_context.index_store.entries(place) == {"kept": 2}
    for documents in (again.storage_context.docstore, again.storage_context.node_store(place)):
        assert (documents.docs, documents.get_all_document_hashes()) == ({}, {})
    assert again.index_id == index.index_id
    assert [node.text for node in again.store.passages()] == ["dogs bark"]
    assert len(list((tmp_path / "vectors").iterdir())) == 1


def test_a_failed_persist_leaves_what_was_there(tmp_path: Path) -> None:
    index = index_of("cats purr")
    index.storage_context.persist(tmp_path)
    index.insert(Document("dogs bark", "1"))
    index.docstore.add_documents([TextNode("text", metadata={"bad": object()})])  # type: ignore[dict-item]
    with pytest.raises(TypeError):
        index.storage_context.persist(tmp_path)
    assert [node.text for node in loaded(tmp_path).store.passages()] == ["cats purr"]


def test_opened_context_can_be_copied_without_changing_its_own(tmp_path: Path) -> None:
    index_of("cats purr").storage_context.persist(tmp_path / "one")
    index = loaded(tmp_path / "one")
    written = list((tmp_path / "one" / "vectors").iterdir())
    index.storage_context.persist(tmp_path / "one")
    assert list((tmp_path / "one" / "vectors").iterdir()) == written
    assert [node.text for node in index.store.passages()] == ["cats purr"]
    index.storage_context.persist(tmp_path / "two")
    index.delete_ref_doc("0")
    assert len(loaded(tmp_path / "one").store) == 0
    assert [node.text for node in loaded(tmp_path / "two").store.passages()] == ["cats purr"]


@pytest.mark.parametrize("there", ["nothing", "folder", "empty database"])
def test_a_folder_without_an_index_is_refused_and_unchanged(tmp_path: Path, there: str) -> None:
    folder = tmp_path / "stor"
    if there != "nothing":
        folder.mkdir()
    if there == "empty database":
        storage = DiskStorage(folder)
        assert storage.index_store.all() == []
        storage.close()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(StoreError, match="holds no index") as error:
        opened(folder)
    assert "persist" in error.value.hint
    assert str(folder) in error.value.what
    assert [path for path in sorted(tmp_path.rglob("*")) if path.suffix in ("", ".db")] == before


def test_indexes_of_one_context_have_stores_of_their_own(tmp_path: Path) -> None:
    context = StorageContext.from_defaults()
    one, two = index_of("cats purr", context=context), index_of("dogs bark", context=context)
    assert one.delete_ref_doc("0") == 1
    assert [node.text for node in two.store.passages()] == ["dogs bark"]
    context.persist(tmp_path)
    again = load_index_from_storage(opened(tmp_path), two.index_id, embed_model=EMBEDDER)
    assert [node.text for node in again.as_retriever().retrieve("dogs")] == ["dogs bark"]


def test_store_argument_is_used_and_required_again_if_external(tmp_path: Path) -> None:
    database = SQLiteDatabase(tmp_path / "elsewhere.db", SCHEMA)
    # as a server's store would, it outlives its context
    kept = DiskStore(database, vectors=tmp_path / "elsewhere")
    index = index_of("cats purr", context=StorageContext.from_defaults(vector_store=kept))
    assert index.store is kept
    index.storage_context.persist(tmp_path / "storage")
    with pytest.raises(StoreError, match="in a DiskStore") as error:
        loaded(tmp_path / "storage")
    assert "vector_store=" in error.value.hint
    opened(tmp_path / "storage").add_index(opened(tmp_path / "storage").index_store.all()[0])
    with pytest.raises(StoreError, match="in a DiskStore"):  # still
        loaded(tmp_path / "storage")
    context = StorageContext.from_defaults(vector_store=kept, persist_dir=tmp_path / "storage")
    again = load_index_from_storage(context, embed_model=EMBEDDER)
    assert [hit.text for hit in again.as_retriever().retrieve("cats")] == ["cats purr"]
    database.close()


def test_a_memory_store_argument_is_persisted_with_the_rest(tmp_path: Path) -> None:
    docstore = SimpleDocumentStore()
    docstore.add_documents([TextNode("shared", "s")])
    context = StorageContext.from_defaults(docstore=docstore, vector_store=MemoryStore())
    index_of("cats purr", context=context).storage_context.persist(tmp_path)
    again = loaded(tmp_path)
    assert [node.text for node in again.store.passages()] == ["cats purr"]
    assert again.storage_context.docstore.get_node("s").text == "shared"
    # Given beside a folder, it replaces what the folder has when it is persisted there.
    other = SimpleDocumentStore()
    other.add_documents([TextNode("mine", "m")])
    StorageContext.from_defaults(docstore=other, persist_dir=tmp_path).persist(tmp_path)
    last = loaded(tmp_path)
    assert list(last.storage_context.docstore.docs) == ["m"]
    assert [node.text for node in last.store.passages()] == ["cats purr"]


def test_index_store_argument_has_the_records_and_is_persisted(tmp_path: Path) -> None:
    index_store = SimpleIndexStore()
    context = StorageContext.from_defaults(index_store=index_store)
    index = index_of("cats purr", context=context)
    assert [record.index_id for record in index_store.all()] == [index.index_id]
    assert context.storage.index_store.all() == []
    context.persist(tmp_path)
    assert [node.text for node in loaded(tmp_path).store.passages()] == ["cats purr"]
    # Given beside a folder, it replaces what the folder has when it is persisted there.
    StorageContext.from_defaults(index_store=SimpleIndexStore(), persist_dir=tmp_path).persist(tmp_path)
    assert opened(tmp_path).index_store.all() == []


def test_what_one_process_changes_another_sees(tmp_path: Path) -> None:
    index_of("cats purr", "dogs bark").storage_context.persist(tmp_path)
    index = loaded(tmp_path)
    assert len(index.as_retriever(5).retrieve("dogs")) == 2
    program = (
        "import sys; from ragcore import Document, StorageContext, load_index_from_storage\n"
        "from ragcore.embeddings.hashing import HashEmbedding\n"
        "context = StorageContext.from_defaults(persist_dir=sys.argv[1])\n"
        "index = load_index_from_storage(context, embed_model=HashEmbedding(16))\n"
        "index.delete_ref_doc('0'); index.insert(Document('dogs dream', '2'))"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], cwd=ROOT, check=True)
    assert {hit.text for hit in index.as_retriever(5).retrieve("dogs")} == {"dogs bark", "dogs dream"}


def test_a_failed_transaction_in_a_folder_leaves_nothing_of_it(tmp_path: Path) -> None:
    index_of("cats purr").storage_context.persist(tmp_path)
    context = opened(tmp_path)

    def change() -> None:
        with context.transaction():
            context.docstore.add_documents([TextNode("text", "n")])
            context.index_store.upsert(IndexRecord("summary", "new"))
            raise InterruptedError

    with pytest.raises(InterruptedError):
        change()
    assert len(context.docstore) == 0
    assert len(context.index_store.all()) == 1


def test_in_a_folder_nothing_is_read_in_case_it_had_to_be_undone(tmp_path: Path) -> None:
    index_of("cats purr").storage_context.persist(tmp_path)
    index = loaded(tmp_path)
    assert isinstance(index.storage_context.storage, DiskStorage)
    said: list[str] = []
    index.storage_context.storage.database.connection().set_trace_callback(said.append)
    index.insert(Document("dogs bark", "0"))
    assert [line for line in said if line.startswith("INSERT INTO texts")] != []
    assert [line for line in said if "FROM texts" in line and not line.startswith("DELETE")] == []


def test_the_space_of_deleted_items_is_freed(tmp_path: Path) -> None:
    index_of(*(f"text {number}" for number in range(40))).storage_context.persist(tmp_path)
    index = loaded(tmp_path)
    for number in range(35):
        index.delete_ref_doc(str(number))
    assert sum(file.stat().st_size for file in (tmp_path / "vectors").iterdir()) <= 4 * 16 * 2 * 5
    assert {hit.node.ref_doc_id for hit in index.as_retriever(9).retrieve("text 37")} == {
        "35",
        "36",
        "37",
        "38",
        "39",
    }
