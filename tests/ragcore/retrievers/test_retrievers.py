import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ragcore import SummaryIndex, VectorStoreIndex
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import QuestionError
from ragcore.llamaindex.retrievers.bm25 import BM25Retriever
from ragcore.node_parser.hierarchical import HierarchicalNodeParser
from ragcore.observe import span
from ragcore.retrievers.vector import VectorIndexRetriever
from ragcore.schema import Document, NodeWithScore, QueryBundle, TextNode
from ragcore.storage.docstore import SimpleDocumentStore
from ragcore.vector_stores.filters import MetadataFilter, MetadataFilters
from ragcore.vector_stores.memory import MemoryStore
from tests.word_tokenizer import WordTokenizer

PLACES = {"north": (0.0, 1.0), "east": (1.0, 0.0), "north-east": (3.0, 4.0), "south": (0.0, -1.0)}
SOUTHERN = MetadataFilters([MetadataFilter("of", "south")])


class Compass:
    """An embedder of four words, which counts how often it is asked."""

    name = "compass"
    dimension = 2

    def __init__(self, turned: bool = False) -> None:
        self.calls: list[list[str]] = []
        self._turned = turned

    def embed_passages(self, texts: Sequence[str]) -> Any:
        self.calls.append(list(texts))
        rows = np.array([PLACES[text] for text in texts], np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows[:, ::-1].copy() if self._turned else rows

    def embed_query(self, text: str) -> Any:
        return self.embed_passages([text])[0]


@pytest.fixture
def store() -> MemoryStore:
    store = MemoryStore()
    for word in PLACES:
        vector = Compass().embed_query(word)
        store.upsert(
            Document(word, id_=word),
            [TextNode(f"the {word} wind", f"{word}/0", {"of": word}, embedding=vector)],
        )
    return store


def hits(found: Sequence[NodeWithScore]) -> list[tuple[str, float]]:
    return [(hit.node.id_, round(hit.get_score(), 4)) for hit in found]


@pytest.mark.smoke
def test_vector_retriever_returns_the_nearest_with_cosines(store: MemoryStore) -> None:
    found = VectorIndexRetriever(store, Compass(), 3).retrieve("north")
    assert hits(found) == [("north/0", 1.0), ("north-east/0", 0.8), ("east/0", 0.0)]
    found = VectorIndexRetriever(store, Compass(), document_ids=["east", "south"]).retrieve("north")
    assert hits(found) == [("east/0", 0.0), ("south/0", -1.0)]


def test_several_texts_are_embedded_together_and_averaged(store: MemoryStore) -> None:
    embedder = Compass()
    bundle = QueryBundle("where?", custom_embedding_strs=("north", "east"))
    found = VectorIndexRetriever(store, embedder, 1).retrieve(bundle)
    assert embedder.calls == [["north", "east"]]
    assert hits(found) == [("north-east/0", round(7 / (5 * math.sqrt(2)), 4))]


def test_a_bundles_own_vector_is_used_as_it_is(store: MemoryStore) -> None:
    embedder = Compass()
    found = VectorIndexRetriever(store, embedder, 1).retrieve(
        QueryBundle("north", embedding=np.array([5, 0], np.float32))
    )
    assert hits(found) == [("east/0", 1.0)]
    assert embedder.calls == []


def test_one_bundle_may_go_to_retrievers_of_several_embedders(store: MemoryStore) -> None:
    bundle = QueryBundle("north")
    assert hits(VectorIndexRetriever(store, Compass(), 1).retrieve(bundle)) == [("north/0", 1.0)]
    assert bundle.embedding is None
    assert hits(VectorIndexRetriever(store, Compass(turned=True), 1).retrieve(bundle)) == [("east/0", 1.0)]


def test_the_bm25_retriever_gives_what_shares_words(store: MemoryStore) -> None:
    assert [id_ for id_, _ in hits(BM25Retriever(store, 5).retrieve("Which wind blows north?"))][:2] == [
        "north/0",
        "north-east/0",
    ]
    for limit in ({"document_ids": ["south"]}, {"node_ids": ["south/0"]}, {"filters": SOUTHERN}):
        assert [id_ for id_, _ in hits(BM25Retriever(store, 5, **limit).retrieve("wind"))] == ["south/0"]  # type: ignore[arg-type]
    assert BM25Retriever(store).retrieve("nothing shared") == []


@pytest.mark.parametrize("question", ["", " \n\t", QueryBundle("")])
def test_no_question_is_an_error_that_says_so(store: MemoryStore, question: str | QueryBundle) -> None:
    for retriever in (VectorIndexRetriever(store, Compass()), BM25Retriever(store)):
        with pytest.raises(QuestionError, match="no question"):
            retriever.retrieve(question)
        with pytest.raises(TypeError, match="a question is a text or a QueryBundle, not None"):
            retriever.retrieve(None)  # type: ignore[arg-type]


def test_the_trace_notes_the_retrieved_passages(store: MemoryStore) -> None:
    with span("query") as root:
        VectorIndexRetriever(store, Compass(), 2).retrieve("north")
    (step,) = root.spans("retrieve")
    assert step.facts == {
        "retriever": "vector",
        "question": "north",
        "found": [{"id": "north/0", "score": 1.0}, {"id": "north-east/0", "score": pytest.approx(0.8)}],
    }


def test_bm25_searches_an_index_a_list_or_a_document_store() -> None:
    nodes = [
        TextNode("the north wind", "n", {"side": 1}),
        TextNode("the south wind blows", "s"),
        TextNode("a boat", "b"),
    ]
    docstore = SimpleDocumentStore()
    docstore.add_documents([*nodes, Document("the north wind, whole", id_="d")])
    expected = hits(BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=3).retrieve("north wind"))
    assert [id_ for id_, _ in expected] == ["n", "s"]
    assert expected[0][1] > expected[1][1]
    for made in (
        BM25Retriever.from_defaults(docstore=docstore, similarity_top_k=3),
        BM25Retriever.from_defaults(
            index=VectorStoreIndex(nodes, embed_model=HashEmbedding(8)), similarity_top_k=3
        ),
        BM25Retriever.from_defaults(SummaryIndex(nodes), similarity_top_k=3),
    ):
        assert hits(made.retrieve("north wind")) == expected
    assert (
        hits(BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=1).retrieve("north wind"))
        == expected[:1]
    )
    filters = MetadataFilters([MetadataFilter("side", 1)])
    assert [
        hit.id_ for hit in BM25Retriever.from_defaults(nodes=nodes, filters=filters).retrieve("wind")
    ] == ["n"]
    assert BM25Retriever.from_defaults(nodes=[]).retrieve("wind") == []
    for given in ({}, {"nodes": nodes, "docstore": docstore}):
        with pytest.raises(ValueError, match="one of index, nodes and docstore"):
            BM25Retriever.from_defaults(**given)  # type: ignore[arg-type]


def test_bm25_searches_passages_of_an_index_but_not_parents() -> None:
    parser = HierarchicalNodeParser([8, 2], chunk_overlap=0, tokenizer=WordTokenizer())
    nodes = parser([Document("apple pie bread butter", "menu"), Document("plum jam", "jar")])
    leaves = [(node.id_, node.text) for node in nodes.leaves()]
    for kind in (VectorStoreIndex, SummaryIndex):
        index = kind(nodes, embed_model=HashEmbedding(8))
        index.storage_context.docstore.add_documents([TextNode("a loose apple", "loose")])
        found = BM25Retriever.from_defaults(index=index, similarity_top_k=9)
        assert [(hit.id_, hit.text) for hit in found.retrieve("apple")] == leaves[:1]
        assert [(hit.id_, hit.text) for hit in found.retrieve("jam")] == leaves[2:]
