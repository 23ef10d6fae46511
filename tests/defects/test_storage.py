"""Defects of indexes and their storage that are known from elsewhere, and are not here."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import DamagedStoreError, EmbeddingError, UnknownDocumentError
from ragcore.indices.loading import load_index_from_storage
from ragcore.indices.vector import VectorStoreIndex
from ragcore.node_parser.sentence import SentenceSplitter
from ragcore.schema import Document, TextNode
from ragcore.storage.disk import DiskStorage
from ragcore.storage.storage_context import StorageContext
from ragcore.vector_stores.memory import MemoryStore

ROOT = Path(__file__).parents[2]
DIMENSION = 384


class Counting(HashEmbedding):
    """Keeps how many texts came at once; fails while it is told to."""

    def __init__(self) -> None:
        super().__init__(16)
        self.batches: list[int] = []
        self.broken = False

    def embed_passages(self, texts: Sequence[str]) -> Any:
        if self.broken:
            raise EmbeddingError("The model is gone.")
        self.batches.append(len(texts))
        return super().embed_passages(texts)


def some_nodes(count: int) -> list[TextNode]:
    """Of some 400 characters each, 20 to a document."""
    rows = np.random.default_rng(0).normal(size=(count, DIMENSION)).astype(np.float32)
    nodes: list[TextNode] = []
    for i, row in enumerate(rows):
        text = f"Passage {i:4d} says that {i * i:6d} is the square of {i:4d}. " * 7
        start = i % 20 * len(text)
        end = start + len(text)
        nodes.append(TextNode(text, f"n{i}", {}, f"d{i // 20}", start, end, embedding=row))
    return nodes


def persisted(folder: Path, nodes: Sequence[TextNode | Document]) -> None:
    VectorStoreIndex(nodes, embed_model=HashEmbedding(DIMENSION)).storage_context.persist(folder)


def loaded(folder: Path) -> VectorStoreIndex:
    index = load_index_from_storage(
        StorageContext.from_defaults(persist_dir=folder), embed_model=HashEmbedding(DIMENSION)
    )
    assert isinstance(index, VectorStoreIndex)
    return index


def statements(index: VectorStoreIndex, work: Callable[[], object]) -> int:
    """How many SQL statements `work` takes."""
    storage = index.storage_context.storage
    assert isinstance(storage, DiskStorage)
    said: list[str] = []
    storage.database.connection().set_trace_callback(said.append)
    work()
    storage.database.connection().set_trace_callback(None)
    return len(said)


def calls(work: Callable[[], object]) -> int:
    """How many functions `work` calls, Python's own included."""
    count = 0

    def counted(frame: FrameType, event: str, arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def test_d01_persisted_index_is_vectors_and_text_without_json(tmp_path: Path) -> None:
    nodes = some_nodes(1000)
    persisted(tmp_path, nodes)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    vectors = [path for path in files if path.suffix == ".f32"]
    assert [path.stat().st_size for path in vectors] == [4 * DIMENSION * len(nodes)]
    text = sum(len(node.text) for node in nodes)
    assert sum(path.stat().st_size for path in files) < 4 * DIMENSION * len(nodes) + 1.5 * text
    assert not [path for path in files if path.suffix == ".json"]


def test_d01_opening_reads_no_vectors_and_has_constant_cost(tmp_path: Path) -> None:
    counts = []
    for size in (20, 1000):
        folder = tmp_path / str(size)
        persisted(folder, some_nodes(size))
        for path in (folder / "vectors").iterdir():
            path.unlink()
        counts.append(calls(lambda: loaded(folder)))  # noqa: B023 - called at once
        index = loaded(folder)
        assert len(index.store) == size
        with pytest.raises(DamagedStoreError, match="is missing"):
            index.as_retriever().retrieve("squares")
    assert counts[1] <= counts[0] * 1.05


def test_d02_ready_index_loads_and_searches_without_a_tokenizer(tmp_path: Path) -> None:
    nodes = [TextNode("cats purr", "n1"), TextNode("dogs bark", "n2")]
    VectorStoreIndex(nodes, embed_model=HashEmbedding(16)).storage_context.persist(tmp_path)
    program = (
        "import json, sys; from ragcore import StorageContext, load_index_from_storage\n"
        "from ragcore.embeddings.hashing import HashEmbedding\n"
        "context = StorageContext.from_defaults(persist_dir=sys.argv[1])\n"
        "index = load_index_from_storage(context, embed_model=HashEmbedding(16))\n"
        "found = index.as_retriever(1).retrieve('Do dogs bark?')\n"
        "engine = index.as_query_engine()\n"
        "print(json.dumps([found[0].text, engine.retrieve('Do cats purr?')[0].text, sorted(sys.modules)]))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], cwd=ROOT, check=True, capture_output=True, text=True
    )
    *texts, modules = json.loads(run.stdout)
    assert texts == ["dogs bark", "cats purr"]
    heavy = {"tiktoken", "tokenizers", "transformers", "torch", "sentence_transformers", "nltk"}
    assert not heavy & set(modules)


def test_d04_view_on_a_store_uses_the_context_s_documents() -> None:
    store = VectorStoreIndex([TextNode("cats purr", "n1")], embed_model=Counting()).store
    context = StorageContext.from_defaults(vector_store=store)
    context.docstore.add_documents([TextNode("above", "parent")])
    index = VectorStoreIndex.from_vector_store(store, Counting(), storage_context=context)
    assert index.storage_context is context
    assert index.docstore.get_node("parent").text == "above"
    assert [record.index_id for record in context.index_store.all()] == [index.index_id]


def test_d05_deleted_document_is_gone_after_reopening(tmp_path: Path) -> None:
    persisted(tmp_path, [Document("cats purr", "pets"), Document("the sea is deep", "sea")])
    index = loaded(tmp_path)
    index.docstore.add_documents([TextNode("all about pets", "above", ref_doc_id="pets")])
    assert index.delete_ref_doc("pets") == 1
    again = loaded(tmp_path)
    assert [node.text for node in again.store.passages()] == ["the sea is deep"]
    assert [hit.text for hit in again.as_retriever(5).retrieve("cats purr")] == ["the sea is deep"]
    assert again.store.keyword_search("cats purr", 5) == []
    assert list(again.ref_doc_info) == ["sea"]
    assert [item.text for item in again.docstore.docs.values()] == ["the sea is deep"]


def test_d13_every_way_in_embeds_many_documents_at_once() -> None:
    documents = [Document(f"text {number}", str(number)) for number in range(20)]
    nodes = SentenceSplitter(tokenizer=str.split).get_nodes_from_documents(documents)
    ways: list[Callable[[Counting], object]] = [
        lambda embedder: VectorStoreIndex.from_documents(documents, embed_model=embedder),
        lambda embedder: VectorStoreIndex(documents, embed_model=embedder),
        lambda embedder: VectorStoreIndex(nodes, embed_model=embedder),
        lambda embedder: VectorStoreIndex([], embed_model=embedder).insert_documents(documents),
        lambda embedder: VectorStoreIndex([], embed_model=embedder).insert_nodes(nodes),
        lambda embedder: VectorStoreIndex([], embed_model=embedder).refresh_ref_docs(documents),
    ]
    for way in ways:
        embedder = Counting()
        way(embedder)
        assert [size for size in embedder.batches if size] == [20]


def one_sentence(nodes: Sequence[Document | TextNode]) -> list[TextNode]:
    return [TextNode(node.text, f"{node.id_}#", ref_doc_id=node.id_) for node in nodes]


def test_d15_the_thousandth_insert_costs_what_the_hundredth_did() -> None:
    index = VectorStoreIndex([], embed_model=HashEmbedding(16), transformations=[one_sentence])

    def inserted(first: int) -> Callable[[], object]:
        documents = [Document(f"The text is {number}.", str(number)) for number in range(first, first + 50)]
        return lambda: [index.insert(document) for document in documents]

    early = calls(inserted(50))
    inserted(100)()
    for first in range(150, 1000, 50):
        inserted(first)()
    assert calls(inserted(1000)) <= early * 1.1
    assert len(index.store) == 1000


def test_d15_nor_does_it_in_a_folder(tmp_path: Path) -> None:
    persisted(tmp_path, [])
    index = loaded(tmp_path)
    index.transformations = (one_sentence,)

    def inserted(first: int) -> Callable[[], object]:
        documents = [Document(f"The text is {number}.", str(number)) for number in range(first, first + 10)]
        return lambda: [index.insert(document) for document in documents]

    inserted(0)()
    early = statements(index, inserted(10)), calls(inserted(20))
    for first in range(30, 200, 10):
        inserted(first)()
    late = statements(index, inserted(200)), calls(inserted(210))
    assert late[0] <= early[0] * 1.2
    assert late[1] <= early[1] * 1.2


def test_d20_documents_with_failed_embedding_succeed_on_retry(tmp_path: Path) -> None:
    documents = [Document("cats purr", "pets"), Document("the sea is deep", "sea")]
    embedder = Counting()
    index = VectorStoreIndex([Document("cats meow", "pets")], embed_model=embedder)
    embedder.broken = True
    for attempt in (index.insert_documents, index.refresh_ref_docs):
        with pytest.raises(EmbeddingError):
            attempt(documents)
        assert [node.text for node in index.store.passages()] == ["cats meow"]
    embedder.broken = False
    assert index.refresh_ref_docs(documents) == [True, True]
    assert [node.text for node in index.store.passages()] == ["cats purr", "the sea is deep"]


def test_d22_indexes_of_one_context_do_not_disturb_each_other() -> None:
    context = StorageContext.from_defaults()
    documents = [Document("cats purr", "pets"), Document("the sea is deep", "sea")]
    one, two = (VectorStoreIndex.from_documents(documents, context, embed_model=Counting()) for _ in range(2))
    one.delete_ref_doc("pets")
    changed = Document("cats meow", "pets")
    assert two.refresh_ref_docs([changed, documents[1]]) == [True, False]
    assert one.refresh_ref_docs([documents[0]]) == [True]
    assert {node.text for node in one.store.passages()} == {"cats purr", "the sea is deep"}
    assert {node.text for node in two.store.passages()} == {"cats meow", "the sea is deep"}


def modules_after(program: str) -> set[str]:
    command = (
        f"import sys\nbefore = set(sys.modules)\n{program}\nprint('\\n'.join(set(sys.modules) - before))"
    )
    run = subprocess.run(
        [sys.executable, "-c", command], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return set(run.stdout.split())


def test_d34_everything_can_be_imported_at_once() -> None:
    loaded_modules = modules_after(
        "from ragcore import *\nVectorStoreIndex, Settings, StorageContext, load_index_from_storage"
    )
    assert "ragcore.indices.vector" in loaded_modules
    for name in ("ragcore.storage", "ragcore.indices", "ragcore.query_engine"):
        modules_after(f"from {name} import *")


def test_d36_import_is_cheap() -> None:
    modules = modules_after("import ragcore")
    assert len(modules) < 80  # how many of the standard library are loaded before differs by installation
    assert len([name for name in modules if name.split(".")[0] not in sys.stdlib_module_names]) < 10


def test_d37_documents_as_nodes_can_be_deleted_and_reinserted() -> None:
    documents = [Document(f"Text number {number}.") for number in range(3)]
    index = VectorStoreIndex(documents, embed_model=Counting())
    index.delete_ref_doc(documents[0].id_)
    assert len(index.store) == 2
    with pytest.raises(UnknownDocumentError):
        index.delete_ref_doc(documents[0].id_)
    for document in [*documents, documents[1]]:
        index.insert(document)
    assert len(index.store) == 3


def test_d39_storing_in_memory_writes_no_text_down_as_json() -> None:
    written: list[str] = []

    def watched(frame: FrameType, event: str, arg: object) -> None:
        if (
            event == "call"
            and frame.f_code.co_name in ("dumps", "encode")
            and "json" in frame.f_code.co_filename
        ):
            written.append(str(frame.f_locals))

    node = TextNode(
        "a text that is only kept", metadata={"page": 1}, embedding=np.ones(3, np.float32), ref_doc_id="d"
    )
    store = MemoryStore()
    sys.setprofile(watched)
    try:
        VectorStoreIndex([node], embed_model=Counting(), store=store)
    finally:
        sys.setprofile(None)
    assert any("page" in each for each in written)  # that it can be seen at all
    assert not any("only kept" in each for each in written)
