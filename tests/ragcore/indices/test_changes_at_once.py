"""What threads and processes that change one index leave of each other's changes: all of them, whichever
comes first."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from ragcore.errors import UnknownDocumentError
from ragcore.indices import BaseIndex, SummaryIndex, TreeIndex, VectorStoreIndex, load_index_from_storage
from ragcore.schema import Document, TextNode
from ragcore.storage.disk import DiskStorage
from ragcore.storage.memory import MemoryStorage, Storage
from ragcore.storage.storage_context import StorageContext
from tests.properties.doubles import EMBEDDER, KINDS, QUOTING
from tests.ragcore.indices.doubles import by_line, document

MOMENT = 0.05  # seconds in which another change comes in between, if it can
SERVICES: dict[str, Any] = {"transformations": [by_line], "embed_model": EMBEDDER, "llm": QUOTING}


class Interrupting(StorageContext):
    """Lets another change go first, where the first one that was worked out is about to be stored."""

    def __init__(self, storage: Storage) -> None:
        super().__init__(storage)
        self.first: Callable[[], None] | None = None

    def transaction(self) -> AbstractContextManager[None]:
        first, self.first = self.first, None
        if first is not None:
            first()
        return super().transaction()


def small(kind: type[BaseIndex], context: StorageContext) -> BaseIndex:
    more: dict[str, Any] = {"num_children": 2} if kind is TreeIndex else {}
    return kind([document("d", "cats purr")], storage_context=context, **SERVICES, **more)


def at_once(
    kind: type[BaseIndex], one: Callable[[BaseIndex], object], other: Callable[[BaseIndex], object]
) -> BaseIndex:
    """An index with one document, "d", after two changes at the same time, each by an index object of its
    own."""
    context = Interrupting(MemoryStorage())
    index = small(kind, context)
    again = load_index_from_storage(context, **SERVICES)
    running: list[Future[object]] = []

    def first() -> None:
        running.append(pool.submit(other, again))
        wait(running, timeout=MOMENT)

    with ThreadPoolExecutor(1) as pool:
        context.first = first
        one(index)
    running[0].result()
    return index


def reached(index: BaseIndex) -> set[str]:
    """The passages of a tree that are below its roots."""
    assert isinstance(index, TreeIndex)
    texts: set[str] = set()
    level = index.root_ids
    while level:
        found = index.items(level)
        texts |= {node.text for node, below in found if not below}
        level = [id_ for _, below in found for id_ in below]
    return texts


def added(line: str, id_: str) -> Callable[[BaseIndex], object]:
    return lambda index: index.insert_nodes([TextNode(line, id_, ref_doc_id="d")])


def inserted(given: Document) -> Callable[[BaseIndex], object]:
    return lambda index: index.insert(given)


@pytest.mark.parametrize("kind", KINDS)
def test_nodes_added_to_one_document_at_once_all_stay(kind: type[BaseIndex]) -> None:
    index = at_once(kind, added("dogs bark", "n1"), added("owls hunt", "n2"))
    assert set(index.ref_doc_info["d"].node_ids) == {"d#0", "n1", "n2"}


@pytest.mark.parametrize("kind", KINDS)
def test_document_deleted_while_its_nodes_are_added_is_gone(kind: type[BaseIndex]) -> None:
    index = at_once(kind, added("dogs bark", "n1"), lambda other: other.delete_ref_doc("d"))
    assert index.ref_doc_info == {}


def test_documents_added_to_a_tree_are_reachable_and_deletable() -> None:
    new = [document("e", "dogs bark", "owls hunt"), document("f", "ships sail", "boats row")]
    index = at_once(TreeIndex, *map(inserted, new))
    assert reached(index) == {"cats purr", "dogs bark", "owls hunt", "ships sail", "boats row"}
    for id_ in ("d", "e", "f"):
        index.delete_ref_doc(id_)
    assert (index.root_ids, index.ref_doc_info) == ([], {})


def test_a_tree_keeps_what_comes_while_a_document_is_deleted() -> None:
    index = at_once(TreeIndex, lambda one: one.delete_ref_doc("d"), inserted(document("e", "dogs bark")))
    assert index.ref_doc_info.keys() == {"e"}
    index.delete_ref_doc("e")


@pytest.mark.parametrize("kind", [SummaryIndex, TreeIndex])
@pytest.mark.parametrize("in_folder", [False, True])
def test_change_outside_a_transaction_does_not_deadlock(
    kind: type[BaseIndex], in_folder: bool, tmp_path: Path
) -> None:
    context = StorageContext.from_defaults()
    if in_folder:
        context.persist(tmp_path)
        context = StorageContext.from_defaults(persist_dir=tmp_path)
    index = small(kind, context)
    begun, inside = threading.Event(), threading.Event()

    def slowly(nodes: Sequence[Document | TextNode]) -> Sequence[TextNode]:
        begun.set()
        inside.wait(MOMENT)
        return by_line(nodes)

    def together() -> None:
        begun.wait()
        with context.transaction():
            inside.set()
            index.insert(document("e", "dogs bark"))
            index.insert(document("f", "owls hunt"))

    index.transformations = [slowly]
    threads = [
        threading.Thread(target=work, daemon=True)
        for work in (together, lambda: index.insert(document("g", "ships sail")))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert [thread.is_alive() for thread in threads] == [False, False]
    assert index.ref_doc_info.keys() == {"d", "e", "f", "g"}
    if kind is TreeIndex:
        assert reached(index) == {"cats purr", "dogs bark", "owls hunt", "ships sail"}


def in_one_folder(
    folder: Path,
    kind: type[BaseIndex],
    one: Callable[[BaseIndex], object],
    other: Callable[[BaseIndex], object],
) -> BaseIndex:
    """An index with one document, "d", in a folder, where the second change comes while the first one is
    worked out, through a context of its own, as of another process."""
    small(kind, StorageContext.from_defaults()).storage_context.persist(folder)
    context = Interrupting(DiskStorage(folder))
    index = load_index_from_storage(context, **SERVICES)
    again = load_index_from_storage(StorageContext.from_defaults(persist_dir=folder), **SERVICES)
    context.first = lambda: other(again)
    one(index)
    return load_index_from_storage(StorageContext.from_defaults(persist_dir=folder), **SERVICES)


def test_documents_added_to_a_tree_by_two_contexts_are_reachable(tmp_path: Path) -> None:
    new = [document("e", "dogs bark", "owls hunt"), document("f", "ships sail", "boats row")]
    index = in_one_folder(tmp_path, TreeIndex, *map(inserted, new))
    assert reached(index) == {"cats purr", "dogs bark", "owls hunt", "ships sail", "boats row"}


def test_nodes_added_during_deletions_from_a_tree_are_reachable(tmp_path: Path) -> None:
    index = in_one_folder(
        tmp_path, TreeIndex, lambda one: one.delete_ref_doc("d"), inserted(document("e", "dogs bark"))
    )
    assert reached(index) == {"dogs bark"}


def test_second_deletion_by_another_context_is_an_unknown_id(tmp_path: Path) -> None:
    with pytest.raises(UnknownDocumentError):
        in_one_folder(
            tmp_path, TreeIndex, lambda one: one.delete_ref_doc("d"), lambda other: other.delete_ref_doc("d")
        )


@pytest.mark.parametrize("kind", KINDS)
def test_nodes_added_to_a_document_by_two_contexts_all_stay(kind: type[BaseIndex], tmp_path: Path) -> None:
    index = in_one_folder(tmp_path, kind, added("dogs bark", "n1"), added("owls hunt", "n2"))
    assert set(index.ref_doc_info["d"].node_ids) == {"d#0", "n1", "n2"}


def test_document_is_split_once_despite_another_context_s_insert(tmp_path: Path) -> None:
    split: list[str] = []

    def told(nodes: Sequence[Document | TextNode]) -> Sequence[TextNode]:
        split.extend(document.id_ for document in nodes)
        return by_line(nodes)

    def told_insert(index: BaseIndex) -> None:
        index.transformations = [told]
        index.insert(document("e", "dogs bark"))

    index = in_one_folder(tmp_path, VectorStoreIndex, told_insert, inserted(document("f", "ships sail")))
    assert split == ["e"]
    assert index.ref_doc_info.keys() == {"d", "e", "f"}


def test_tree_persisted_again_during_a_change_is_reachable(tmp_path: Path) -> None:
    built = small(TreeIndex, StorageContext.from_defaults())
    built.storage_context.persist(tmp_path)
    context = Interrupting(DiskStorage(tmp_path))
    index = load_index_from_storage(context, **SERVICES)

    def again() -> None:
        built.insert(document("f", "ships sail"))
        built.storage_context.persist(tmp_path)

    context.first = again
    index.insert(document("e", "dogs bark"))
    assert reached(index) == {"cats purr", "dogs bark", "ships sail"}
