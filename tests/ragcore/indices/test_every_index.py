"""What every index promises of the documents and nodes it is given, and of the document store of its
context."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ragcore.indices import BaseIndex, SummaryIndex, TreeIndex, VectorStoreIndex, load_index_from_storage
from ragcore.ingestion import IngestionPipeline
from ragcore.llamaindex.indices import DocumentSummaryIndex
from ragcore.node_parser import SentenceSplitter
from ragcore.node_parser.hierarchical import HierarchicalNodeParser
from ragcore.postprocessor import PrevNextNodePostprocessor
from ragcore.schema import Document, NodeWithScore, TextNode
from ragcore.storage.docstore import SimpleDocumentStore
from ragcore.storage.storage_context import StorageContext
from tests.properties.doubles import EMBEDDER, KINDS, QUOTING
from tests.ragcore.indices.doubles import by_line, document

PETS, SEA = document("pets", "cats purr", "dogs bark"), document("sea", "ships sail")
SERVICES: dict[str, Any] = {"transformations": [by_line], "embed_model": EMBEDDER, "llm": QUOTING}


def build_index(
    kind: type[BaseIndex], *given: Document | TextNode, docstore: SimpleDocumentStore | None = None
) -> BaseIndex:
    return kind(given, storage_context=StorageContext.from_defaults(docstore=docstore), **SERVICES)


def texts(index: BaseIndex) -> set[str]:
    return {node.text for node in index.docstore.nodes()}


@pytest.mark.parametrize("kind", KINDS)
def test_last_of_documents_with_one_id_is_the_one_compared(kind: type[BaseIndex]) -> None:
    index = build_index(kind, SEA, document("b", "second"))
    assert index.refresh_ref_docs([document("b", "third"), document("b", "second")]) == [False, False]
    assert texts(index) == {"ships sail", "second"}
    assert index.refresh_ref_docs([document("b", "second"), SEA, document("b", "third")]) == [
        True,
        False,
        True,
    ]
    assert texts(index) == {"ships sail", "third"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "wrong", ["text", None, 7, PETS.text.split, [PETS], NodeWithScore(TextNode("cats purr"))]
)
def test_what_is_no_document_and_no_node_is_refused(kind: type[BaseIndex], wrong: Any) -> None:
    index = build_index(kind, SEA)
    for attempt in (
        lambda: index.insert(wrong),
        lambda: index.insert_documents([PETS, wrong]),
        lambda: index.insert_nodes([wrong]),
        lambda: index.refresh_ref_docs([PETS, wrong]),
        lambda: kind([wrong], **SERVICES),
        lambda: kind([], objects=[wrong], **SERVICES),
        lambda: kind.from_documents([PETS, wrong], **SERVICES),
    ):
        with pytest.raises(TypeError, match="an index takes documents and nodes, not "):
            attempt()
    assert texts(index) == {"ships sail"}


def test_the_characters_of_a_text_are_no_documents() -> None:
    with pytest.raises(TypeError, match="an index takes documents and nodes, not 'a'"):
        VectorStoreIndex.from_documents("abc", **SERVICES)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_document_store_argument_holds_the_passages_unchanged(kind: type[BaseIndex]) -> None:
    docstore = SimpleDocumentStore()
    docstore.add_documents([TextNode("mine", "m", ref_doc_id="pets")])
    alone = TextNode("alone", "n", embedding=EMBEDDER.embed_query("alone"))
    index = build_index(kind, PETS, alone, docstore=docstore)

    def held() -> dict[str, tuple[str, str | None]]:
        return {node.id_: (node.text, node.ref_doc_id) for node in docstore.nodes()}

    mine = {"m": ("mine", "pets")}
    pets = {"pets#0": ("cats purr", "pets"), "pets#1": ("dogs bark", "pets")}
    assert held() == {**mine, **pets, "n": ("alone", "n")}
    assert all(node.embedding is None for node in docstore.nodes())
    index.insert_nodes(
        [TextNode("cats hiss", "pets#0", ref_doc_id="pets"), TextNode("owls hunt", "o", ref_doc_id="pets")]
    )
    assert held()["pets#0"] == ("cats hiss", "pets")
    assert held().keys() == {"m", "pets#0", "pets#1", "o", "n"}
    index.insert(document("pets", "cats sleep"))
    assert held() == {**mine, "pets#0": ("cats sleep", "pets"), "n": ("alone", "n")}
    index.delete_ref_doc("n", delete_from_docstore=False)
    assert held() == {**mine, "pets#0": ("cats sleep", "pets"), "n": ("alone", "n")}
    index.delete_ref_doc("pets")
    assert held() == {"n": ("alone", "n")}


@pytest.mark.parametrize("kind", [SummaryIndex, VectorStoreIndex])
def test_neighbours_are_read_from_the_document_store_argument(kind: type[BaseIndex]) -> None:
    docstore = SimpleDocumentStore()
    first, second = (
        TextNode("one", "1", ref_doc_id="d", next_id="2"),
        TextNode("two", "2", ref_doc_id="d", prev_id="1"),
    )
    index = build_index(kind, first, second, docstore=docstore)
    found = PrevNextNodePostprocessor(docstore=index.storage_context.docstore).postprocess_nodes(
        [NodeWithScore(first)]
    )
    assert [hit.text for hit in found] == ["one", "two"]


def test_document_store_argument_has_all_levels_of_new_trees() -> None:
    docstore = SimpleDocumentStore()
    parser = HierarchicalNodeParser(chunk_sizes=[8, 4], chunk_overlap=0, tokenizer=str.split)
    context = StorageContext.from_defaults(docstore=docstore)
    index = VectorStoreIndex([], storage_context=context, transformations=[parser], embed_model=EMBEDDER)
    for text in (
        "one two three. four five six. seven eight nine. ten eleven twelve.",
        "one two three. four five six.",
    ):
        index.insert(Document(text, "d"))
        assert {node.text for node in docstore.nodes()} == {
            node.text for node in parser([Document(text, "d")])
        }


@pytest.mark.parametrize("kind", KINDS)
def test_document_store_content_does_not_outlive_its_document(kind: type[BaseIndex], tmp_path: Path) -> None:
    build_index(kind, PETS, docstore=SimpleDocumentStore()).storage_context.persist(tmp_path)
    index = load_index_from_storage(StorageContext.from_defaults(persist_dir=tmp_path), **SERVICES)
    assert {node.text for node in index.storage_context.docstore.nodes()} == {"cats purr", "dogs bark"}
    index.insert_documents([document("pets", "cats sleep"), SEA])
    assert texts(index) == {"cats sleep", "ships sail"}
    assert [node.text for node in index.storage_context.docstore.nodes()] == ["cats sleep"]
    index.delete_ref_doc("pets")
    assert texts(index) == {"ships sail"}
    assert index.storage_context.docstore.nodes() == []


def test_a_pipeline_and_an_index_may_have_one_document_store() -> None:
    docstore = SimpleDocumentStore()
    pipeline = IngestionPipeline([SentenceSplitter()], docstore, "upserts_and_delete")
    build_index(VectorStoreIndex, *pipeline.run([PETS, SEA]), docstore=docstore)
    assert pipeline.run([PETS, SEA]) == []
    assert {item.text for item in docstore.docs.values()} == {PETS.text, SEA.text}


@pytest.mark.parametrize("kind", [TreeIndex, SummaryIndex, DocumentSummaryIndex])
def test_index_with_own_passages_hides_the_shared_ones(kind: type[BaseIndex]) -> None:
    docstore = SimpleDocumentStore()
    docstore.add_documents([TextNode("mine", "m", ref_doc_id="pets")])
    assert texts(build_index(kind, PETS, docstore=docstore)) == {"cats purr", "dogs bark"}
