"""What is looked at for a summary of everything."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.observe import span
from ragcore.retrievers.hybrid import HybridRetriever
from ragcore.retrievers.summary_request import LOOKED_AT, OverviewRetriever
from ragcore.schema import Document, TextNode
from ragcore.text.overview_notes import DOCUMENTS_OF_GROUP, GROUP, TABLE
from ragcore.vector_stores.base import Scope, StoredDocument
from ragcore.vector_stores.memory import MemoryStore

EMBEDDER = HashEmbedding()
TEXTS = {
    "rail": [
        "the railway climbs the cliff",
        "the railway has two cars on the cliff",
        "a gull stole a sandwich",
    ],
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
        store.upsert(Document("\n".join(texts), id_=name), nodes)
    return store


def overview(store: MemoryStore, top_k: int, document_ids: list[str] | None = None) -> OverviewRetriever:
    fallback = HybridRetriever(store, EMBEDDER, top_k, Scope(document_ids))
    return OverviewRetriever(store, top_k, fallback=fallback, document_ids=document_ids)


def test_summary_of_everything_reads_a_central_passage_of_each(store: MemoryStore) -> None:
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
    assert [hit.node.id_ for hit in found] == [
        hit.node.id_ for hit in HybridRetriever(store, EMBEDDER, 2).retrieve(question)
    ]
    assert {hit.node.ref_doc_id for hit in found} == {"oven"}


def test_a_summary_of_a_document_by_its_name_looks_at_no_other(store: MemoryStore) -> None:
    store.upsert(
        Document("the oven is a stove", id_="named", metadata={"file_name": "cliff railway.txt"}),
        [
            TextNode(
                "the oven is a stove",
                id_="named-0",
                ref_doc_id="named",
                embedding=EMBEDDER.embed_passages(["stove"])[0],
            )
        ],
    )
    assert [hit.node.id_ for hit in overview(store, 3).retrieve("Summarise the cliff railway")] == ["named-0"]
    assert [hit.node.id_ for hit in overview(store, 3, ["rail"]).retrieve("Summarise the cliff railway")] != [
        "named-0"
    ]


def test_an_empty_library_gives_nothing(store: MemoryStore) -> None:
    assert overview(MemoryStore(), 5).retrieve("Summarise everything") == []


def test_a_document_deleted_meanwhile_is_skipped() -> None:
    class Deleting(MemoryStore):
        def documents(self) -> list[StoredDocument]:
            listed = super().documents()
            self.delete("rail")
            return listed

    store = filled(Deleting())
    found = overview(store, 5).retrieve("Please summarise the documents")
    assert {hit.node.ref_doc_id for hit in found} == {"oven"}


def test_number_of_documents_examined_has_a_limit() -> None:
    store = MemoryStore()
    vectors = EMBEDDER.embed_passages([f"word{i}" for i in range(2 * LOOKED_AT)])
    for i, vector in enumerate(vectors):
        node = TextNode(f"word{i}", f"{i}", ref_doc_id=f"d{i}", embedding=vector)
        store.upsert(Document(f"word{i}", f"d{i}"), [node])
    with span("ask") as trace:
        assert overview(store, 3).retrieve("Please summarise the documents")
    assert trace.spans("retrieve")[0].facts["looked_at"] == LOOKED_AT


def test_only_documents_of_examined_passages_are_queried() -> None:
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
        store.upsert(Document(f"towers {number}", str(number)), nodes)
    every = len(store) // LOOKED_AT
    ids = [
        id_
        for document in store.documents()
        for id_ in super(Asked, store).passage_ids(document.id_)[::every]
    ]
    overview(store, 5).retrieve("Please summarise the documents")
    assert looked_at == ids[:: len(ids) // LOOKED_AT]
    assert len(asked) == len({id_.partition("-")[0] for id_ in looked_at}) < 2 * LOOKED_AT


def test_spreadsheet_passage_has_facts_of_its_whole_table(store: MemoryStore) -> None:
    rows = [f"Day: 2025-01-{day:02d}; Bread: {day * 2}" for day in range(1, 31)]
    parts = ["\n".join(rows[:15]), "\n".join(rows[15:])]
    nodes = [
        TextNode(part, f"sales-{at}", ref_doc_id="sales", embedding=EMBEDDER.embed_passages([part])[0])
        for at, part in enumerate(parts)
    ]
    store.upsert(Document("\n".join(rows), id_="sales", metadata={"file_name": "sales.csv"}), nodes)
    notes = {
        hit.node.ref_doc_id: hit.node.metadata.get(TABLE)
        for hit in overview(store, 1).retrieve("Fasse alles zusammen")
    }
    table = "30 Zeilen; Spalten Day, Bread; Day 2025-01-01 bis 2025-01-30; Bread 2 bis 60."
    assert notes == {"rail": None, "oven": None, "sales": table}


def test_more_than_40_documents_form_groups_that_name_each() -> None:
    store = MemoryStore()
    for topic, text in (("rail", "the railway climbs the cliff"), ("oven", "the oven bakes bread at dawn")):
        for number in range(30):
            name = f"{topic} {number}.txt"
            vector = EMBEDDER.embed_passages([f"{text} {number}"])[0]
            document = Document(text, name, metadata={"file_name": name})
            store.upsert(
                document, [TextNode(f"{text} {number}", f"{name}-0", ref_doc_id=name, embedding=vector)]
            )
    found = overview(store, 3).retrieve("Summarise everything")
    groups = {str(hit.node.metadata[GROUP]): str(hit.node.metadata[DOCUMENTS_OF_GROUP]) for hit in found}
    named = sorted(name for listing in groups.values() for name in listing.split(", "))
    assert named == sorted(f"{topic} {number}.txt" for topic in TEXTS for number in range(30))
    assert all(len({name.split()[0] for name in listing.split(", ")}) == 1 for listing in groups.values())
    for hit in found:
        assert hit.node.ref_doc_id in str(hit.node.metadata[DOCUMENTS_OF_GROUP]).split(", ")


def test_text_common_to_documents_represents_none_of_them() -> None:
    store = MemoryStore()
    for name, texts in TEXTS.items():
        texts = ["no liability is accepted for this leaflet", *texts]
        vectors = EMBEDDER.embed_passages(texts)
        nodes = [
            TextNode(text, f"{name}-{at}", ref_doc_id=name, embedding=vectors[at])
            for at, text in enumerate(texts)
        ]
        store.upsert(Document("\n".join(texts), id_=name), nodes)
    assert not [
        hit for hit in overview(store, 1).retrieve("Summarise everything") if hit.node.id_.endswith("-0")
    ]
