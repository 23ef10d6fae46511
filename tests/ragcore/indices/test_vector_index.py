import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import EmbeddingError, StoreError, UnknownDocumentError
from ragcore.indices.loading import load_index_from_storage
from ragcore.indices.vector import VectorStoreIndex
from ragcore.llms.scripted import ScriptedLLM
from ragcore.memory import ChatMemoryBuffer
from ragcore.node_parser.hierarchical import HierarchicalNodeParser
from ragcore.node_parser.node_tree import NodeTree
from ragcore.observe import Listener, Span, add_listener, span
from ragcore.postprocessor import PrevNextNodePostprocessor
from ragcore.query_engine.retriever import RetrieverQueryEngine
from ragcore.schema import ChatMessage, Document, IndexNode, MessageRole, TextNode
from ragcore.sql.sqlite import SQLiteDatabase
from ragcore.storage.docstore import SimpleDocumentStore
from ragcore.storage.index_store import IndexRecord
from ragcore.storage.storage_context import StorageContext
from ragcore.vector_stores.disk import SCHEMA, DiskStore
from ragcore.vector_stores.filters import MetadataFilter, MetadataFilters
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
    return VectorStoreIndex.from_documents(
        documents, embed_model=embedder or Counting(), transformations=[by_line]
    )


def best(index: VectorStoreIndex, question: str) -> str:
    return index.as_retriever(similarity_top_k=1).retrieve(question)[0].text


@pytest.mark.smoke
def test_documents_are_split_embedded_and_retrieved() -> None:
    index = index_of(*DOCUMENTS)
    assert [node.id_ for node in index.store.passages()] == ["pets#0", "pets#1", "sea#0", "sea#1"]
    assert best(index, "Do dogs bark?") == "dogs bark"
    assert best(index, "How deep is the sea?") == "the sea is deep"
    assert len(index.as_retriever().retrieve("dogs")) == 2


def test_passages_are_embedded_together_with_visible_metadata() -> None:
    embedder = Counting()
    index_of(*DOCUMENTS, embedder=embedder)
    texts = [
        "cats purr",
        "dogs bark",
        "file_name: sea.txt\n\nthe sea is deep",
        "file_name: sea.txt\n\nships sail",
    ]
    assert embedder.given == [texts]


def test_inserting_again_replaces() -> None:
    index = index_of(*DOCUMENTS)
    assert index.insert(Document("birds sing", id_="pets")) == 1
    assert index.insert(Document("birds sing", id_="pets")) == 1
    assert [node.text for node in index.store.passages()] == ["the sea is deep", "ships sail", "birds sing"]


def test_deletion_is_permanent_and_unknown_ids_are_errors() -> None:
    index = index_of(*DOCUMENTS)
    assert index.delete_ref_doc("pets") == 2
    assert best(index, "Do dogs bark?") != "dogs bark"
    with pytest.raises(UnknownDocumentError, match="'pets'"):
        index.delete_ref_doc("pets")


def test_constructor_documents_are_split_and_can_be_deleted() -> None:
    index = VectorStoreIndex(DOCUMENTS, embed_model=Counting(), transformations=[by_line])
    assert len(index.store) == 4
    assert index.delete_ref_doc(DOCUMENTS[0].id_) == 2
    assert len(index.store) == 2


def test_nodes_are_unchanged_and_keep_their_vectors() -> None:
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
    database = SQLiteDatabase(tmp_path / "library.db", SCHEMA)
    store = DiskStore(database, vectors=tmp_path / "vectors")
    VectorStoreIndex(DOCUMENTS, embed_model=Counting(), transformations=[by_line], store=store)
    database.close()
    embedder = Counting()
    index = VectorStoreIndex(
        [], embed_model=embedder, store=DiskStore(database, vectors=tmp_path / "vectors")
    )
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


def test_documents_can_be_inserted_into_an_empty_index() -> None:
    index = VectorStoreIndex([], embed_model=Counting(), transformations=[by_line])
    for document in DOCUMENTS:
        index.insert(document)
    assert [node.id_ for node in index.store.passages()] == ["pets#0", "pets#1", "sea#0", "sea#1"]
    assert {id_: info.node_ids for id_, info in index.ref_doc_info.items()} == {
        "pets": ("pets#0", "pets#1"),
        "sea": ("sea#0", "sea#1"),
    }
    assert index.ref_doc_info["sea"].metadata == {"file_name": "sea.txt"}


def test_updating_replaces_a_document() -> None:
    index = index_of(*DOCUMENTS)
    assert index.update_ref_doc(Document("cats meow", id_="pets")) == 1
    assert {node.text for node in index.store.passages()} == {"cats meow", "the sea is deep", "ships sail"}


def test_nodes_are_added_to_what_their_document_has() -> None:
    index = index_of(DOCUMENTS[0])
    before = index.store.document("pets")
    again = TextNode("dogs bark", "pets#1", ref_doc_id="pets", start_char_idx=10, end_char_idx=19)
    assert index.insert_nodes([again]) == 2
    assert index.store.document("pets").hash == before.hash
    assert index.insert_nodes([TextNode("birds sing", "new", ref_doc_id="pets")]) == 3
    assert index.store.passage_ids("pets") == ["pets#0", "pets#1", "new"]
    assert best(index, "Do birds sing?") == "birds sing"
    assert best(index, "Do cats purr?") == "cats purr"
    assert index.store.document("pets").text == "cats purr\n\ndogs bark\n\nbirds sing"
    assert index.insert_nodes([Document("fish swim", id_="pets")]) == 1
    assert index.store.passage_ids("pets") == ["pets#0"]


def test_long_document_of_nodes_is_joined_with_gaps_and_overlaps() -> None:
    text = "The quick brown fox jumps over the lazy dog."
    cuts = [(20, 30), (4, 15), (10, 19), (12, 14)]
    nodes = [TextNode(text[a:b], ref_doc_id="d", start_char_idx=a, end_char_idx=b) for a, b in cuts]
    index = VectorStoreIndex(nodes, embed_model=Counting())
    assert index.store.document("d").text == "    quick brown fox jumps over"


def test_empty_passages_are_skipped_and_an_empty_document_stays() -> None:
    embedder = Counting()
    with span("test") as trace:
        index = index_of(Document("cats purr\n \n", id_="gaps"), Document("", id_="empty"), embedder=embedder)
    assert [node.text for node in index.store.passages()] == ["cats purr"]
    assert embedder.given == [["cats purr"]]
    assert trace.spans("split")[0].facts == {"given": 2, "documents": 2, "passages": 1, "empty": 3}
    assert index.delete_ref_doc("empty") == 0


def test_a_node_without_text_but_with_a_vector_is_stored() -> None:
    embedder = Counting()
    index = VectorStoreIndex(
        [TextNode("", "picture", embedding=np.ones(64, np.float32)), TextNode("", "x")], embed_model=embedder
    )
    assert index.store.passage_ids("picture") == ["picture"]
    assert len(index.store) == 1


def test_last_of_two_equal_ids_counts_and_the_first_is_skipped() -> None:
    embedder = Counting()
    index = index_of(
        Document("old", id_="d"), Document("other", id_="o"), Document("new", id_="d"), embedder=embedder
    )
    assert {node.text for node in index.store.passages()} == {"new", "other"}
    assert sorted(embedder.given[0]) == ["new", "other"]


def test_tree_added_to_a_document_keeps_its_other_parents() -> None:
    parser = HierarchicalNodeParser(chunk_sizes=[8, 4], chunk_overlap=0, tokenizer=str.split)
    index = VectorStoreIndex([], embed_model=Counting(), transformations=[parser])
    index.insert(Document("one two three. four five six.", id_="d"))
    more = parser.get_nodes_from_documents([Document("seven eight nine. ten eleven twelve.", id_="e")])
    index.insert_nodes(NodeTree([replace(node, ref_doc_id="d") for node in more.level(k)] for k in range(2)))
    assert len(index.store.passage_ids("d")) == 4
    assert len(index.storage_context.docstore) == 2
    for leaf in index.store.passages():
        assert leaf.parent_id is not None
        assert leaf.text in index.storage_context.docstore.get_node(leaf.parent_id).text


def test_only_leaves_of_a_tree_are_indexed_and_parents_shared() -> None:
    parser = HierarchicalNodeParser(chunk_sizes=[40, 20, 8], chunk_overlap=0, tokenizer=str.split)
    text = " ".join(f"Sentence number {number} is here." for number in range(20))
    tree = parser.get_nodes_from_documents([Document(text, id_="d")])
    leaves = {node.id_ for node in tree.leaves()}
    assert 0 < len(leaves) < len(tree)
    for index in (
        VectorStoreIndex(tree, embed_model=Counting()),
        VectorStoreIndex([Document(text, id_="d")], embed_model=Counting(), transformations=[parser]),
    ):
        assert {node.text for node in index.store.passages()} == {node.text for node in tree.leaves()}
        assert len(index.store) == len(leaves)
        assert len(index.storage_context.docstore) == len(tree) - len(leaves)
        for leaf in index.store.passages():
            assert leaf.parent_id is not None
            assert leaf.id_ in index.storage_context.docstore.get_node(leaf.parent_id).child_ids
        index.delete_ref_doc("d")
        assert len(index.storage_context.docstore) == 0


def test_a_replaced_tree_leaves_nothing_of_the_old_one() -> None:
    parser = HierarchicalNodeParser(chunk_sizes=[8, 4], chunk_overlap=0, tokenizer=str.split)
    index = VectorStoreIndex([], embed_model=Counting(), transformations=[parser])
    index.insert(Document("one two three. four five six. seven eight nine. ten eleven twelve.", id_="d"))
    assert len(index.storage_context.docstore) == 2
    index.insert(Document("one two three. four five six.", id_="d"))
    assert [node.text for node in index.storage_context.docstore.nodes()] == ["one two three. four five six."]


def test_delete_argument_decides_about_shared_documents() -> None:
    index = index_of(*DOCUMENTS)
    index.storage_context.docstore.add_documents(
        [TextNode("mine", "m", ref_doc_id="pets"), TextNode("yours", "y", ref_doc_id="sea")]
    )
    index.delete_ref_doc("pets", delete_from_docstore=False)
    assert list(index.storage_context.docstore.docs) == ["m", "y"]
    index.delete_ref_doc("sea")
    assert list(index.storage_context.docstore.docs) == ["m"]


def test_a_delete_that_fails_half_way_deletes_nothing(tmp_path: Path) -> None:
    class Stuck(SimpleDocumentStore):
        def delete_ref_doc(self, ref_doc_id: str, raise_error: bool = True) -> int:
            raise OSError("the disk is full")

    index_of(*DOCUMENTS).storage_context.persist(tmp_path)
    context = StorageContext.from_defaults(docstore=Stuck(), persist_dir=tmp_path)
    index = load_index_from_storage(context, embed_model=Counting())
    with pytest.raises(OSError, match="full"):
        index.delete_ref_doc("pets")
    assert list(index.ref_doc_info) == ["pets", "sea"]


@pytest.mark.parametrize("kind", ["memory", "folder", "given beside a folder"])
def test_a_store_that_refuses_one_document_keeps_none_of_them(tmp_path: Path, kind: str) -> None:
    context = StorageContext.from_defaults()
    index = VectorStoreIndex(
        DOCUMENTS, embed_model=Counting(), transformations=[by_line], storage_context=context
    )
    if kind != "memory":
        context.persist(tmp_path)
        given = None if kind == "folder" else index.store
        context = StorageContext.from_defaults(persist_dir=tmp_path, vector_store=given)
        index = VectorStoreIndex(
            record=context.index_store.all()[0], storage_context=context, embed_model=Counting()
        )
    before = {node.id_: node.text for node in index.store.passages()}
    wide = TextNode("too wide", "w", embedding=np.ones(65, np.float32))
    fine = [TextNode("new", "n", ref_doc_id="a"), TextNode("other", "pets#9", ref_doc_id="pets")]
    with pytest.raises(StoreError, match="64 numbers"):
        index.insert_nodes([*fine, wide])
    assert {node.id_: node.text for node in index.store.passages()} == before
    assert index.store.document("pets").hash == DOCUMENTS[0].hash
    with pytest.raises(StoreError, match="64 numbers"):
        VectorStoreIndex([TextNode("n"), wide], embed_model=Counting(), storage_context=context)
    assert len(context.index_store.all()) == 1


def test_failing_splitter_or_embedder_leaves_the_index_unchanged() -> None:
    def failing(nodes: Sequence[Document | TextNode]) -> list[TextNode]:
        if nodes[0].id_ == "bad":
            raise OSError("no such thing")
        return by_line(nodes)

    index = VectorStoreIndex(
        DOCUMENTS, embed_model=Counting(forbidden="ships sink"), transformations=[failing]
    )
    before = [(node.id_, node.text) for node in index.store.passages()]
    with pytest.raises(OSError, match="no such thing"):
        index.insert_documents([Document("new", id_="pets"), Document("x", id_="bad")])
    with pytest.raises(EmbeddingError):
        index.insert_documents([Document("new", id_="pets"), Document("ships sink", id_="sea")])
    assert [(node.id_, node.text) for node in index.store.passages()] == before
    assert index.refresh_ref_docs([Document("new", id_="pets")]) == [True]


def test_texts_are_embedded_in_batches_of_the_requested_size() -> None:
    embedder = Counting()
    nodes = [TextNode(str(number)) for number in range(5)]
    VectorStoreIndex(nodes, embed_model=embedder, insert_batch_size=2)
    assert embedder.given == [["0", "1"], ["2", "3"], ["4"]]
    for size in (0, -1):
        with pytest.raises(ValueError, match=f"insert_batch_size is {size}"):
            VectorStoreIndex(nodes, embed_model=embedder, insert_batch_size=size)


def test_objects_are_nodes_that_keep_what_they_stand_for() -> None:
    thing = TextNode("what is meant")
    index = VectorStoreIndex(
        objects=[IndexNode("dogs bark", "o", index_id="i", obj=thing)], embed_model=Counting()
    )
    (found,) = index.store.nodes(["o"])
    assert isinstance(found, IndexNode)
    assert (found.index_id, found.obj) == ("i", thing)


def test_filters_modes_and_a_custom_retriever_reach_the_engine() -> None:
    index = index_of(*DOCUMENTS)
    only_sea = MetadataFilters([MetadataFilter("file_name", "sea.txt")])

    def sources(engine: RetrieverQueryEngine) -> list[str]:
        return [hit.node.id_ for hit in engine.query("Do dogs bark?").source_nodes]

    assert sources(index.as_query_engine(filters=only_sea, similarity_top_k=5)) == ["sea#0", "sea#1"]
    assert sources(index.as_query_engine(vector_store_query_mode="text_search")) == ["pets#1"]
    assert sources(index.as_query_engine(retriever=index.as_retriever(1, doc_ids=["sea"]))) == ["sea#0"]
    assert (
        len(
            index.as_retriever(3, vector_store_query_mode="text_search", sparse_top_k=1).retrieve("cats dogs")
        )
        == 1
    )
    by_words = index.as_retriever(1, vector_store_query_mode="hybrid", alpha=0.0).retrieve("dogs")
    assert by_words[0].score == pytest.approx(1.0)  # the highest BM25 and nothing of the cosine
    kwargs = {"mmr_threshold": 2.0}
    with pytest.raises(ValueError, match="threshold"):
        index.as_query_engine(vector_store_query_mode="mmr", vector_store_kwargs=kwargs).query("dogs")
    with pytest.raises(ValueError, match="threshold"):
        index.as_retriever(vector_store_query_mode="mmr", vector_store_kwargs=kwargs).retrieve("dogs")
    assert [hit.node.id_ for hit in index.as_retriever(3, node_ids=["sea#1", "pets#1"]).retrieve("dogs")] == [
        "pets#1",
        "sea#1",
    ]
    reply = index.as_chat_engine("context", filters=only_sea).chat("Do dogs bark?")
    assert {hit.node.ref_doc_id for hit in reply.source_nodes} == {"sea"}


def test_chat_continues_a_history_or_memory_in_the_best_mode() -> None:
    index = index_of(*DOCUMENTS)
    history = [ChatMessage(content="Do dogs bark?"), ChatMessage(MessageRole.ASSISTANT, "They do.")]
    engine = index.as_chat_engine(chat_history=history)
    assert engine.mode == "condense_plus_context"  # the best for a model that calls no functions
    assert "purr" in engine.chat("Do cats purr?").response
    assert [message.content for message in engine.chat_history[:3]] == [
        "Do dogs bark?",
        "They do.",
        "Do cats purr?",
    ]
    assert len(history) == 2
    memory = ChatMemoryBuffer(messages=history)
    index.as_chat_engine("context", memory=memory).chat("Do cats purr?")
    assert len(memory.get_all()) == 4
    with pytest.raises(ValueError, match="'worst'"):
        index.as_chat_engine("worst")


def test_an_index_on_a_store_uses_the_context_argument() -> None:
    store = index_of(*DOCUMENTS).store
    context = StorageContext.from_defaults()
    index = VectorStoreIndex.from_vector_store(store, Counting(), storage_context=context)
    assert index.storage_context is context
    assert index.store is index.vector_store is store
    assert best(index, "Do dogs bark?") == "dogs bark"
    other = StorageContext.from_defaults(vector_store=MemoryStore())
    with pytest.raises(ValueError, match="another vector store"):
        VectorStoreIndex.from_vector_store(store, Counting(), storage_context=other)


def test_a_view_that_is_opened_again_is_the_index_that_it_was(tmp_path: Path) -> None:
    database = SQLiteDatabase(tmp_path / "library.db", SCHEMA)

    def opened() -> DiskStore:
        return DiskStore(database, vectors=tmp_path / "vectors")

    context = StorageContext.from_defaults(vector_store=opened())
    index = VectorStoreIndex(
        DOCUMENTS, embed_model=Counting(), transformations=[by_line], storage_context=context
    )
    context.persist(tmp_path / "storage")
    for _ in range(2):
        context = StorageContext.from_defaults(persist_dir=tmp_path / "storage")
        view = VectorStoreIndex.from_vector_store(opened(), Counting(), storage_context=context)
        assert (
            [record.index_id for record in context.index_store.all()] == [view.index_id] == [index.index_id]
        )
        assert best(view, "Do dogs bark?") == "dogs bark"
    other = VectorStoreIndex.from_vector_store(MemoryStore(), Counting(), storage_context=context)
    assert other.index_id != index.index_id
    again = VectorStoreIndex.from_vector_store(other.store, Counting(), storage_context=context)
    assert again.index_id == other.index_id
    second = VectorStoreIndex.from_vector_store(MemoryStore(), Counting(), storage_context=context)
    assert second.index_id not in (index.index_id, other.index_id)
    database.close()


def test_an_index_has_an_id_of_its_own_which_can_be_chosen_once() -> None:
    context = StorageContext.from_defaults()
    one = VectorStoreIndex(
        DOCUMENTS, embed_model=Counting(), transformations=[by_line], storage_context=context
    )
    two = VectorStoreIndex([], embed_model=Counting(), storage_context=context)
    assert one.index_id != two.index_id
    one.set_index_id("animals")
    one.set_index_id("animals")
    assert one.index_id == "animals"
    assert best(one, "Do dogs bark?") == "dogs bark"
    assert [record.index_id for record in context.index_store.all()] == [two.index_id, "animals"]
    with pytest.raises(ValueError, match="'animals'"):
        two.set_index_id("animals")


def test_nodes_and_a_record_do_not_go_together() -> None:
    record = IndexRecord("vector_store", data={"embedder": Counting().name})
    with pytest.raises(ValueError, match="not of both"):
        VectorStoreIndex([], record=record, embed_model=Counting())


def test_link_followers_read_passages_from_the_index_s_documents() -> None:
    linked = [
        TextNode("cats purr", "c", next_id="d", ref_doc_id="pets"),
        TextNode("dogs bark", "d", ref_doc_id="pets"),
    ]
    index = VectorStoreIndex(linked, embed_model=Counting())
    index.docstore.add_documents([TextNode("above", "a", ref_doc_id="pets")])
    assert list(index.docstore.docs) == ["c", "d", "a"]
    found = index.as_retriever(similarity_top_k=1).retrieve("cats purr")
    read_on = PrevNextNodePostprocessor(docstore=index.docstore).postprocess_nodes(found)
    assert [hit.node_id for hit in read_on] == ["c", "d"]
    assert index.docstore.get_node("a").text == "above"
    node = index.docstore.get_node("d")
    assert (node.text, node.ref_doc_id, node.embedding) == ("dogs bark", "pets", None)
    info = index.docstore.get_ref_doc_info("pets")
    assert info is not None
    assert info.node_ids == ("c", "d", "a")
    assert index.docstore.get_all_document_hashes()["pets"] == index.store.documents()[0].hash
    with pytest.raises(StoreError, match="belongs to an index"):
        index.docstore.delete_document("c")
    assert index.storage_context.docstore.docs.keys() == {"a"}


def test_indexing_is_one_trace_with_each_text_embedded_once() -> None:
    roots: list[Span] = []

    class Heard(Listener):
        def on_finish(self, step: Span) -> None:
            if step.parent is None:
                roots.append(step)

    stop = add_listener(Heard())
    try:
        index_of(*DOCUMENTS).insert(Document("birds sing", id_="birds"))
    finally:
        stop()
    assert [(root.name, [step.name for step in root.children]) for root in roots] == [
        ("index", ["split", "embed"])
    ] * 2
    assert [root.facts["passages"] for root in roots] == [4, 1]
    assert [step.facts["count"] for root in roots for step in root.spans("embed")] == [4, 1]


def test_an_index_without_nodes_and_record_is_refused() -> None:
    with pytest.raises(ValueError, match="made of nodes"):
        VectorStoreIndex(embed_model=Counting())


def test_options_of_an_engine_are_its_retrievers_too() -> None:
    index = index_of(Document("One cat.\nTwo cats."))
    engine = index.as_query_engine(llm=ScriptedLLM(), similarity_top_k=1, vector_store_query_mode="mmr")
    assert len(engine.retrieve("cat")) == 1
    with pytest.raises(TypeError, match="similarity_topk"):
        index_of().as_query_engine(similarity_topk=1)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="similarity_top_k"):
        index_of().as_query_engine(retriever=index_of().as_retriever(), similarity_top_k=1)


def test_similarity_top_k_can_change_later() -> None:
    retriever = index_of(*DOCUMENTS).as_retriever(similarity_top_k=1)
    retriever.similarity_top_k = 3
    assert len(retriever.retrieve("dogs")) == 3


def test_node_next_to_its_own_document_joins_its_passages() -> None:
    pets, extra = DOCUMENTS[0], TextNode("pets are nice", "n", ref_doc_id="pets")
    made = VectorStoreIndex([extra, pets], embed_model=Counting(), transformations=[by_line])
    added = index_of(DOCUMENTS[1])
    assert added.insert_nodes([pets, extra]) == 3
    for index in (made, added):
        assert index.store.passage_ids("pets") == ["pets#0", "pets#1", "n"]


def test_an_index_is_changed_from_an_event_loop_as_elsewhere() -> None:
    async def changes() -> list[object]:
        index = VectorStoreIndex([], embed_model=HashEmbedding(8))
        done: list[object] = [
            await index.ainsert(Document("a boat", id_="a")),
            await index.ainsert_nodes([TextNode("a gull", "g", ref_doc_id="b")]),
            await index.aupdate_ref_doc(Document("a red boat", id_="a")),
            await index.arefresh_ref_docs([Document("a red boat", id_="a"), Document("a sail", id_="c")]),
            await index.adelete_ref_doc("b"),
        ]
        return [*done, sorted(index.ref_doc_info)]

    assert asyncio.run(changes()) == [1, 1, 1, [False, True], 1, ["a", "c"]]


def test_a_query_engine_answers_with_its_output_class() -> None:
    class Tower(BaseModel):
        builder: str

    llm = ScriptedLLM(['{"builder": "Ada"}'])
    engine = index_of(Document("Ada built the tower.", "a")).as_query_engine(llm, output_cls=Tower)
    assert engine.query("Who built the tower?").metadata["output"] == Tower(builder="Ada")


def test_a_passage_may_bring_its_vector_as_a_list() -> None:
    nodes = [
        TextNode(word, word, embedding=HashEmbedding().embed_query(word).tolist())
        for word in ("gull", "storm")
    ]
    index = VectorStoreIndex(nodes=nodes, embed_model=HashEmbedding())
    assert index.as_retriever(similarity_top_k=1).retrieve("gull")[0].node.id_ == "gull"
