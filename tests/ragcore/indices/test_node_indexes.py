"""What every index that keeps its passages itself promises, in memory and in a folder."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import LLMServerError, UnknownDocumentError
from ragcore.extractive.answerer import ExtractiveLLM
from ragcore.indices.loading import load_index_from_storage
from ragcore.indices.node_index import NodeIndex
from ragcore.indices.summary.index import SummaryIndex
from ragcore.indices.tree.index import TreeIndex
from ragcore.llamaindex.indices.document_summary.base import DocumentSummaryIndex
from ragcore.llamaindex.indices.keyword_table.base import (
    KeywordTableIndex,
    RAKEKeywordTableIndex,
    SimpleKeywordTableIndex,
)
from ragcore.llms.scripted import ScriptedLLM
from ragcore.retrievers.base import BaseRetriever
from ragcore.schema import Document, TextNode
from ragcore.storage.storage_context import StorageContext
from tests.ragcore.indices.doubles import by_line, document, found, obliging

EMBEDDER = HashEmbedding(64)
PETS = document("pets", "cats purr loudly", "dogs bark at night")
SEA = document("sea", "ships sail west", "whales sing songs", "the tide is low")
BIRDS = document("birds", "owls hunt mice")
QUESTIONS = ["Do dogs bark?", "What do whales sing?", "Who hunts mice at night?"]

KINDS: list[type[NodeIndex]] = [
    SummaryIndex,
    TreeIndex,
    KeywordTableIndex,
    SimpleKeywordTableIndex,
    RAKEKeywordTableIndex,
    DocumentSummaryIndex,
]


def retrievers(index: NodeIndex) -> list[BaseRetriever]:
    if isinstance(index, SummaryIndex):
        return [index.as_retriever(mode, similarity_top_k=2) for mode in ("default", "embedding", "llm")]
    if isinstance(index, TreeIndex):
        modes = ("select_leaf", "select_leaf_embedding", "all_leaf", "root")
        return [index.as_retriever(mode, child_branch_factor=2) for mode in modes]
    if isinstance(index, DocumentSummaryIndex):
        return [index.as_retriever(mode) for mode in ("llm", "embedding")]
    return [index.as_retriever()]


def answers(index: NodeIndex) -> list[list[tuple[str, float | None]]]:
    return [found(retriever.retrieve(question)) for retriever in retrievers(index) for question in QUESTIONS]


@pytest.fixture(params=["memory", "folder"])
def context(request: pytest.FixtureRequest, tmp_path: Path) -> StorageContext:
    if request.param == "memory":
        return StorageContext.from_defaults()
    SummaryIndex([], embed_model=EMBEDDER, llm=ScriptedLLM()).storage_context.persist(tmp_path / "storage")
    return StorageContext.from_defaults(persist_dir=tmp_path / "storage")


def build_index(
    kind: type[NodeIndex],
    documents: Sequence[Document | TextNode],
    context: StorageContext | None = None,
    llm: ScriptedLLM | None = None,
) -> NodeIndex:
    more = {"num_children": 2} if kind is TreeIndex else {}
    return kind(
        documents,
        storage_context=context,
        transformations=[by_line],
        embed_model=EMBEDDER,
        llm=llm or obliging(),
        **more,  # type: ignore[arg-type]
    )


def ids(index: NodeIndex) -> list[str]:
    return [node.id_ for node in index.nodes.nodes()]


@pytest.mark.parametrize("kind", KINDS)
def test_passages_are_stored_in_order_and_retrieved(kind: type[NodeIndex], context: StorageContext) -> None:
    index = build_index(kind, [PETS, SEA], context)
    assert ids(index) == ["pets#0", "pets#1", "sea#0", "sea#1", "sea#2"]
    assert {id_: info.node_ids for id_, info in index.ref_doc_info.items()} == {
        "pets": ("pets#0", "pets#1"),
        "sea": ("sea#0", "sea#1", "sea#2"),
    }
    assert "dogs bark at night" in [hit.text for hit in retrievers(index)[0].retrieve("Do dogs bark?")]


@pytest.mark.parametrize("kind", KINDS)
def test_documents_and_nodes_are_added_replaced_and_deleted(
    kind: type[NodeIndex], context: StorageContext
) -> None:
    index = build_index(kind, [PETS], context)
    assert index.insert(SEA) == 3
    assert index.insert_nodes(by_line([BIRDS])) == 1
    assert index.update_ref_doc(document("pets", "cats sleep")) == 1
    assert ids(index) == ["sea#0", "sea#1", "sea#2", "birds#0", "pets#0"]
    assert index.insert_nodes([TextNode("eagles soar", "birds#1", ref_doc_id="birds")]) == 2
    assert index.ref_doc_info["birds"].node_ids == ("birds#0", "birds#1")
    assert index.delete_ref_doc("sea") == 3
    assert sorted(ids(index)) == ["birds#0", "birds#1", "pets#0"]
    for retriever in retrievers(index):
        hits = retriever.retrieve("Do whales or ships or dogs or cats sing?")
        assert not {hit.node.ref_doc_id for hit in hits} - {"birds", "pets", None}
        assert "dogs bark" not in " ".join(hit.text for hit in hits)


@pytest.mark.parametrize("kind", KINDS)
def test_changed_index_equals_one_built_from_the_same_documents(
    kind: type[NodeIndex], context: StorageContext
) -> None:
    index = build_index(kind, [BIRDS, SEA], context)
    index.insert(document("pets", "something else", "and more", "and even more"))
    index.delete_ref_doc("birds")
    index.insert(PETS)
    index.insert(BIRDS)
    fresh = build_index(kind, [SEA, PETS, BIRDS])
    assert ids(index) == ids(fresh)
    if kind is not TreeIndex:  # the same passages may have another way down
        assert answers(index) == answers(fresh)


@pytest.mark.parametrize("kind", KINDS)
def test_only_what_has_changed_is_refreshed(kind: type[NodeIndex]) -> None:
    llm = obliging()
    index = build_index(kind, [PETS, SEA], llm=llm)
    before = len(llm.calls)
    assert index.refresh_ref_docs([PETS, SEA]) == [False, False]
    assert len(llm.calls) == before
    assert index.refresh_ref_docs([PETS, document("sea", "no ships"), BIRDS]) == [False, True, True]
    assert ids(index) == ["pets#0", "pets#1", "sea#0", "birds#0"]


@pytest.mark.parametrize("kind", KINDS)
def test_deleting_what_is_not_there_is_an_error(kind: type[NodeIndex]) -> None:
    index = build_index(kind, [PETS])
    for unknown in ("sea", "pets#0"):
        with pytest.raises(UnknownDocumentError, match=unknown):
            index.delete_ref_doc(unknown)
    index.delete_ref_doc("pets")
    with pytest.raises(UnknownDocumentError, match="pets"):
        index.delete_ref_doc("pets")
    assert answers(index) == [[]] * len(answers(index))


@pytest.mark.parametrize("kind", KINDS)
def test_loaded_index_retrieves_the_same_without_model_calls(
    kind: type[NodeIndex], context: StorageContext, tmp_path: Path
) -> None:
    index = build_index(kind, [PETS, SEA], context)
    index.insert(BIRDS)
    index.delete_ref_doc("pets")
    index.storage_context.persist(tmp_path / "there")
    llm = obliging()
    opened = StorageContext.from_defaults(persist_dir=tmp_path / "there")
    again = load_index_from_storage(
        opened, index.index_id, transformations=[by_line], embed_model=EMBEDDER, llm=llm
    )
    assert type(again) is kind
    assert llm.calls == []
    assert isinstance(again, NodeIndex)
    assert answers(again) == answers(index)
    again.insert(PETS)
    index.insert(PETS)
    assert answers(again) == answers(index)


@pytest.mark.parametrize("kind", [TreeIndex, KeywordTableIndex, DocumentSummaryIndex])
def test_when_the_model_fails_nothing_has_changed(kind: type[NodeIndex], context: StorageContext) -> None:
    index = build_index(kind, [PETS, SEA], context, obliging(forbidden="forbidden"))
    before = (ids(index), answers(index), index.entries())
    for change in (
        lambda: index.insert(document("new", "good", "forbidden words")),
        lambda: index.insert(document("pets", "changed", "forbidden words")),
        lambda: index.insert_nodes([TextNode("forbidden too", "x", ref_doc_id="sea")]),
    ):
        with pytest.raises(LLMServerError):
            change()
        assert (ids(index), answers(index), index.entries()) == before
    with pytest.raises(LLMServerError):
        build_index(kind, [document("bad", "forbidden", "b", "c")], context, obliging(forbidden="forbidden"))
    assert [record.index_id for record in context.index_store.all()][-1] == index.index_id


@pytest.mark.parametrize("kind", KINDS)
def test_two_indexes_of_one_context_do_not_meet(kind: type[NodeIndex], context: StorageContext) -> None:
    first, second = build_index(kind, [PETS], context), build_index(kind, [SEA], context)
    first.delete_ref_doc("pets")
    assert ids(second) == ["sea#0", "sea#1", "sea#2"]
    assert answers(second) == answers(build_index(kind, [SEA]))


@pytest.mark.parametrize("kind", KINDS)
def test_empty_index_returns_nothing_and_accepts_a_document(kind: type[NodeIndex]) -> None:
    index = build_index(kind, [])
    assert answers(index) == [[]] * len(answers(index))
    index.insert(PETS)
    assert ids(index) == ["pets#0", "pets#1"]
    assert any(answers(index))


@pytest.mark.parametrize("kind", KINDS)
def test_everything_works_without_a_language_model(kind: type[NodeIndex]) -> None:
    facts = [
        document(
            "bridge",
            "The bridge was built in 1890 by a French engineer.",
            "It crosses the river at the old mill.",
        ),
        document(
            "ferry",
            "The ferry to the island leaves at nine in the morning.",
            "Tickets cost 35 dollars for adults.",
        ),
        document(
            "pets", "Dogs bark at night when they are alone.", "Cats sleep during the day on warm roofs."
        ),
    ]
    index = build_index(kind, facts, llm=ExtractiveLLM(EMBEDDER))  # type: ignore[arg-type]
    assert "1890" in str(index.as_query_engine().query("When was the bridge built?"))
    index.delete_ref_doc("bridge")
    assert "1890" not in str(index.as_query_engine().query("When was the bridge built?"))
