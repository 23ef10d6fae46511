"""What fails on the way in changes nothing, wherever it fails; and the same documents can be given again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.extractive.answerer import ExtractiveLLM
from ragcore.extractors import KeywordExtractor
from ragcore.indices import BaseIndex, TreeIndex, VectorStoreIndex
from ragcore.ingestion import DocstoreStrategy, IngestionPipeline
from ragcore.llamaindex import load_index_from_storage
from ragcore.llamaindex.indices import DocumentSummaryIndex, KeywordTableIndex
from ragcore.node_parser import SentenceSplitter
from ragcore.observe import Span
from ragcore.schema import Document, TextNode
from ragcore.storage import StorageContext
from ragcore.storage.docstore import SimpleDocumentStore
from ragcore.vector_stores.memory import MemoryStore
from tests.properties.doubles import EMBEDDER, KINDS, QUOTING, picture, retrievers

OLD = [
    Document(f"This is what document {name} said before. Cats purr in it.", name, {"v": 1}) for name in "abc"
]
# One that is as it was, one that changed, a new one that fails somewhere, and one that never gets its turn.
NEW = [
    OLD[0],
    Document("Dogs bark in b now.", "b", {"v": 2}),
    Document("Poison is in this one. It is long enough for two passages of it.", "bad"),
    Document("A last one.", "z"),
]
QUESTION = "Do cats purr and dogs bark in what was said?"


class BreakError(Exception):
    pass


def refuse(texts: Sequence[str]) -> None:
    if any("Poison" in text for text in texts):
        raise BreakError


class BadSplitter(SentenceSplitter):
    def cuts(self, source: Document | TextNode) -> Any:
        refuse([source.text])
        return super().cuts(source)


class BadEmbedder(HashEmbedding):
    def _embed(self, texts: Sequence[str], step: Span, *, is_query: bool) -> Any:
        refuse(texts)
        return super()._embed(texts, step, is_query=is_query)


class BadModel(ExtractiveLLM):
    def _stream(self, call: Any, messages: Any) -> Any:
        refuse([message.content for message in messages])
        return super()._stream(call, messages)

    def _generate(self, call: Any, messages: Any) -> Any:
        refuse([message.content for message in messages])
        return super()._generate(call, messages)


class BadStore(MemoryStore):
    """Breaks at the document that it does not take: before it is stored, or after."""

    breaks: Literal["before", "after", "no more"] = "before"

    def upsert(self, document: Document, nodes: Sequence[TextNode]) -> int:
        if self.breaks == "before":
            refuse([document.text])
        count = super().upsert(document, nodes)
        if self.breaks == "after":
            refuse([document.text])
        return count


class BadDocstore(SimpleDocumentStore):
    breaks = True

    def set_document_hash(self, id_: str, hash_: str) -> None:
        if id_ == "bad" and self.breaks:
            raise BreakError
        super().set_document_hash(id_, hash_)


class BadReader:
    def load_data(self) -> list[Document]:
        raise BreakError


def splitting(kind: type[SentenceSplitter] = SentenceSplitter) -> SentenceSplitter:
    return kind(16, 0)


def list_content(store: MemoryStore, *, in_order: bool = True) -> object:
    """What a store has; `in_order`: also in which order it came, which a store that is mended by hand does
    not get back."""
    ids = [stored.id_ for stored in store.documents()]
    return picture(
        [
            (id_, store.document(id_), store.nodes(store.passage_ids(id_)))
            for id_ in (ids if in_order else sorted(ids))
        ]
    )


def known(docstore: SimpleDocumentStore) -> object:
    """What a document store has, by id."""
    hashes, infos = docstore.get_all_document_hashes(), docstore.get_all_ref_doc_info()
    return picture((sorted(docstore.docs.items()), sorted(hashes.items()), sorted(infos.items())))


def run(
    documents: Sequence[Document],
    store: MemoryStore,
    docstore: SimpleDocumentStore,
    strategy: DocstoreStrategy,
    steps: Sequence[Any] = (),
    readers: Sequence[Any] = (),
) -> None:
    usual = [splitting(), KeywordExtractor(QUOTING), EMBEDDER]
    IngestionPipeline(steps or usual, docstore, strategy, store, readers=readers).run(documents)


@pytest.mark.parametrize("strategy", DocstoreStrategy)
@pytest.mark.parametrize(
    "where", ["reader", "splitter", "extractor", "embedder", "store", "store, late", "docstore"]
)
def test_failing_pipeline_leaves_its_stores_unchanged(where: str, strategy: DocstoreStrategy) -> None:
    store, docstore = BadStore(), BadDocstore()
    store.breaks = {"store": "before", "store, late": "after"}.get(where, "no more")  # type: ignore[assignment]
    docstore.breaks = where == "docstore"
    run(OLD, store, docstore, strategy)
    in_order = where in ("reader", "splitter", "extractor", "embedder")  # before anything is written
    before = list_content(store, in_order=in_order), known(docstore)
    steps = {
        "splitter": [splitting(BadSplitter), KeywordExtractor(QUOTING), EMBEDDER],
        "extractor": [splitting(), KeywordExtractor(BadModel(EMBEDDER)), EMBEDDER],
        "embedder": [splitting(), KeywordExtractor(QUOTING), BadEmbedder(64)],
    }.get(where, [])
    with pytest.raises(BreakError):
        run(NEW, store, docstore, strategy, steps, [BadReader()] if where == "reader" else [])
    assert (list_content(store, in_order=in_order), known(docstore)) == before

    # When what was broken is mended, the same documents come in as if nothing had been.
    store.breaks, docstore.breaks = "no more", False
    fresh, fresh_docstore = MemoryStore(), SimpleDocumentStore()
    for documents in (OLD, NEW):
        run(documents, fresh, fresh_docstore, strategy)
    run(NEW, store, docstore, strategy)
    assert list_content(store, in_order=in_order) == list_content(fresh, in_order=in_order) != before[0]
    assert known(docstore) == known(fresh_docstore)


def seen(index: BaseIndex) -> object:
    """Everything that can be seen of an index from outside."""
    context = index.storage_context
    found = [
        [(hit.node_id, hit.text, round(hit.get_score(), 9)) for hit in retriever.retrieve(QUESTION)]
        for _, retriever in retrievers(index, 50)
    ]
    documents = sorted((id_, info.node_ids) for id_, info in index.ref_doc_info.items())
    entries = [
        sorted(context.index_store.entries(record.place).items()) for record in context.index_store.all()
    ]
    return picture(
        (found, documents, sorted(index._hashes().items()), entries, list(context.docstore.docs.values()))
    )


def build(kind: type[BaseIndex], **chosen: Any) -> BaseIndex:
    options = {"num_children": 2} if kind is TreeIndex else {}
    services = {"transformations": [splitting()], "embed_model": EMBEDDER, "llm": QUOTING}
    return kind(OLD, **{**services, **options, **chosen})


def opened(folder: Path, **chosen: Any) -> BaseIndex:
    services = {"transformations": [splitting()], "embed_model": EMBEDDER, "llm": QUOTING, **chosen}
    return load_index_from_storage(StorageContext.from_defaults(persist_dir=folder), **services)


def breaking_services(where: str) -> dict[str, Any]:
    return {
        "splitter": {"transformations": [splitting(BadSplitter)]},
        "extractor": {"transformations": [splitting(), KeywordExtractor(BadModel(EMBEDDER))]},
        "embedder": {"embed_model": BadEmbedder(64)},
        "model": {"llm": BadModel(EMBEDDER)},
    }[where]


CHANGES: dict[str, Callable[[BaseIndex], object]] = {
    "insert": lambda index: index.insert_documents(NEW),
    "refresh": lambda index: index.refresh_ref_docs(NEW),
    "nodes": lambda index: index.insert_nodes([node for document in NEW for node in splitting()([document])]),
}


def breaks(kind: type[BaseIndex], where: str, change: str) -> bool:
    """Whether this kind of index comes there when it takes documents in."""
    if where in ("splitter", "extractor"):
        return change != "nodes"  # nodes are not split
    if where == "embedder":
        return kind is VectorStoreIndex
    return kind in (TreeIndex, KeywordTableIndex, DocumentSummaryIndex)


CASES = [
    (kind, where, change)
    for kind in KINDS
    for where in ("splitter", "extractor", "embedder", "model")
    for change in CHANGES
    if breaks(kind, where, change)
]


@pytest.mark.parametrize(("kind", "where", "change"), CASES)
def test_an_index_that_cannot_take_documents_in_is_what_it_was(
    kind: type[BaseIndex], where: str, change: str, tmp_path: Path
) -> None:
    built = build(kind)
    built.storage_context.persist(tmp_path)
    for broken in (build(kind, **breaking_services(where)), opened(tmp_path, **breaking_services(where))):
        before = seen(broken)
        with pytest.raises(BreakError):
            CHANGES[change](broken)
        assert seen(broken) == before
    assert seen(opened(tmp_path)) == seen(built)

    mended = opened(tmp_path)
    for index in (built, mended):
        CHANGES[change](index)
    assert seen(opened(tmp_path)) == seen(mended) == seen(built)


@pytest.mark.parametrize("change", CHANGES)
def test_an_index_whose_store_refuses_a_document_has_what_it_had(change: str) -> None:
    store = BadStore()
    index = build(VectorStoreIndex, storage_context=StorageContext.from_defaults(vector_store=store))
    before = list_content(store, in_order=False)
    with pytest.raises(BreakError):
        CHANGES[change](index)
    assert list_content(store, in_order=False) == before
    store.breaks = "no more"
    fresh = MemoryStore()
    for mended in (
        index,
        build(VectorStoreIndex, storage_context=StorageContext.from_defaults(vector_store=fresh)),
    ):
        CHANGES[change](mended)
    assert list_content(store, in_order=False) == list_content(fresh, in_order=False) != before


def test_failed_index_leaves_nothing_in_its_storage() -> None:
    for kind in KINDS:
        context = StorageContext.from_defaults()
        with pytest.raises(BreakError):
            kind(
                NEW,
                storage_context=context,
                transformations=[splitting(BadSplitter)],
                embed_model=EMBEDDER,
                llm=QUOTING,
            )
        assert context.index_store.all() == []
        assert not context.docstore.docs
