"""A storage on another file system, and as plain values: what comes back is what was there."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from ragcore import Document, StorageContext, SummaryIndex, VectorStoreIndex
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import StoreError
from ragcore.indices.base import BaseIndex
from ragcore.llamaindex import load_index_from_storage
from ragcore.llamaindex.indices.keyword_table.base import SimpleKeywordTableIndex
from ragcore.schema import IndexNode, TextNode
from ragcore.storage.disk import DiskStorage
from ragcore.vector_stores.disk import DiskStore
from ragcore.vector_stores.memory import MemoryStore
from tests.ragcore.storage.making import fields

EMBEDDER = HashEmbedding(16)


@pytest.fixture
def files() -> Iterator[MemoryFileSystem]:
    MemoryFileSystem.store.clear()
    yield MemoryFileSystem()
    MemoryFileSystem.store.clear()


def index_of(*texts: str) -> VectorStoreIndex:
    return VectorStoreIndex.from_documents([Document(text, text) for text in texts], embed_model=EMBEDDER)


def retrieve_texts(context: StorageContext, index_id: str, question: str) -> list[tuple[str, float | None]]:
    index = load_index_from_storage(context, index_id, embed_model=EMBEDDER)
    assert isinstance(index, VectorStoreIndex)
    return [(hit.text, hit.score) for hit in index.as_retriever(similarity_top_k=5).retrieve(question)]


def test_a_folder_of_another_file_system_is_written_and_opened(files: MemoryFileSystem) -> None:
    index = index_of("cats purr", "dogs bark")
    index.storage_context.persist("bucket/one", fs=files)
    assert sorted(name.split("/")[3] for name in files.find("bucket/one")) == ["storage.db", "vectors"]
    again = StorageContext.from_defaults(persist_dir="bucket/one", fs=files)
    assert retrieve_texts(again, index.index_id, "Do dogs bark?") == retrieve_texts(
        index.storage_context, index.index_id, "Do dogs bark?"
    )


def test_persisting_writes_changes_and_removes_the_old(files: MemoryFileSystem) -> None:
    index = index_of("cats purr", "dogs bark")
    index.storage_context.persist("one", fs=files)
    files.pipe("one/notes.txt", b"mine")
    context = StorageContext.from_defaults(persist_dir="one", fs=files)
    load_index_from_storage(context, embed_model=EMBEDDER).delete_ref_doc("cats purr")
    there = StorageContext.from_defaults(persist_dir="one", fs=files)
    assert len(retrieve_texts(there, index.index_id, "cats")) == 2
    before = len(files.find("one"))
    context.persist("one", fs=files)
    there = StorageContext.from_defaults(persist_dir="one", fs=files)
    assert [text for text, _ in retrieve_texts(there, index.index_id, "cats")] == ["dogs bark"]
    assert len(files.find("one")) == before
    assert files.cat("one/notes.txt") == b"mine"


def test_the_copy_that_is_worked_on_goes_with_the_context(files: MemoryFileSystem) -> None:
    index_of("cats purr").storage_context.persist("one", fs=files)
    context = StorageContext.from_defaults(persist_dir="one", fs=files)
    assert isinstance(context.storage, DiskStorage)
    folder = context.storage.folder
    assert folder.is_dir()
    del context
    gc.collect()
    assert not folder.exists()


def test_a_folder_that_is_not_there_is_named(files: MemoryFileSystem) -> None:
    with pytest.raises(StoreError, match=r"The folder bucket/none holds no index"):
        StorageContext.from_defaults(persist_dir="bucket/none", fs=files)


def test_plain_values_give_the_same_indexes_again() -> None:
    context = StorageContext.from_defaults()
    nodes = [
        TextNode("cats purr", "c", {"kind": "pet"}, ref_doc_id="pets", next_id="d"),
        IndexNode("dogs bark", "d", index_id="x", ref_doc_id="pets"),
    ]
    made: list[BaseIndex] = [
        VectorStoreIndex(nodes, storage_context=context, embed_model=EMBEDDER),
        SummaryIndex(nodes, storage_context=context, embed_model=EMBEDDER),
        SimpleKeywordTableIndex(nodes, storage_context=context, embed_model=EMBEDDER),
    ]
    context.docstore.add_documents([Document("shared", "s")])
    saved = context.to_dict()
    assert sorted(saved) == ["doc_store", "index_store", "vector_store"]
    again = StorageContext.from_dict(json.loads(json.dumps(saved)))
    assert again.index_store.all() == context.index_store.all()
    assert [fields(each) for each in again.docstore.docs.values()] == [
        fields(each) for each in context.docstore.docs.values()
    ]
    assert retrieve_texts(again, made[0].index_id, "Do dogs bark?") == retrieve_texts(
        context, made[0].index_id, "Do dogs bark?"
    )
    for index in made[1:]:
        copied = load_index_from_storage(again, index.index_id, embed_model=EMBEDDER)
        assert [fields(each) for each in copied.docstore.docs.values()] == [
            fields(node) for node in index.docstore.docs.values()
        ]
        assert [hit.node_id for hit in copied.as_retriever().retrieve("dogs")] == [
            hit.node_id for hit in index.as_retriever().retrieve("dogs")
        ]
    assert again.to_dict() == saved
    load_index_from_storage(again, made[0].index_id, embed_model=EMBEDDER).delete_ref_doc("pets")
    assert context.to_dict() == saved


def test_values_include_vectors_of_a_memory_store_argument() -> None:
    context = StorageContext.from_defaults(vector_store=MemoryStore())
    index = VectorStoreIndex([TextNode("cats purr", "c")], storage_context=context, embed_model=EMBEDDER)
    assert (
        retrieve_texts(StorageContext.from_dict(context.to_dict()), index.index_id, "cats")[0][0]
        == "cats purr"
    )


def test_a_store_that_keeps_its_vectors_itself_is_named(tmp_path: Path) -> None:
    kept = index_of("cats purr").storage_context
    kept.persist(tmp_path)
    store = StorageContext.from_defaults(persist_dir=tmp_path).storage.vectors("of another")
    assert isinstance(store, DiskStore)
    context = StorageContext.from_defaults(vector_store=store)
    VectorStoreIndex([TextNode("cats purr", "c")], storage_context=context, embed_model=EMBEDDER)
    with pytest.raises(ValueError, match="are in a DiskStore"):
        context.to_dict()
