"""What is looked at for a summary of everything."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.observe import span
from ragcore.retrievers.hybrid import HybridRetriever
from ragcore.retrievers.summary_request import LOOKED_AT, OverviewRetriever
from ragcore.schema import Document, TextNode
from ragcore.vector_stores.base import Scope, StoredDocument
from ragcore.vector_stores.memory import MemoryStore

EMBEDDER = HashEmbedding()
TEXTS = {
    "rail": ["the railway climbs the cliff", "the railway has two cars on the cliff", "a gull stole a sandwich"],
    "oven": ["the oven bakes bread at dawn", "bread leaves the oven warm", "the cat sleeps"],
}


@pytest.fixture
def store() -> MemoryStore:
    return filled(MemoryStore())


def filled(store: MemoryStore) -> MemoryStore:
    for name, texts in TEXTS.items():
        vectors = EMBEDDER.embed_passages(texts)
        nodes = [
            TextNode(text, id_=f"{name}-{i}", ref_doc_id=name, embedding=vectors[i])
            for i, text in enumerate(texts)
        ]  # fmt: skip
        store.put(Document("\n".join(texts), id_=name), nodes)
    return store


def overview(store: MemoryStore, top_k: int, document_ids: list[str] | None = None) -> OverviewRetriever:
    otherwise = HybridRetriever(store, EMBEDDER, top_k, Scope(document_ids))
    return OverviewRetriever(store, top_k, otherwise=otherwise, document_ids=document_ids)


def test_a_summary_of_everything_looks_at_a_central_passage_of_every_document(store: MemoryStore) -> None:
    found = [hit.node.id_ for hit in overview(store, 1).retrieve("Please summarise the documents")]
    assert len(found) == 2
    assert found[0] in ("rail-0", "rail-1")
    assert found[1] in ("oven-0", "oven-1")


def test_a_summary_of_one_document_looks_at_no_other(store: MemoryStore) -> None:
    found = overview(store, 5, ["oven"]).retrieve("Give me an overview")
    assert {hit.node.ref_doc_id for hit in found} == {"oven"}
    assert len(found) == 3


def test_any_other_question_is_looked_up_as_ever(store: MemoryStore) -> None:
    question = "What did the gull steal?"
    found = overview(store, 2).retrieve(question)
    expected = HybridRetriever(store, EMBEDDER, 2).retrieve(question)
    assert [(hit.node.id_, hit.score) for hit in found] == [(hit.node.id_, hit.score) for hit in expected]
    assert found[0].node.id_ == "rail-2"


def test_a_summary_about_something_is_looked_up_by_it(store: MemoryStore) -> None:
    question = "Summarise what the documents say about bread"
    found = overview(store, 2).retrieve(question)
    assert [hit.node.id_ for hit in found] == [hit.node.id_ for hit in HybridRetriever(store, EMBEDDER, 2).retrieve(question)]
    assert {hit.node.ref_doc_id for hit in found} == {"oven"}


def test_a_summary_of_a_document_by_its_name_looks_at_no_other(store: MemoryStore) -> None:
    store.put(
        Document("the oven is a stove", id_="named", metadata={"file_name": "cliff railway.txt"}),
        [TextNode("the oven is a stove", id_="named-0", ref_doc_id="named", embedding=EMBEDDER.embed_passages(["stove"])[0])],
    )
    assert [hit.node.id_ for hit in overview(store, 3).retrieve("Summarise the cliff railway")] == ["named-0"]
    assert [hit.node.id_ for hit in overview(store, 3, ["rail"]).retrieve("Summarise the cliff railway")] != ["named-0"]


def test_an_empty_library_gives_nothing(store: MemoryStore) -> None:
    assert overview(MemoryStore(), 5).retrieve("Summarise everything") == []


def test_a_document_deleted_meanwhile_is_left_out() -> None:
    class Deleting(MemoryStore):
        def documents(self) -> list[StoredDocument]:
            listed = super().documents()
            self.delete("rail")
            return listed

    store = filled(Deleting())
    found = overview(store, 5).retrieve("Please summarise the documents")
    assert {hit.node.ref_doc_id for hit in found} == {"oven"}


def test_of_very_many_documents_no_more_are_looked_at_than_takes_a_moment() -> None:
    store = MemoryStore()
    vectors = EMBEDDER.embed_passages([f"word{i}" for i in range(2 * LOOKED_AT)])
    for i, vector in enumerate(vectors):
        node = TextNode(f"word{i}", f"{i}", ref_doc_id=f"d{i}", embedding=vector)
        store.put(Document(f"word{i}", f"d{i}"), [node])
    with span("ask") as trace:
        assert overview(store, 3).retrieve("Please summarise the documents")
    assert trace.named("retrieve")[0].facts["looked_at"] == LOOKED_AT


def test_of_thousands_of_documents_only_those_are_asked_whose_passages_are_looked_at() -> None:
    asked: list[str] = []
    looked_at: list[str] = []

    class Asked(MemoryStore):
        def passage_ids(self, document_id: str) -> list[str]:
            asked.append(document_id)
            return super().passage_ids(document_id)

        def nodes(self, ids: Sequence[str]) -> list[TextNode]:
            looked_at.extend(ids)
            return super().nodes(ids)

    store, vector = Asked(), EMBEDDER.embed_query("tower")
    for number in range(3 * LOOKED_AT):
        count = 1 if number % 50 else 40
        nodes = [
            TextNode(f"tower {number}.{place}", f"{number}-{place}", ref_doc_id=str(number), embedding=vector)
            for place in range(count)
        ]
        store.put(Document(f"towers {number}", str(number)), nodes)
    every = len(store) // LOOKED_AT
    ids = [id_ for document in store.documents() for id_ in super(Asked, store).passage_ids(document.id_)[::every]]
    overview(store, 5).retrieve("Please summarise the documents")
    assert looked_at == ids[:: len(ids) // LOOKED_AT]
    assert len(asked) == len({id_.partition("-")[0] for id_ in looked_at}) < 2 * LOOKED_AT
