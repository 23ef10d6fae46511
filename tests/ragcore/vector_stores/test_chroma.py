"""What the Chroma store does beyond the contract of all stores: other spaces, writers that die, a real
server."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import MissingPackageError, StoreError, UnknownDocumentError
from ragcore.indices.vector import VectorStoreIndex
from ragcore.retrievers.vector import VectorIndexRetriever
from ragcore.schema import Document, TextNode
from ragcore.storage.storage_context import StorageContext
from ragcore.vector_stores import chroma
from ragcore.vector_stores.base import Scope
from ragcore.vector_stores.chroma import ChromaVectorStore
from ragcore.vector_stores.chroma_records import where_of
from ragcore.vector_stores.filters import MetadataFilter, MetadataFilters
from tests.chroma import close_clients
from tests.chroma import server as chroma_server

chromadb = pytest.importorskip("chromadb")

ROWS = np.random.default_rng(0).normal(size=(30, 6)).astype(np.float32)


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    close_clients()


@pytest.fixture(autouse=True)
def with_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few passages there are."""
    monkeypatch.setattr(chroma, "EXACT", 0)


def client(folder: Path) -> Any:
    return chromadb.PersistentClient(
        path=str(folder), settings=chromadb.config.Settings(anonymized_telemetry=False)
    )


def item(name: str, version: str = "", first: int = 0, passages: int = 3) -> tuple[Document, list[TextNode]]:
    texts = [f"{name} part{i} {version}" for i in range(passages)]
    nodes = [
        TextNode(text, f"{name}/{i}", {"i": i, "name": name}, embedding=ROWS[first + i])
        for i, text in enumerate(texts)
    ]
    return Document("\n".join(texts), id_=name), nodes


def seen(store: ChromaVectorStore) -> dict[str, list[str]]:
    """Every document by every way of finding it, which must agree."""
    found = {stored.id_: [node.text for node in store.passages(stored.id_)] for stored in store.documents()}
    texts = sorted(text for passages in found.values() for text in passages)
    assert sorted(hit.node.text for hit in store.search(ROWS[0], 99)) == texts
    assert sorted(hit.node.text for hit in store.keyword_search("part0 part1 part2", 99)) == texts
    assert len(store.candidates().ids) == len(store) == len(texts)
    assert {id_: store.document(id_).text.split("\n") for id_ in found} == found
    return found


@pytest.mark.parametrize("space", ["l2", "ip", "cosine"])
def test_scores_are_cosines_whatever_the_space_of_the_collection(tmp_path: Path, space: str) -> None:
    collection = client(tmp_path).create_collection("a-collection", configuration={"hnsw": {"space": space}})
    store = ChromaVectorStore(chroma_collection=collection)
    rows = np.vstack([ROWS, np.zeros((3, 6), np.float32), ROWS[4:5] * 7])
    store.upsert(
        Document("x", id_="d"), [TextNode(str(i), str(i), embedding=row) for i, row in enumerate(rows)]
    )
    lengths = np.linalg.norm(rows, axis=1)
    for query in (ROWS[4], ROWS[9] * 3, -ROWS[1], ROWS[2] + ROWS[3]):
        cosines = rows @ query / np.maximum(lengths, 1e-9) / np.linalg.norm(query)
        expected = np.argsort(-np.round(cosines, 5), kind="stable")[:12]
        found = store.search(query, 12)
        assert [int(hit.node.id_) for hit in found] == expected.tolist()
        assert [hit.score for hit in found] == pytest.approx(cosines[expected].tolist(), abs=1e-5)


@pytest.mark.parametrize("space", ["l2", "ip", "cosine"])
def test_search_widens_until_nothing_nearer_can_be_missing(tmp_path: Path, space: str) -> None:
    # Chroma's own search, which is approximate, must not pass over one of so many equals.
    exact = {"hnsw": {"space": space, "ef_construction": 400, "ef_search": 400, "max_neighbors": 64}}
    collection = client(tmp_path).create_collection("a-collection", configuration=exact)
    store = ChromaVectorStore(collection)
    rows = np.tile(np.array([[1, 3**0.5]], np.float32) / 2, (300, 1))  # all at 60 degrees
    store.upsert(
        Document("x", id_="d"), [TextNode("x", str(i), {"i": i}, embedding=row) for i, row in enumerate(rows)]
    )
    found = store.search(np.array([1, 0], np.float32), 3)
    assert [(hit.node.id_, hit.score) for hit in found] == [(str(i), 0.5) for i in range(3)]
    late = MetadataFilters([MetadataFilter("i", [298, 299], "in")], "or")  # type: ignore[arg-type]
    hidden = MetadataFilters([MetadataFilters([late], "not")], "not")  # type: ignore[arg-type]  # which Chroma cannot tell
    assert [hit.node.id_ for hit in store.search(np.array([1, 0], np.float32), 3, Scope(filters=hidden))] == [
        "298",
        "299",
    ]


def test_small_collection_search_misses_no_passage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ChromaVectorStore.from_params("passages", persist_dir=str(tmp_path))
    store.upsert(*item("a"))
    store._passages = _Forgetful(store._passages)
    assert store.search(ROWS[0], 9) == []
    monkeypatch.undo()
    assert [hit.node.id_ for hit in store.search(ROWS[0], 1)] == ["a/0"]
    assert [hit.node.id_ for hit in store.search(ROWS[0], 9, Scope(node_ids=["a/2"]))] == ["a/2"]


class _Forgetful:
    """A collection whose index finds nothing."""

    def __init__(self, collection: Any) -> None:
        self._collection = collection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._collection, name)

    def query(self, **asked: Any) -> Any:
        found = self._collection.query(**asked)
        return {name: [[]] if isinstance(value, list) else value for name, value in found.items()}


@pytest.mark.parametrize(("looked_at", "when"), [(0, "query"), (500, "get")])
def test_a_change_in_the_middle_of_a_search_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looked_at: int, when: str
) -> None:
    monkeypatch.setattr(chroma, "EXACT", looked_at)
    writer = ChromaVectorStore.from_params("passages", persist_dir=str(tmp_path))
    reader = ChromaVectorStore.from_params("passages", persist_dir=str(tmp_path))
    writer.upsert(*item("a", "old"))
    assert len(reader) == 3
    reader._passages = _Meanwhile(
        reader._passages, lambda: writer.upsert(*item("a", "new", first=6)), when=when
    )
    assert sorted(hit.node.text for hit in reader.search(ROWS[0], 9)) == [f"a part{i} new" for i in range(3)]


def test_a_change_in_the_middle_of_a_search_for_words_is_noticed(tmp_path: Path) -> None:
    writer = ChromaVectorStore.from_params("passages", persist_dir=str(tmp_path))
    reader = ChromaVectorStore.from_params("passages", persist_dir=str(tmp_path))
    writer.upsert(*item("a", "old"))
    assert len(reader.keyword_search("part1", 9)) == 1
    reader._passages = _Meanwhile(
        reader._passages, lambda: writer.upsert(*item("a", "new", first=6)), when="get"
    )
    assert [hit.node.text for hit in reader.keyword_search("part1", 9)] == ["a part1 new"]


class _Meanwhile:
    """A collection before whose first use of what is named somebody else does something."""

    def __init__(self, collection: Any, act: Callable[[], object], *, when: str) -> None:
        self._collection, self._act, self._when = collection, [act], when

    def __getattr__(self, name: str) -> Any:
        if name == self._when and self._act:
            self._act.pop()()
        return getattr(self._collection, name)


@pytest.mark.parametrize(
    "scope",
    [Scope(["b"]), Scope(node_ids=["b/1"]), Scope(filters=MetadataFilters([MetadataFilter("name", "b")]))],
)
def test_passages_outside_the_scope_are_not_even_read(tmp_path: Path, scope: Scope) -> None:
    store = ChromaVectorStore.from_params("passages", persist_dir=str(tmp_path))
    store.upsert(*item("a"))
    store.upsert(*item("b", first=3))
    store.keyword_search("part1", 9)  # which reads all words once
    store._passages = asked = _Asked(store._passages)
    for found in (
        store.search(ROWS[0], 9, scope),
        store.keyword_search("part1", 9, scope),
        store.candidates(scope).ids,
    ):
        assert len(found) in (1, 3)
    wanted = {id_.split("#")[0] for answer in asked.answers for id_ in answer}
    assert wanted
    assert all(id_.startswith("b/") for id_ in wanted)


class _Asked:
    """A collection, and the ids that every look at its records by a condition gave."""

    def __init__(self, collection: Any) -> None:
        self._collection = collection
        self.answers: list[list[str]] = []

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._collection, name)
        if name not in ("get", "query"):
            return method

        def noted(**asked: Any) -> Any:
            answer = method(**asked)
            if asked.get("where") is not None or name == "query":
                self.answers.append(answer["ids"][0] if name == "query" else answer["ids"])
            return answer

        return noted


def test_quickstart_with_an_own_collection_answers_reopened(tmp_path: Path) -> None:
    embedder = HashEmbedding(64)
    collection = client(tmp_path).get_or_create_collection("quickstart")
    store = ChromaVectorStore(chroma_collection=collection)
    for id_, text in (("lake", "The lake is deep."), ("boats", "Boats are made of wood.")):
        store.upsert(Document(text, id_=id_), [TextNode(text, embedding=embedder.embed_query(text))])
    again = ChromaVectorStore(chroma_collection=client(tmp_path).get_collection("quickstart"))
    found = VectorIndexRetriever(again, embedder, 1).retrieve("wood of boats")
    assert [hit.node.ref_doc_id for hit in found] == ["boats"]
    assert again.delete("boats") == 1
    assert store.keyword_search("wood", 5) == []
    assert collection.count() == 1


def test_index_over_a_collection_reopens_without_its_nodes(tmp_path: Path) -> None:
    embedder = HashEmbedding(64)
    store = ChromaVectorStore(chroma_collection=client(tmp_path).get_or_create_collection("quickstart"))
    nodes = [
        TextNode("The lake is deep."),
        TextNode("Boats are made of wood.", metadata={"tags": ["a", None]}),
    ]
    context = StorageContext.from_defaults(vector_store=store)
    VectorStoreIndex(nodes, storage_context=context, embed_model=embedder)
    again = ChromaVectorStore(chroma_collection=client(tmp_path).get_collection("quickstart"))
    index = VectorStoreIndex.from_vector_store(again, embed_model=embedder)
    (found,) = index.as_retriever(similarity_top_k=1).retrieve("What are boats made of?")
    assert (found.node.id_, found.text, found.metadata) == (nodes[1].id_, nodes[1].text, nodes[1].metadata)


def test_another_store_on_the_collection_sees_changes_at_once(tmp_path: Path) -> None:
    writer = ChromaVectorStore.from_params("passages", persist_dir=str(tmp_path))
    reader = ChromaVectorStore.from_params("passages", persist_dir=str(tmp_path))
    for number, change in enumerate(
        (item("a"), item("b", first=3), item("a", "new", first=6, passages=2), item("c", first=9))
    ):
        writer.upsert(*change)
        assert seen(reader) == seen(writer)
        assert len(seen(reader)) == min(number + 1, 2) + (number == 3)
    writer.delete("b")
    assert sorted(seen(reader)) == ["a", "c"]
    assert seen(reader)["a"] == ["a part0 new", "a part1 new"]


def test_only_what_is_new_is_read_when_words_are_searched_again(tmp_path: Path) -> None:
    writer = ChromaVectorStore.from_params("passages", persist_dir=str(tmp_path))
    store = ChromaVectorStore.from_params("passages", persist_dir=str(tmp_path))
    for number, name in enumerate("abcd"):
        writer.upsert(*item(name, first=3 * number))
    assert len(store.keyword_search("part0 part1", 99)) == 8
    store._passages = asked = _Asked(store._passages)
    for change, new in [
        (lambda: writer.delete("b"), ""),
        (lambda: writer.upsert(*item("a", "newer words", first=9)), "a"),
        (lambda: writer.delete("d"), ""),
        (lambda: writer.upsert(*item("e", "newer", first=12)), "e"),
    ]:
        change()
        asked.answers.clear()
        assert store.keyword_search("nothing of the kind", 99) == []
        assert {id_.split("/")[0] for answer in asked.answers for id_ in answer} == {*new}
        fresh = ChromaVectorStore.from_params("passages", persist_dir=str(tmp_path))
        for question in ("part0", "newer", "words a", "b d part2"):
            assert hits(store, question) == hits(fresh, question)


def hits(store: ChromaVectorStore, question: str) -> list[tuple[str, float | None]]:
    return [(hit.node.id_, hit.score) for hit in store.keyword_search(question, 99)]


def test_foreign_records_of_the_collection_are_invisible(tmp_path: Path) -> None:
    collection = client(tmp_path).create_collection("shared")
    store = ChromaVectorStore(collection)
    store.upsert(*item("a"))
    collection.add(ids=["foreign"], embeddings=[ROWS[0].tolist()], documents=["part0"], metadatas=[{"i": 0}])
    collection.add(ids=["bare"], embeddings=[ROWS[1].tolist()])
    assert seen(store) == {"a": ["a part0 ", "a part1 ", "a part2 "]}


class _Breaks:
    """A collection whose connection breaks before, or behind, a certain write."""

    def __init__(self, collection: Any, left: list[int], *, before: bool) -> None:
        self._collection, self._left, self._before = collection, left, before

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._collection, name)
        return self._breaking(method) if name in ("add", "upsert", "delete") else method

    def _breaking(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(**given: Any) -> Any:
            self._left[0] -= 1
            if self._left[0] < 0 and self._before:
                raise KeyboardInterrupt
            done = method(**given)
            if self._left[0] < 0:
                raise KeyboardInterrupt
            return done

        return call


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("writes", range(3))
def test_interrupted_write_leaves_the_old_or_the_new_document(
    tmp_path: Path, writes: int, before: bool
) -> None:
    store = ChromaVectorStore.from_params("passages", persist_dir=str(tmp_path))
    reader = ChromaVectorStore.from_params("passages", persist_dir=str(tmp_path))
    store.upsert(*item("a", "old"))
    store.upsert(*item("b", first=3))
    old = seen(reader)
    left = [writes]
    store._passages = _Breaks(store._passages, left, before=before)
    store._documents = _Breaks(store._documents, left, before=before)
    with pytest.raises(KeyboardInterrupt):
        store.upsert(*item("a", "new", first=6))
    new = {**old, "a": [text.replace("old", "new") for text in old["a"]]}
    committed = writes > 1 or (writes == 1 and not before)
    reopened = ChromaVectorStore.from_params("passages", persist_dir=str(tmp_path))
    assert seen(reopened) == (new if committed else old)
    assert seen(reader) == seen(reopened)
    reopened.upsert(*item("a", "newest", first=9))
    assert seen(reader) == {**old, "a": [text.replace("old", "newest") for text in old["a"]]}
    reopened.delete("a")
    assert seen(reader) == {"b": old["b"]}
    assert reopened._passages.count() == 3


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("writes", range(3))
def test_interrupted_deletion_leaves_the_document_or_nothing(
    tmp_path: Path, writes: int, before: bool
) -> None:
    store = ChromaVectorStore.from_params("passages", persist_dir=str(tmp_path))
    store.upsert(*item("a"))
    store.upsert(*item("b", first=3))
    whole, left = seen(store), [writes]
    store._passages = _Breaks(store._passages, left, before=before)
    store._documents = _Breaks(store._documents, left, before=before)
    with pytest.raises(KeyboardInterrupt):
        store.delete("a")
    reopened = ChromaVectorStore.from_params("passages", persist_dir=str(tmp_path))
    gone = writes > 0 or not before
    assert seen(reopened) == ({"b": whole["b"]} if gone else whole)
    if gone:
        with pytest.raises(UnknownDocumentError):
            reopened.document("a")
    reopened.upsert(*item("a", "again", first=6))
    assert seen(reopened)["a"] == ["a part0 again", "a part1 again", "a part2 again"]


def test_chroma_gets_the_part_of_a_filter_that_it_supports() -> None:
    number, name = MetadataFilter("i", 1, ">"), MetadataFilter("name", "a")  # type: ignore[arg-type]
    beyond = MetadataFilter("name", "a", "text_match")  # type: ignore[arg-type]
    assert where_of(MetadataFilters([number, name])) == {"$and": [{"i": {"$gt": 1}}, {"name": {"$eq": "a"}}]}
    assert where_of(MetadataFilters([name, beyond])) == {"name": {"$eq": "a"}}
    for told in (MetadataFilters([name, beyond], "or"), MetadataFilters([name], "not"), MetadataFilters()):  # type: ignore[arg-type]
        assert where_of(told) is None


def test_many_passages_are_written_and_read_in_batches(tmp_path: Path) -> None:
    rows = np.random.default_rng(2).normal(size=(2300, 4)).astype(np.float32)
    store = ChromaVectorStore.from_params("passages", persist_dir=str(tmp_path))
    nodes = [TextNode(f"part{i}", str(i), embedding=row) for i, row in enumerate(rows)]
    assert store.upsert(Document("x", id_="d"), nodes) == 2300
    assert store.candidates().ids == [str(i) for i in range(2300)]
    cosines = (rows / np.linalg.norm(rows, axis=1, keepdims=True)) @ rows[5] / np.linalg.norm(rows[5])
    assert [int(hit.node.id_) for hit in store.search(rows[5], 10)] == np.argsort(-cosines)[:10].tolist()


def test_a_missing_package_is_reported_with_the_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "chromadb", None)
    with pytest.raises(MissingPackageError, match="chromadb is not installed"):
        ChromaVectorStore.from_params("passages")


@pytest.fixture
def unused_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture
def server(tmp_path: Path, unused_port: int) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """A real Chroma server on a free port of this machine."""
    port = unused_port
    command = [str(Path(sys.executable).with_name("chroma")), "run", "--path", str(tmp_path / "served")]
    process = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    give_up = time.monotonic() + 30
    while time.monotonic() < give_up:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    yield port, process
    process.kill()
    process.wait()


def test_a_server_holds_the_same_store_for_several_clients(server: tuple[int, subprocess.Popen[str]]) -> None:
    port, process = server
    writer = ChromaVectorStore.from_params("passages", host="127.0.0.1", port=port)
    writer.upsert(*item("a"))
    writer.upsert(*item("b", "\ud83d lone", first=3))
    reader = ChromaVectorStore.from_params("passages", host="127.0.0.1", port=port)
    assert seen(reader) == {
        "a": [f"a part{i} " for i in range(3)],
        "b": [f"b part{i} \ud83d lone" for i in range(3)],
    }
    writer.delete("a")
    only = MetadataFilters([MetadataFilter("i", 2)])
    assert [hit.node.id_ for hit in reader.search(ROWS[0], 9, Scope(filters=only))] == ["b/2"]
    process.kill()
    process.wait()
    with pytest.raises(StoreError, match=re.escape("The Chroma server does not answer")):
        reader.documents()


def test_missing_server_is_reported_when_the_store_is_opened(unused_port: int) -> None:
    with pytest.raises(StoreError, match=f"No Chroma server answers at 127.0.0.1:{unused_port}") as caught:
        ChromaVectorStore.from_params("passages", host="127.0.0.1", port=unused_port)
    assert "chroma run" in caught.value.hint


def test_another_service_at_the_address_is_reported(unused_port: int) -> None:
    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(404)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", unused_port), Other) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        with pytest.raises(StoreError, match=f"No Chroma server answers at 127.0.0.1:{unused_port}"):
            ChromaVectorStore.from_params("passages", host="127.0.0.1", port=unused_port)
        other.shutdown()


def test_passages_too_large_for_one_request_go_in_several() -> None:
    store = ChromaVectorStore.from_params("long-passages", host="127.0.0.1", port=chroma_server())
    texts = [f"{name} " * 5_000_000 for name in ("a", "bc", "def")]  # 45 MB, and a server takes 40
    nodes = [TextNode(text, str(i), embedding=ROWS[i]) for i, text in enumerate(texts)]
    assert store.upsert(Document("x", id_="long"), nodes) == 3
    assert [node.text == text for node, text in zip(store.passages("long"), texts, strict=True)] == [True] * 3
    assert store.delete("long") == 3


def test_passage_too_large_for_a_server_is_refused_in_words() -> None:
    store = ChromaVectorStore.from_params("long-passages", host="127.0.0.1", port=chroma_server())
    with pytest.raises(StoreError, match="Chroma refuses: Payload too large"):
        store.upsert(Document("x", id_="longer"), [TextNode("x" * 45_000_000, "0", embedding=ROWS[0])])
    assert store.documents() == []


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts this process's open files")
def test_closing_a_store_closes_the_client_it_opened(tmp_path: Path) -> None:
    def open_files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    counts = []
    for number in range(4):
        store = ChromaVectorStore.from_params("passages", persist_dir=str(tmp_path / str(number)))
        store.upsert(*item("a"))
        store.close()
        counts.append(open_files())
    assert counts[3] - counts[0] < 9  # an open one has more than ten
