"""What every document store promises, in memory and on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.errors import UnknownDocumentError
from ragcore.schema import Document, TextNode
from ragcore.storage.disk import DiskStorage
from ragcore.storage.docstore import DocumentStore, RefDocInfo, SimpleDocumentStore
from ragcore.vector_stores.node_json import Item
from tests.ragcore.storage.making import fields, ids, items

Opener = Callable[[], DocumentStore]


@pytest.fixture(params=["memory", "disk"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    """Opens a store of its own each time."""
    opened: list[DiskStorage] = []

    def opener() -> DocumentStore:
        if request.param == "memory":
            return SimpleDocumentStore()
        opened.append(DiskStorage(tmp_path / str(len(opened))))
        return opened[-1].nodes("index")

    yield opener
    for storage in opened:
        storage.close()


@pytest.fixture
def store(open_store: Opener) -> DocumentStore:
    return open_store()


TWO = [TextNode("one", "n1", {"k": 1}, ref_doc_id="d"), TextNode("two", "n2", ref_doc_id="d")]


def test_added_nodes_are_read_by_id_in_the_requested_order(store: DocumentStore) -> None:
    store.add_documents([*TWO, Document("whole", "d")])
    assert [node.text for node in store.get_nodes(["n2", "n1"])] == ["two", "one"]
    assert store.get_node("n1").metadata == {"k": 1}
    document = store.get_document("d")
    assert document is not None
    assert document.text == "whole"
    assert list(store.docs) == ["n1", "n2", "d"]
    assert [node.id_ for node in store.nodes()] == ["n1", "n2"]
    assert len(store) == 3


def test_what_is_not_there_is_an_error_unless_that_is_declined(store: DocumentStore) -> None:
    store.add_documents([*TWO, Document("whole", "d")])
    for ask in (
        lambda: store.get_node("x"),
        lambda: store.get_document("x"),
        lambda: store.get_nodes(["n1", "x"]),
        lambda: store.delete_document("x"),
        lambda: store.delete_ref_doc("x"),
    ):
        with pytest.raises(UnknownDocumentError, match="'x'"):
            ask()
    with pytest.raises(UnknownDocumentError, match="'d'"):
        store.get_node("d")  # a document is no passage
    with pytest.raises(UnknownDocumentError, match="'n1'"):
        store.delete_ref_doc("n1")  # a passage is no document
    assert store.get_node("x", raise_error=False) is None
    assert store.get_node("d", raise_error=False) is None
    assert store.get_document("x", raise_error=False) is None
    assert [node.id_ for node in store.get_nodes(["n1", "x"], raise_error=False)] == ["n1"]
    assert store.delete_ref_doc("x", raise_error=False) == 0
    store.delete_document("x", raise_error=False)
    assert (store.document_exists("x"), store.document_exists("n1")) == (False, True)
    assert len(store) == 3


def test_node_added_again_keeps_its_place_in_its_document(store: DocumentStore) -> None:
    store.add_documents(TWO)
    store.add_documents([TextNode("uno", "n1", ref_doc_id="d")])
    assert store.get_ref_doc_info("d") == RefDocInfo(("n1", "n2"), {})


def test_adding_again_replaces_or_is_refused(store: DocumentStore) -> None:
    store.add_documents(TWO)
    store.add_documents([TextNode("uno", "n1", ref_doc_id="e")])
    assert [node.text for node in store.nodes()] == ["uno", "two"]
    assert store.get_ref_doc_info("d") == RefDocInfo(("n2",), {})
    assert store.get_ref_doc_info("e") == RefDocInfo(("n1",), {})
    with pytest.raises(ValueError, match="'n2'"):
        store.add_documents([TextNode("new", "n3"), TextNode("dos", "n2")], allow_update=False)
    assert [node.text for node in store.nodes()] == ["uno", "two"]


def test_a_document_is_known_by_its_passages(store: DocumentStore) -> None:
    store.add_documents([*TWO, TextNode("alone", "n3")])
    assert store.get_all_ref_doc_info() == {"d": RefDocInfo(("n1", "n2"), {"k": 1})}
    assert store.get_ref_doc_info("n3") is None
    store.add_documents([Document("whole", "d", {"of": "the document"})])
    assert store.get_ref_doc_info("d") == RefDocInfo(("n1", "n2"), {"of": "the document"})


def test_deleting_a_document_removes_its_passages_and_hashes(store: DocumentStore) -> None:
    store.add_documents([*TWO, Document("whole", "d"), TextNode("other", "n3", ref_doc_id="e")])
    assert store.delete_ref_doc("d") == 2
    assert list(store.docs) == ["n3"]
    assert list(store.get_all_document_hashes()) == ["n3"]
    assert store.get_ref_doc_info("d") is None
    with pytest.raises(UnknownDocumentError):
        store.delete_ref_doc("d")


def test_last_node_removes_the_record_of_an_unstored_document(store: DocumentStore) -> None:
    store.add_documents(TWO)
    store.set_document_hash("d", "hash of d")
    store.delete_document("n1")
    assert store.get_document_hash("d") == "hash of d"
    assert store.get_ref_doc_info("d") == RefDocInfo(("n2",), {})
    store.delete_document("n2")
    assert store.get_all_document_hashes() == {}
    assert store.has_ref_doc("d") is False


def test_a_document_without_passages_can_be_deleted(store: DocumentStore) -> None:
    store.set_document_hash("empty", "hash")
    assert store.delete_ref_doc("empty") == 0
    assert store.get_document_hash("empty") is None


def test_hashes_are_those_of_added_items_or_explicitly_set(store: DocumentStore) -> None:
    store.add_documents(TWO)
    store.set_document_hash("d", "mine")
    assert store.get_all_document_hashes() == {"n1": TWO[0].hash, "n2": TWO[1].hash, "d": "mine"}
    assert store.get_document_hash("nobody") is None


def test_documents_with_the_same_content_stay_two(store: DocumentStore) -> None:
    store.add_documents([Document("same", "d"), Document("same", "e")])
    assert store.get_all_document_hashes() == {"d": Document("same").hash, "e": Document("same").hash}
    store.delete_ref_doc("d")
    assert list(store.docs) == list(store.get_all_document_hashes()) == ["e"]


steps = st.one_of(
    st.tuples(st.just("add"), st.lists(items, max_size=3)),
    st.tuples(st.just("delete"), ids),
    st.tuples(st.just("delete_ref_doc"), ids),
)


@given(st.lists(steps, max_size=8))
def test_it_holds_what_a_plain_dict_would(open_store: Opener, program: list[tuple[str, object]]) -> None:
    store, expected = open_store(), dict[str, Item]()
    for verb, value in program:
        if verb == "add":
            assert isinstance(value, list)
            store.add_documents(value)
            expected |= {item.id_: item for item in value}
        elif verb == "delete":
            store.delete_document(str(value), raise_error=False)
            expected.pop(str(value), None)
        else:
            cut = [
                id_
                for id_, item in expected.items()
                if isinstance(item, TextNode) and item.ref_doc_id == value
            ]
            if cut or isinstance(expected.get(str(value)), Document):
                expected = {id_: item for id_, item in expected.items() if id_ not in (*cut, value)}
            assert store.delete_ref_doc(str(value), raise_error=False) == len(cut)
    assert [fields(item) for item in store.docs.values()] == [fields(item) for item in expected.values()]
    assert store.get_all_document_hashes() == {id_: item.hash for id_, item in expected.items()}
    sources: dict[str, set[str]] = {}
    for item in expected.values():
        if isinstance(item, TextNode) and item.ref_doc_id is not None:
            sources.setdefault(item.ref_doc_id, set()).add(item.id_)
    assert {source: set(info.node_ids) for source, info in store.get_all_ref_doc_info().items()} == sources
