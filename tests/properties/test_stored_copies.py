"""What a store, an index or a cache holds is a copy, and so is what it gives back: no edit of a node reaches
it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.indices import SummaryIndex, VectorStoreIndex
from ragcore.ingestion import IngestionPipeline
from ragcore.llamaindex.retrievers import BM25Retriever, RecursiveRetriever
from ragcore.node_parser import SentenceSplitter
from ragcore.postprocessor import SimilarityPostprocessor
from ragcore.schema import Document, IndexNode, NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode
from ragcore.sql.sqlite import SQLiteDatabase
from ragcore.storage import SimpleDocumentStore
from ragcore.storage.disk import SCHEMA, DiskDocumentStore
from ragcore.storage.docstore import DocumentStore
from ragcore.vector_stores import DiskStore, MemoryStore, Store
from ragcore.vector_stores.disk import SCHEMA as VECTORS
from tests.properties.doubles import EMBEDDER, picture

Edit = Callable[[Any], None]
TEXT = "A lectern is a stand. Speakers read from it. Libraries chained their books to lecterns."


def edit_embedding(node: Any) -> None:
    if getattr(node, "embedding", None) is not None:
        node.embedding[0] = 9


def link(node: Any) -> None:
    if isinstance(node, TextNode):
        if node.parent_node is not None:
            node.parent_node.metadata["k"] = "edited"
        node.relationships[NodeRelationship.NEXT] = RelatedNodeInfo(node_id="elsewhere")


EDITS: dict[str, Edit] = {
    "text": lambda node: setattr(node, "text", "edited"),
    "set_content": lambda node: node.set_content("edited"),
    "id": lambda node: setattr(node, "id_", "edited"),
    "metadata": lambda node: setattr(node, "metadata", {"edited": True}),
    "a key": lambda node: node.metadata.update(edited=True),
    "a list in the metadata": lambda node: node.metadata.get("tags", []).append("edited"),
    "hidden from the model": lambda node: node.excluded_llm_metadata_keys.append("edited"),
    "hidden from the embedder": lambda node: node.excluded_embed_metadata_keys.clear(),
    "template": lambda node: setattr(node, "text_template", "edited {content}"),
    "embedding": edit_embedding,
    "links": link,
}
edits = st.lists(st.sampled_from(sorted(EDITS)), min_size=1, max_size=4, unique=True)


def document() -> Document:
    return Document(TEXT, "d", {"file_name": "a.txt", "tags": ["a"]}, excluded_embed_metadata_keys=["tags"])


def nodes() -> list[TextNode]:
    made = [
        TextNode(
            text,
            f"n{number}",
            {"tags": ["a"]},
            "d",
            embedding=np.ones(4, np.float32) * (number + 1),
            parent_id="p",
        )
        for number, text in enumerate(("A lectern is a stand.", "Speakers read from it."))
    ]
    made.append(
        IndexNode("Libraries", "n3", {"tags": ["a"]}, "d", embedding=np.ones(4, np.float32), parent_id="p")
    )
    for node in made:
        node.excluded_embed_metadata_keys = ["tags"]
        node.relationships[NodeRelationship.PARENT] = RelatedNodeInfo(node_id="p", metadata={"k": "v"})
    return made


def apply(chosen: Sequence[str], items: Sequence[Any]) -> None:
    for item in items:
        for name in chosen:
            EDITS[name](item)


def unwrapped(found: Sequence[Any]) -> list[Any]:
    return [item.node if isinstance(item, NodeWithScore) else item for item in found]


def read_everything(store: Store) -> list[Any]:
    """Everything that a store gives back."""
    query = np.ones(4, np.float32)
    return [
        store.document("d"),
        *store.nodes(["n0", "n1", "n3"]),
        *store.passages(),
        *store.passages("d"),
        *store.search(query, 3),
        *store.keyword_search("lectern", 3),
    ]


def check_store(store: Store, chosen: Sequence[str]) -> None:
    source, given_nodes = document(), nodes()
    store.upsert(source, given_nodes)
    assert [node.parent_node for node in store.nodes(["n0", "n1", "n3"])] == [
        node.parent_node for node in nodes()
    ]
    before = picture((read_everything(store), store.documents()))
    apply(chosen, [source, *given_nodes])
    assert picture((read_everything(store), store.documents())) == before
    for found in (read_everything(store), store.search(np.ones(4, np.float32), 3)):
        for hit in found:
            if isinstance(hit, NodeWithScore):
                hit.score = 7.0
        apply(chosen, unwrapped(found))
    assert picture((read_everything(store), store.documents())) == before


@given(edits)
def test_a_store_in_memory_holds_copies(chosen: list[str]) -> None:
    check_store(MemoryStore(), chosen)


def check_docstore(store: DocumentStore, chosen: Sequence[str]) -> None:
    items = [document(), *nodes()]
    store.add_documents(items)

    def held() -> Any:
        found = [
            *store.docs.values(),
            *store.nodes(),
            store.get_document("d"),
            *store.get_nodes(["n0", "n1", "n3"]),
        ]
        return found, store.get_all_ref_doc_info(), store.get_all_document_hashes()

    assert [node.parent_node for node in store.get_nodes(["n0", "n1", "n3"])] == [
        node.parent_node for node in nodes()
    ]
    before = picture(held())
    apply(chosen, items)
    assert picture(held()) == before
    found, infos, hashes = held()
    apply(chosen, found)
    for info in infos.values():
        info.metadata["edited"] = True
    hashes.clear()
    assert picture(held()) == before


@given(edits)
def test_a_document_store_in_memory_holds_copies(chosen: list[str]) -> None:
    check_docstore(SimpleDocumentStore(), chosen)


@pytest.mark.parametrize("chosen", [[name] for name in sorted(EDITS)], ids=lambda chosen: chosen[0])
def test_stores_in_a_file_hold_copies(chosen: list[str], tmp_path: Path) -> None:
    with closing(SQLiteDatabase(tmp_path / "docs.db", SCHEMA)) as database:
        check_docstore(DiskDocumentStore(database, "here"), chosen)
    with closing(SQLiteDatabase(tmp_path / "vectors.db", VECTORS)) as database:
        check_store(DiskStore(database, vectors=tmp_path / "vectors"), chosen)


class Shouting:
    """Edits the nodes that it is given, as transformations of scripts do."""

    def __call__(self, given: Sequence[Any]) -> Sequence[Any]:
        for node in given:
            node.text = node.text.upper()
            node.metadata["loud"] = True
            node.metadata["tags"].append("loud")
            node.excluded_llm_metadata_keys.append("loud")
        return given


@given(edits, st.booleans())
def test_step_may_edit_its_input_and_the_cache_repeats_it(chosen: list[str], split_first: bool) -> None:
    steps = [SentenceSplitter(40, 0), Shouting()] if split_first else [Shouting(), SentenceSplitter(40, 0)]
    pipeline, source = IngestionPipeline([*steps, EMBEDDER]), document()
    before = picture(source)
    made = pipeline.run(documents=[source])
    assert picture(source) == before
    assert all(node.text.isupper() and node.metadata["tags"] == ["a", "loud"] for node in made)
    first = picture(made)
    apply(chosen, made)
    assert picture(pipeline.run(documents=[document()])) == first


def test_a_transformation_may_edit_its_input() -> None:
    source = document()
    before = picture(source)
    index = VectorStoreIndex.from_documents(
        [source], transformations=[Shouting(), SentenceSplitter(40, 0)], embed_model=EMBEDDER
    )
    assert picture(source) == before
    assert all(node.text.isupper() for node in index.docstore.nodes())


@given(edits)
def test_retrieved_passages_can_be_edited(chosen: list[str]) -> None:
    given_nodes = nodes()
    for node in given_nodes:
        node.embedding = None
    vector = VectorStoreIndex(given_nodes[:2], embed_model=EMBEDDER)
    summary = SummaryIndex(given_nodes[:2], embed_model=EMBEDDER)
    far = {"far": TextNode("far", "far", {"tags": ["a"]})}
    pointing = VectorStoreIndex([IndexNode("Libraries", "i", index_id="far")], embed_model=EMBEDDER)
    retrievers = [
        vector.as_retriever(),
        vector.as_retriever(vector_store_query_mode="mmr"),
        summary.as_retriever(),
        BM25Retriever.from_defaults(nodes=given_nodes[:2]),
        RecursiveRetriever("root", {"root": pointing.as_retriever()}, node_dict=far),
    ]
    for retriever in retrievers:
        found = retriever.retrieve("Who reads from a lectern?")
        before = picture(found)
        assert found
        for hit in SimilarityPostprocessor(-2.0).postprocess_nodes(found):
            hit.score = 0.0
        apply(chosen, unwrapped(found))
        assert picture(retriever.retrieve("Who reads from a lectern?")) == before


def test_what_an_index_node_stands_for_is_copied_with_it() -> None:
    inner = TextNode("inner", "inner", {"tags": ["a"]})
    index = VectorStoreIndex([IndexNode("Libraries", "i", obj=inner)], embed_model=EMBEDDER)
    inner.text = "edited"
    found = index.as_retriever().retrieve("libraries")
    assert [hit.text for hit in found] == ["inner"]
    found[0].node.text = "edited"
    assert [hit.text for hit in index.as_retriever().retrieve("libraries")] == ["inner"]


def test_a_context_as_plain_values_is_that_of_what_was_stored() -> None:
    index = VectorStoreIndex.from_documents([document()], embed_model=EMBEDDER)
    before = index.storage_context.to_dict()
    for node in index.docstore.nodes():
        node.text = "edited"
    assert index.storage_context.to_dict() == before
