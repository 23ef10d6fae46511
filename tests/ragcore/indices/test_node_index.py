"""What an index that keeps its passages itself does for those who write one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import UnknownDocumentError
from ragcore.indices.node_index import NodeIndex
from ragcore.ingestion.document_splits import Split
from ragcore.observe import Span
from ragcore.retrievers.base import BaseRetriever
from ragcore.schema import Document, NodeWithScore, QueryBundle, TextNode
from ragcore.storage.storage_context import StorageContext


class First(BaseRetriever):
    name = "first"

    def __init__(self, index: LengthIndex) -> None:
        self._index = index

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        return [NodeWithScore(node) for node in self._index.nodes.nodes()[:1]]


class LengthIndex(NodeIndex):
    """Knows how long its passages are; refuses bad words."""

    kind = "length"

    def as_retriever(self) -> First:
        return First(self)

    def _prepare_entries(self, splits: Sequence[Split]) -> Callable[[], None]:
        lengths = {node.id_: len(node.text) for split in splits for node in split.nodes}
        if any("bad word" in node.text for split in splits for node in split.nodes):
            raise ArithmeticError("too bad to be measured")
        return lambda: self._keep(lengths)

    def _keep(self, lengths: dict[str, int]) -> None:
        if 13 in lengths.values():
            raise ArithmeticError("unlucky")
        self.put_entries(lengths)

    def _remove_entries(self, ref_doc_id: str, node_ids: Sequence[str]) -> None:
        self.delete_entries(node_ids)


def by_word(nodes: Sequence[Document | TextNode]) -> list[TextNode]:
    return [
        TextNode(word, f"{node.id_}{i}", node.metadata, node.id_)
        for node in nodes
        for i, word in enumerate(node.text.split())
    ]


@pytest.fixture(params=["memory", "folder"])
def context(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StorageContext]:
    opened = StorageContext.from_defaults()
    if request.param == "folder":
        opened.persist(tmp_path)
        opened = StorageContext.from_defaults(persist_dir=tmp_path)
    yield opened
    opened.close()


def build_index(context: StorageContext, *documents: Document | TextNode) -> LengthIndex:
    return LengthIndex(
        documents, storage_context=context, transformations=[by_word], embed_model=HashEmbedding(8)
    )


A, B = Document("one three", "a", {"k": 1}), Document("seven", "b")


def known(index: LengthIndex) -> tuple[list[str], dict[str, int]]:
    return [node.text for node in index.nodes.nodes()], index.entries()


def test_passages_and_their_records_follow_their_document(context: StorageContext) -> None:
    index = build_index(context, A, B)
    assert known(index) == (["one", "three", "seven"], {"a0": 3, "a1": 5, "b0": 5})
    assert index.insert(Document("eleven", "a")) == 1
    assert known(index) == (["seven", "eleven"], {"b0": 5, "a0": 6})
    assert index.delete_ref_doc("b") == 1
    assert known(index) == (["eleven"], {"a0": 6})
    for unknown in ("b", "a0"):
        with pytest.raises(UnknownDocumentError, match=f"'{unknown}'"):
            index.delete_ref_doc(unknown)
    assert index.as_retriever().retrieve("?")[0].text == "eleven"


def test_refresh_compares_hashes_even_without_passages(context: StorageContext) -> None:
    index = build_index(context, A, Document("", "empty"))
    assert index.refresh_ref_docs([A, B, Document("", "empty")]) == [False, True, False]
    assert index.refresh_ref_docs([Document("one three", "a"), B]) == [True, False]
    assert index.delete_ref_doc("empty") == 0
    with pytest.raises(UnknownDocumentError):
        index.delete_ref_doc("empty")


def test_what_fails_changes_nothing(context: StorageContext) -> None:
    index = build_index(context, A, B)
    before = known(index)
    with pytest.raises(ArithmeticError):
        index.insert_nodes([TextNode("fine", ref_doc_id="a"), TextNode("a bad word")])
    with pytest.raises(ArithmeticError):
        build_index(context, TextNode("a bad word"))
    assert known(index) == before
    assert len(context.index_store.all()) == 1


def test_nodes_join_their_document_and_loose_ones_become_one(context: StorageContext) -> None:
    index = build_index(context, A)
    assert index.insert_nodes([TextNode("fourteen", "new", ref_doc_id="a"), TextNode("two", "alone")]) == 4
    assert {id_: info.node_ids for id_, info in index.ref_doc_info.items()} == {
        "a": ("a0", "a1", "new"),
        "alone": ("alone",),
    }
    assert index.ref_doc_info["a"].metadata == {"k": 1}
    assert index.delete_ref_doc("alone") == 1


def test_two_in_one_context_have_nothing_in_common(context: StorageContext) -> None:
    one, two = build_index(context, A), build_index(context, A, B)
    one.delete_ref_doc("a")
    assert known(one) == ([], {})
    assert known(two) == (["one", "three", "seven"], {"a0": 3, "a1": 5, "b0": 5})
    assert context.docstore.docs == {}


def test_everything_is_there_when_it_is_opened_again(context: StorageContext, tmp_path: Path) -> None:
    index = build_index(context, A, B)
    index.set_index_id("lengths")
    context.persist(tmp_path)
    again = StorageContext.from_defaults(persist_dir=tmp_path)
    (record,) = again.index_store.all()
    opened = LengthIndex(
        record=record, storage_context=again, transformations=[by_word], embed_model=HashEmbedding(8)
    )
    assert opened.index_id == "lengths"
    assert known(opened) == known(index)
    assert opened.refresh_ref_docs([A, Document("eight", "b")]) == [False, True]
    again.close()


def test_a_failure_while_writing_is_undone_in_a_folder(tmp_path: Path) -> None:
    StorageContext.from_defaults().persist(tmp_path)
    index = build_index(StorageContext.from_defaults(persist_dir=tmp_path), A, B)
    before = known(index)
    with pytest.raises(ArithmeticError, match="unlucky"):
        index.insert(Document("thirteen-long", "a"))
    assert known(index) == before


class SlowIndex(LengthIndex):
    def _keep(self, lengths: dict[str, int]) -> None:
        time.sleep(0.02)  # for others to come in between, if they can
        super()._keep(lengths)


def test_threads_replacing_one_document_leave_one_version(context: StorageContext) -> None:
    index = SlowIndex([], storage_context=context, transformations=[by_word], embed_model=HashEmbedding(8))
    versions = [Document("one three five", "d"), Document("two", "d")]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(index.insert, versions * 2))
    words, lengths = known(index)
    assert words in [version.text.split() for version in versions]
    assert len(lengths) == len(words)
