from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragcore.database import Database
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import EmbeddingError, UnknownDocumentError
from ragcore.indices.vector import VectorStoreIndex
from ragcore.schema import Document, TextNode
from ragcore.vector_stores.disk import SCHEMA, DiskStore
from ragcore.vector_stores.memory import MemoryStore


def by_line(nodes: Sequence[Document | TextNode]) -> list[TextNode]:
    """A splitter with one passage for each line."""
    passages = []
    for document in nodes:
        start = 0
        for number, line in enumerate(document.text.split("\n")):
            end = start + len(line)
            id_ = f"{document.id_}#{number}"
            passages.append(TextNode(line, id_, document.metadata, document.id_, start, end))
            start = end + 1
    return passages


class Counting(HashEmbedding):
    """Keeps what it was given; refuses to embed what is forbidden."""

    def __init__(self, forbidden: str = "") -> None:
        super().__init__(64)
        self.given: list[list[str]] = []
        self._forbidden = forbidden

    def embed_passages(self, texts: Sequence[str]) -> Any:
        self.given.append(list(texts))
        if self._forbidden and any(self._forbidden in text for text in texts):
            raise EmbeddingError("This text cannot be embedded.")
        return super().embed_passages(texts)


DOCUMENTS = [
    Document("cats purr\ndogs bark", id_="pets"),
    Document("the sea is deep\nships sail", id_="sea", metadata={"file_name": "sea.txt"}),
]


def index_of(*documents: Document, embedder: Counting | None = None) -> VectorStoreIndex:
    return VectorStoreIndex.from_documents(documents, embed_model=embedder or Counting(), transformations=[by_line])


def best(index: VectorStoreIndex, question: str) -> str:
    return index.as_retriever(similarity_top_k=1).retrieve(question)[0].text


def test_documents_are_split_embedded_and_found() -> None:
    index = index_of(*DOCUMENTS)
    assert [node.id_ for node in index.store.passages()] == ["pets#0", "pets#1", "sea#0", "sea#1"]
    assert best(index, "Do dogs bark?") == "dogs bark"
    assert best(index, "How deep is the sea?") == "the sea is deep"
    assert len(index.as_retriever().retrieve("dogs")) == 2


def test_all_passages_are_embedded_together_with_the_metadata_that_embedders_see() -> None:
    embedder = Counting()
    index_of(*DOCUMENTS, embedder=embedder)
    texts = ["cats purr", "dogs bark", "file_name: sea.txt\n\nthe sea is deep", "file_name: sea.txt\n\nships sail"]
    assert embedder.given == [texts]


def test_inserting_again_replaces() -> None:
    index = index_of(*DOCUMENTS)
    assert index.insert(Document("birds sing", id_="pets")) == 1
    assert index.insert(Document("birds sing", id_="pets")) == 1
    assert [node.text for node in index.store.passages()] == ["the sea is deep", "ships sail", "birds sing"]


def test_deleting_removes_for_good_and_knows_what_it_does_not_know() -> None:
    index = index_of(*DOCUMENTS)
    assert index.delete_ref_doc("pets") == 2
    assert best(index, "Do dogs bark?") != "dogs bark"
    with pytest.raises(UnknownDocumentError, match="'pets'"):
        index.delete_ref_doc("pets")


def test_documents_given_to_the_constructor_are_split_and_can_be_deleted() -> None:
    index = VectorStoreIndex(DOCUMENTS, embed_model=Counting(), transformations=[by_line])
    assert len(index.store) == 4
    assert index.delete_ref_doc(DOCUMENTS[0].id_) == 2
    assert len(index.store) == 2


def test_nodes_are_taken_as_they_are_and_keep_the_vectors_they_have() -> None:
    embedder = Counting()
    ready = np.zeros(64, np.float32)
    ready[3] = 2.0
    nodes = [
        TextNode("second line", "a1", ref_doc_id="a", start_char_idx=11, end_char_idx=22),
        TextNode("alone", "loose", embedding=ready),
        TextNode("first line", "a0", ref_doc_id="a", start_char_idx=0, end_char_idx=10, embedding=ready),
    ]
    index = VectorStoreIndex(nodes, embed_model=embedder)
    assert embedder.given == [["second line"]]
    assert [node.id_ for node in index.store.passages()] == ["a1", "a0", "loose"]
    assert index.store.document("a").text == "first line second line"
    assert index.store.document("loose").text == "alone"
    found = index.store.nodes(["a0", "loose"])
    assert [node.ref_doc_id for node in found] == ["a", "loose"]
    assert [float(node.embedding[3]) for node in found if node.embedding is not None] == [2.0, 2.0]
    assert [node.ref_doc_id for node in nodes] == ["a", None, "a"]


def test_nothing_is_stored_when_something_cannot_be_embedded() -> None:
    store = MemoryStore()
    embedder = Counting(forbidden="ships")
    with pytest.raises(EmbeddingError):
        VectorStoreIndex(DOCUMENTS, embed_model=embedder, transformations=[by_line], store=store)
    assert store.documents() == []


def test_refreshing_takes_only_what_is_new_or_changed() -> None:
    embedder = Counting()
    index = index_of(*DOCUMENTS, embedder=embedder)
    changed = Document("ships sink", id_="sea")
    new = Document("new", id_="new")
    assert index.refresh_ref_docs([DOCUMENTS[0], changed, new]) == [False, True, True]
    assert embedder.given[1:] == [["ships sink", "new"]]
    assert index.refresh_ref_docs([DOCUMENTS[0], changed, new]) == [False, False, False]


def test_transformations_without_a_splitter_are_refused() -> None:
    with pytest.raises(ValueError, match="must be a splitter"):
        VectorStoreIndex.from_documents(DOCUMENTS, embed_model=Counting(), transformations=[])


def test_an_index_on_disk_is_there_when_it_is_opened_again(tmp_path: Path) -> None:
    database = Database(tmp_path / "library.db", SCHEMA)
    store = DiskStore(database, vectors=tmp_path / "vectors")
    VectorStoreIndex(DOCUMENTS, embed_model=Counting(), transformations=[by_line], store=store)
    database.close()
    embedder = Counting()
    index = VectorStoreIndex(embed_model=embedder, store=DiskStore(database, vectors=tmp_path / "vectors"))
    assert best(index, "Do dogs bark?") == "dogs bark"
    assert embedder.given == []
    database.close()


def test_the_engines_answer_from_what_is_stored() -> None:
    index = index_of(*DOCUMENTS)
    answer = index.as_query_engine(similarity_top_k=1).query("Do dogs bark?")
    assert [hit.node.id_ for hit in answer.source_nodes] == ["pets#1"]
    assert "dogs bark" in answer.response
    reply = index.as_chat_engine("context", similarity_top_k=1).chat("Do dogs bark?")
    assert [hit.node.id_ for hit in reply.source_nodes] == ["pets#1"]
