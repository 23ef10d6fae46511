from __future__ import annotations

from pathlib import Path

import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import StoreError
from ragcore.extractive.answerer import ExtractiveLLM
from ragcore.indices.base import BaseIndex
from ragcore.indices.loading import load_index_from_storage, load_indices_from_storage
from ragcore.indices.summary.index import SummaryIndex
from ragcore.indices.tree.index import TreeIndex
from ragcore.indices.vector import VectorStoreIndex
from ragcore.llamaindex.indices.document_summary.base import DocumentSummaryIndex
from ragcore.llamaindex.indices.keyword_table.base import (
    BaseKeywordTableIndex,
    RAKEKeywordTableIndex,
    SimpleKeywordTableIndex,
)
from ragcore.schema import Document, TextNode
from ragcore.storage.index_store import IndexRecord
from ragcore.storage.storage_context import StorageContext

EMBEDDER = HashEmbedding(16)


def with_indexes(*ids: str) -> StorageContext:
    context = StorageContext.from_defaults()
    for id_ in ids:
        index = VectorStoreIndex.from_documents(
            [Document(f"about {id_}", id_)], context, embed_model=EMBEDDER
        )
        index.set_index_id(id_)
    return context


def test_the_only_index_needs_no_id() -> None:
    index = load_index_from_storage(with_indexes("cats"), embed_model=EMBEDDER)
    assert isinstance(index, VectorStoreIndex)
    assert index.index_id == "cats"
    assert [node.text for node in index.store.passages()] == ["about cats"]


@pytest.mark.parametrize(
    ("ids", "words"), [((), "no index"), (("cats", "dogs"), "2 indexes.*'cats', 'dogs'")]
)
def test_without_an_id_there_must_be_exactly_one(ids: tuple[str, ...], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        load_index_from_storage(with_indexes(*ids), embed_model=EMBEDDER)


def test_one_of_several_is_loaded_by_its_id() -> None:
    context = with_indexes("cats", "dogs", "fish")
    assert load_index_from_storage(context, "dogs", embed_model=EMBEDDER).index_id == "dogs"
    assert [index.index_id for index in load_indices_from_storage(context, embed_model=EMBEDDER)] == [
        "cats",
        "dogs",
        "fish",
    ]
    chosen = load_indices_from_storage(context, ["fish", "cats"], embed_model=EMBEDDER)
    assert [index.index_id for index in chosen] == ["fish", "cats"]
    assert load_indices_from_storage(context, [], embed_model=EMBEDDER) == []
    with pytest.raises(ValueError, match=r"'birds'.*'cats', 'dogs', 'fish'"):
        load_index_from_storage(context, "birds", embed_model=EMBEDDER)


def test_a_loaded_index_uses_the_models_of_its_arguments(tmp_path: Path) -> None:
    with_indexes("cats").persist(tmp_path)
    llm = ExtractiveLLM(EMBEDDER)
    context = StorageContext.from_defaults(persist_dir=tmp_path)
    index = load_index_from_storage(context, embed_model=EMBEDDER, llm=llm)
    assert (index.llm, index.embed_model, index.storage_context) == (llm, EMBEDDER, context)
    assert "cats" in index.as_query_engine().query("What about cats?").response


def test_other_embedding_model_than_the_index_s_is_refused(tmp_path: Path) -> None:
    with_indexes("cats").persist(tmp_path)
    context = StorageContext.from_defaults(persist_dir=tmp_path)
    with pytest.raises(
        StoreError, match=r"built with the embedding model hash-16, but hash-32 was given"
    ) as error:
        load_index_from_storage(context, embed_model=HashEmbedding(32))
    assert "embed_model" in error.value.hint


@pytest.mark.parametrize("kind", [SimpleKeywordTableIndex, RAKEKeywordTableIndex])
def test_loaded_keyword_table_keeps_its_number_of_keywords(
    kind: type[BaseKeywordTableIndex], tmp_path: Path
) -> None:
    kind([], embed_model=EMBEDDER, max_keywords_per_chunk=1).storage_context.persist(tmp_path)
    index = load_index_from_storage(StorageContext.from_defaults(persist_dir=tmp_path), embed_model=EMBEDDER)
    assert isinstance(index, BaseKeywordTableIndex)
    index.insert(Document("cats, dogs, owls", "d"))
    assert len(index.nodes_with(["cat", "dog", "owl"])) == 1


def test_a_loaded_tree_retains_its_settings(tmp_path: Path) -> None:
    services = {"embed_model": EMBEDDER, "llm": ExtractiveLLM(EMBEDDER)}
    context = StorageContext.from_defaults()
    TreeIndex([], storage_context=context, num_children=2, **services).set_index_id("two")  # type: ignore[arg-type]
    TreeIndex([], storage_context=context, build_tree=False, **services).set_index_id("none")  # type: ignore[arg-type]
    context.persist(tmp_path)
    opened = StorageContext.from_defaults(persist_dir=tmp_path)
    nodes = [TextNode(f"Cats purr {number}.", f"n{number}") for number in range(3)]
    two, none = load_indices_from_storage(opened, ["two", "none"], **services)  # type: ignore[arg-type]
    assert isinstance(two, TreeIndex)
    assert isinstance(none, TreeIndex)
    for index in (two, none):
        index.insert_nodes(nodes)
    assert [len(below) for _, below in two.items(two.root_ids)] == [2, 1]
    assert none.entries() == {}


KINDS = (
    VectorStoreIndex,
    SummaryIndex,
    TreeIndex,
    SimpleKeywordTableIndex,
    RAKEKeywordTableIndex,
    DocumentSummaryIndex,
)


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_of_another_kind_is_refused_by_name(kind: type[BaseIndex]) -> None:
    other = SummaryIndex if kind is VectorStoreIndex else VectorStoreIndex
    record = IndexRecord(other.kind, "cats", data={"embedder": EMBEDDER.name})
    with pytest.raises(StoreError, match=f"'cats' is of the kind '{other.kind}'; {kind.__name__}") as error:
        kind(record=record, embed_model=EMBEDDER)
    assert "load_index_from_storage" in error.value.hint
