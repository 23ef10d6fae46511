"""The same input gives the same ids, records, answers and order in every process, and what is equally good
keeps its order."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.indices import BaseIndex, SummaryIndex, TreeIndex, VectorStoreIndex
from ragcore.indices.node_index import NodeIndex
from ragcore.ingestion import IngestionPipeline
from ragcore.llamaindex.indices import DocumentSummaryIndex
from ragcore.llamaindex.node_parser import CodeSplitter, SemanticSplitterNodeParser, SentenceWindowNodeParser
from ragcore.llamaindex.retrievers import BM25Retriever, QueryFusionRetriever
from ragcore.node_parser import (
    HierarchicalNodeParser,
    HTMLNodeParser,
    JSONNodeParser,
    MarkdownNodeParser,
    NodeParser,
    SentenceSplitter,
    SimpleFileNodeParser,
    TokenTextSplitter,
)
from ragcore.retrievers import BaseRetriever, HybridRetriever, VectorIndexRetriever
from ragcore.schema import Document, NodeWithScore, QueryBundle, TextNode
from ragcore.vector_stores.memory import MemoryStore
from tests.properties.doubles import EMBEDDER, KINDS, QUOTING, retrievers, udhr

MARKED = "# One\n\nA first line. A second.\n\n## Two\n\nAnd a third, with `code`.\n"
WEB = "<html><body><h1>One</h1><p>A first line.</p><p>A second.</p></body></html>"
VALUES = '{"a": {"b": [1, 2, {"c": "three"}]}, "d": null}'
CODE = "def one():\n    return 1\n\n\ndef two():\n    return 2\n"
PARSERS: list[tuple[Callable[[], NodeParser], str]] = [
    (lambda: SentenceSplitter(24, 4), MARKED),
    (lambda: TokenTextSplitter(24, 4), MARKED),
    (lambda: HierarchicalNodeParser.from_defaults(chunk_sizes=[48, 24, 12], chunk_overlap=2), MARKED),
    (lambda: SentenceWindowNodeParser(), MARKED),
    (lambda: SemanticSplitterNodeParser(embed_model=EMBEDDER), MARKED),
    (lambda: MarkdownNodeParser(), MARKED),
    (lambda: SimpleFileNodeParser(), MARKED),
    (lambda: HTMLNodeParser(), WEB),
    (lambda: JSONNodeParser(), VALUES),
    (lambda: CodeSplitter("python", chunk_lines=3, chunk_lines_overlap=0), CODE),
]
QUESTIONS = ("What is said in the second line?", "everyone has the right to education", "three")


def everything() -> dict[str, object]:
    """What each part of the library makes of the same input."""
    told: dict[str, object] = {}
    for make, text in PARSERS:
        document = Document(text, "d", {"extension": ".md"}, excluded_embed_metadata_keys=["extension"])
        nodes = make().get_nodes_from_documents([document])
        told[type(make()).__name__] = [
            (node.id_, node.hash, node.prev_id, node.parent_id, node.child_ids) for node in nodes
        ]
    documents = [Document(MARKED, "d"), Document(MARKED, "same"), *udhr(characters=1500)[:4]]
    made = IngestionPipeline([SentenceSplitter(32, 8), EMBEDDER]).run(documents)
    told["pipeline"] = [(node.id_, node.hash) for node in made]
    for kind in KINDS:
        index = kind.from_documents(
            documents, transformations=[SentenceSplitter(32, 8)], embed_model=EMBEDDER, llm=QUOTING
        )
        for name, retriever in retrievers(index):
            hits = [
                [(hit.node_id, hit.score) for hit in retriever.retrieve(question)] for question in QUESTIONS
            ]
            told[f"{kind.__name__}, {name}"] = hits
        if isinstance(index, NodeIndex) and kind is not SummaryIndex:
            told[f"{kind.__name__}, entries"] = list(index.entries().items())
        answer = index.as_query_engine().query(QUESTIONS[0])
        told[f"{kind.__name__}, answer"] = (answer.response, [hit.node_id for hit in answer.source_nodes])
    return json.loads(json.dumps(told))


@pytest.mark.parametrize("seed", ["1", pytest.param("77", marks=pytest.mark.nightly)])
def test_process_with_another_hash_seed_gives_the_same_output(seed: str) -> None:
    script = (
        "import json; from tests.properties.test_the_same_again import everything; "
        "print(json.dumps(everything()))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    there, here = json.loads(ran.stdout), everything()
    assert here.keys() == there.keys()
    for name, made in here.items():
        assert made, name
        assert there[name] == made, name


def places(hits: Sequence[NodeWithScore]) -> list[int]:
    return [int(hit.node.id_) for hit in hits]


def in_order(hits: Sequence[NodeWithScore]) -> None:
    """Best first, and what is equally good as it was inserted."""
    ranked = [(-(hit.score or 0.0), int(hit.node.id_)) for hit in hits]
    assert ranked == sorted(ranked)


# Few texts, so that most of them come several times and are equally good.
FEW = st.lists(
    st.sampled_from(["cats purr", "dogs bark", "cats and dogs", "ships sail"]), min_size=2, max_size=24
)
QUESTION = "Do cats purr, dogs bark and ships sail?"


def alone(index_of: type[BaseIndex], texts: Sequence[str]) -> BaseIndex:
    """Each text is a document of its own; its id is its place."""
    nodes = [TextNode(text, str(place)) for place, text in enumerate(texts)]
    return index_of(nodes, embed_model=EMBEDDER, llm=QUOTING)


@given(FEW)
def test_equal_scores_keep_insertion_order_in_every_retriever(texts: list[str]) -> None:
    index = alone(VectorStoreIndex, texts)
    assert isinstance(index, VectorStoreIndex)
    ways: list[BaseRetriever] = [
        index.as_retriever(30),
        index.as_retriever(30, vector_store_query_mode="hybrid"),
        index.as_retriever(30, vector_store_query_mode="text_search"),
        index.as_retriever(30, vector_store_query_mode="svm"),
        index.as_retriever(30, vector_store_query_mode="logistic_regression"),
        index.as_retriever(30, vector_store_query_mode="linear_regression"),
        VectorIndexRetriever(index, similarity_top_k=30, similarity="dot_product"),
        VectorIndexRetriever(index, similarity_top_k=30, similarity="euclidean"),
        BM25Retriever(index.vector_store, 30),
        HybridRetriever(index.vector_store, EMBEDDER, 30),
        alone(SummaryIndex, texts).as_retriever("embedding", similarity_top_k=30),  # type: ignore[call-arg]
        alone(DocumentSummaryIndex, texts).as_retriever("embedding", similarity_top_k=30),  # type: ignore[call-arg]
    ]
    for retriever in ways:
        found = retriever.retrieve(QUESTION)
        assert found
        in_order(found)
    for kind in KINDS[3:6]:  # keyword tables count words, and give no score
        found = alone(kind, texts).as_retriever().retrieve(QUESTION)
        groups: dict[str, list[int]] = {}
        for hit in found:
            groups.setdefault(hit.text, []).append(int(hit.node.id_))
        assert all(group == sorted(group) for group in groups.values())


class Listed(BaseRetriever):
    name = "listed"

    def __init__(self, ids: Sequence[int]) -> None:
        self._ids = ids

    def _retrieve(self, query: QueryBundle, step: object) -> list[NodeWithScore]:
        return [NodeWithScore(TextNode(str(id_), str(id_)), 0.5) for id_ in self._ids]


@pytest.mark.parametrize("mode", ["reciprocal_rerank", "relative_score", "dist_based_score", "simple"])
@given(data=st.data())
def test_fused_ties_keep_the_order_of_first_retrieval(mode: str, data: st.DataObject) -> None:
    ids = st.lists(st.integers(0, 9), unique=True, max_size=10)
    lists = data.draw(st.lists(ids, min_size=1, max_size=3))
    first: dict[int, int] = {}
    for found in lists:
        for id_ in found:
            first.setdefault(id_, len(first))
    fusion = QueryFusionRetriever(
        [Listed(found) for found in lists],
        QUOTING,
        mode=mode,
        similarity_top_k=20,
        num_queries=1,  # type: ignore[arg-type]
    )
    hits = fusion.retrieve("?")
    ranked = [(-hit.get_score(), first[int(hit.node.id_)]) for hit in hits]
    assert len(hits) == len(first)
    assert ranked == sorted(ranked)


@given(FEW)
def test_tree_leaves_and_list_passages_keep_insertion_order(texts: list[str]) -> None:
    assert places(alone(TreeIndex, texts).as_retriever("all_leaf").retrieve("?")) == list(range(len(texts)))  # type: ignore[call-arg]
    assert places(alone(SummaryIndex, texts).as_retriever().retrieve("?")) == list(range(len(texts)))


@given(FEW)
def test_pipeline_returns_and_stores_in_document_order(texts: list[str]) -> None:
    store = MemoryStore()
    documents = [Document(text, str(place)) for place, text in enumerate(texts)]
    made = IngestionPipeline([SentenceSplitter(8, 0), EMBEDDER], vector_store=store).run(
        documents, num_workers=3
    )
    order = [node.ref_doc_id for node in made if isinstance(node, TextNode)]
    assert list(dict.fromkeys(order)) == [document.id_ for document in documents]
    assert [node.id_ for node in store.passages()] == [node.id_ for node in made]
