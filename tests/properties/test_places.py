"""A passage is a stretch of its document from the splitter to the answer: never too long, and all of them are
all of it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.indices import BaseIndex, VectorStoreIndex
from ragcore.ingestion import IngestionPipeline
from ragcore.llamaindex import load_index_from_storage
from ragcore.llamaindex.query_engine import CitationQueryEngine
from ragcore.node_parser import HierarchicalNodeParser, SentenceSplitter
from ragcore.retrievers import AutoMergingRetriever
from ragcore.schema import Document, TextNode
from ragcore.storage import StorageContext
from ragcore.text.tokens import default_tokenizer
from ragcore.vector_stores.memory import MemoryStore
from tests.needs import SHARED, needs_documents
from tests.properties.doubles import EMBEDDER, KINDS, QUOTING, UDHR, retrievers, udhr
from tests.word_tokenizer import WordTokenizer

SIZE, OVERLAP = 96, 16
WORDS = [
    "one two three. ",
    "word ",
    "\n\n\n",
    "漢字かな。",
    "नमस्ते दुनिया। ",
    "😀",
    "…  ",
    "a, b; c ",
    "\t",
    "Ünïcödé ",
]
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=120).map("".join)


def check_place(text: str, node: TextNode) -> None:
    assert node.text
    assert text[node.start_char_idx : node.end_char_idx] == node.text


def check_all(text: str, nodes: Iterable[TextNode]) -> None:
    """Together they are the text, less white space."""
    reached = 0
    for node in sorted(nodes, key=lambda node: node.start_char_idx or 0):
        check_place(text, node)
        assert not text[reached : node.start_char_idx].strip()
        reached = max(reached, node.end_char_idx or 0)
    assert not text[reached:].strip()


def stored(
    kind: type[BaseIndex], documents: Sequence[Document], folder: Path, size: int, overlap: int
) -> BaseIndex:
    """The index after it was persisted and loaded again."""
    splitter = SentenceSplitter(size, overlap)
    index = kind.from_documents(documents, transformations=[splitter], embed_model=EMBEDDER, llm=QUOTING)
    index.storage_context.persist(folder)
    return load_index_from_storage(
        StorageContext.from_defaults(persist_dir=folder), embed_model=EMBEDDER, llm=QUOTING
    )


def passages(index: BaseIndex, document_id: str) -> list[TextNode]:
    info = index.ref_doc_info.get(document_id)
    ids = info.node_ids if info else ()
    if isinstance(index, VectorStoreIndex):
        return index.vector_store.nodes(ids)
    return [node for node in index.docstore.get_nodes(ids) if isinstance(node, TextNode)]


@needs_documents(SHARED / "data" / "udhr" / "txt")
def test_passages_in_any_language_are_stretches_within_the_size(tmp_path: Path) -> None:
    documents = udhr()
    index = stored(VectorStoreIndex, documents, tmp_path, SIZE, OVERLAP)
    count = default_tokenizer().count
    for document in documents:
        nodes = passages(index, document.id_)
        check_all(document.text, nodes)
        for node in nodes:
            told = node.get_metadata_str()
            assert count(node.text) + count(told) <= SIZE or len(node.text) == 1


@needs_documents(SHARED / "data" / "udhr" / "txt")
@pytest.mark.parametrize("kind", KINDS)
def test_retrieved_passages_in_any_language_have_their_place(kind: type[BaseIndex], tmp_path: Path) -> None:
    documents = udhr(UDHR[:: 2 if kind is VectorStoreIndex else 4], 2000)
    texts = {document.id_: document.text for document in documents}
    index = stored(kind, documents, tmp_path, SIZE, OVERLAP)
    seen = set()
    for document in documents:
        for _, retriever in retrievers(index):
            for hit in retriever.retrieve(document.text[700:780]):
                assert hit.node.ref_doc_id is not None
                seen.add(hit.node.ref_doc_id)
                check_place(texts[hit.node.ref_doc_id], hit.node)
    assert len(seen) > len(documents) / 2


@needs_documents(SHARED / "data" / "udhr" / "txt")
def test_merged_parents_in_any_language_have_their_places(tmp_path: Path) -> None:
    documents = udhr(UDHR[::2], 3000)
    parser = HierarchicalNodeParser.from_defaults(chunk_sizes=[256, 64, 24], chunk_overlap=4)
    built = VectorStoreIndex.from_documents(
        documents, transformations=[parser], embed_model=EMBEDDER, llm=QUOTING
    )
    built.storage_context.persist(tmp_path)
    context = StorageContext.from_defaults(persist_dir=tmp_path)
    index = load_index_from_storage(context, embed_model=EMBEDDER, llm=QUOTING)
    assert isinstance(index, VectorStoreIndex)
    merged = 0
    for document in documents:
        leaves = index.as_retriever(12, document_ids=[document.id_])
        for hit in AutoMergingRetriever(leaves, context, 0.2).retrieve(document.text[:200]):
            check_place(document.text, hit.node)
            merged += bool(hit.node.child_ids)
    assert merged


@given(TEXTS, st.integers(1, 30), st.data())
def test_any_text_comes_back_in_place_from_index_and_pipeline(
    text: str, size: int, data: st.DataObject
) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    kind = data.draw(st.sampled_from(KINDS))
    splitter = SentenceSplitter(size, overlap, tokenizer=WordTokenizer())
    document = Document(text, "d")
    with tempfile.TemporaryDirectory() as folder:
        built = kind.from_documents(
            [document], transformations=[splitter], embed_model=HashEmbedding(8), llm=QUOTING
        )
        built.storage_context.persist(folder)
        with_folder = StorageContext.from_defaults(persist_dir=folder)
        index = load_index_from_storage(with_folder, embed_model=HashEmbedding(8), llm=QUOTING)
        check_all(text, passages(index, "d"))
        with_folder.close()
    store = MemoryStore()
    IngestionPipeline([splitter, HashEmbedding(8)], vector_store=store).run([document])
    nodes = store.nodes(store.passage_ids("d"))
    check_all(text, nodes)
    assert all(len(node.text.split()) <= size for node in nodes)


@given(TEXTS, st.integers(2, 20), st.integers(1, 10))
def test_small_citation_passages_have_places_in_the_document(text: str, size: int, cited: int) -> None:
    splitter = SentenceSplitter(size, 0, tokenizer=WordTokenizer())
    index = VectorStoreIndex.from_documents(
        [Document(text)], transformations=[splitter], embed_model=EMBEDDER, llm=QUOTING
    )
    smaller = SentenceSplitter(cited, 0, tokenizer=WordTokenizer())
    engine = CitationQueryEngine.from_args(index, QUOTING, text_splitter=smaller, similarity_top_k=1000)
    parts = [hit.node for hit in engine.retrieve("one two three")]
    check_all(text, parts)
    assert all(len(part.text.split()) <= cited for part in parts)
