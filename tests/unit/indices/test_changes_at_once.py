"""What threads that change one index leave of each other's changes: all of them, whichever comes first."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from typing import Any

import pytest

from ragcore.indices import BaseIndex, TreeIndex, load_index_from_storage
from ragcore.schema import Document, TextNode
from ragcore.storage.memory import MemoryStorage
from ragcore.storage.storage_context import StorageContext
from tests.properties.doubles import EMBEDDER, KINDS, QUOTING
from tests.unit.indices.doubles import by_line, document

MOMENT = 0.05  # seconds in which another change comes in between, if it can
SERVICES: dict[str, Any] = {"transformations": [by_line], "embed_model": EMBEDDER, "llm": QUOTING}


class Interrupting(StorageContext):
    """Lets another change go first, where the first one that was worked out is about to be stored."""

    def __init__(self) -> None:
        super().__init__(MemoryStorage())
        self.first: Callable[[], None] | None = None

    def transaction(self) -> AbstractContextManager[None]:
        first, self.first = self.first, None
        if first is not None:
            first()
        return super().transaction()


def at_once(kind: type[BaseIndex], one: Callable[[BaseIndex], object], other: Callable[[BaseIndex], object]) -> BaseIndex:
    """An index with one document, "d", after two changes at the same time, each by an index object of its own."""
    context = Interrupting()
    more: dict[str, Any] = {"num_children": 2} if kind is TreeIndex else {}
    index = kind([document("d", "cats purr")], storage_context=context, **SERVICES, **more)
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


def added(line: str, id_: str) -> Callable[[BaseIndex], object]:
    return lambda index: index.insert_nodes([TextNode(line, id_, ref_doc_id="d")])


def inserted(given: Document) -> Callable[[BaseIndex], object]:
    return lambda index: index.insert(given)


@pytest.mark.parametrize("kind", KINDS)
def test_nodes_that_are_added_to_one_document_are_all_kept(kind: type[BaseIndex]) -> None:
    index = at_once(kind, added("dogs bark", "n1"), added("owls hunt", "n2"))
    assert set(index.ref_doc_info["d"].node_ids) == {"d#0", "n1", "n2"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_document_that_is_deleted_while_nodes_are_added_to_it_is_gone(kind: type[BaseIndex]) -> None:
    index = at_once(kind, added("dogs bark", "n1"), lambda other: other.delete_ref_doc("d"))
    assert index.ref_doc_info == {}


def test_documents_that_are_added_to_a_tree_can_be_reached_and_deleted() -> None:
    new = [document("e", "dogs bark", "owls hunt"), document("f", "ships sail", "boats row")]
    index = at_once(TreeIndex, *map(inserted, new))
    assert isinstance(index, TreeIndex)
    reached, level = set(), index.root_ids
    while level:
        found = index.items(level)
        reached |= {node.text for node, below in found if not below}
        level = [id_ for _, below in found for id_ in below]
    assert reached == {"cats purr", "dogs bark", "owls hunt", "ships sail", "boats row"}
    for id_ in ("d", "e", "f"):
        index.delete_ref_doc(id_)
    assert (index.root_ids, index.ref_doc_info) == ([], {})


def test_a_tree_keeps_what_comes_while_a_document_is_deleted() -> None:
    index = at_once(TreeIndex, lambda one: one.delete_ref_doc("d"), inserted(document("e", "dogs bark")))
    assert index.ref_doc_info.keys() == {"e"}
    index.delete_ref_doc("e")
