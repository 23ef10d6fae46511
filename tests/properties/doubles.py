"""Texts of many scripts, every kind of index over them, and a picture of any value to compare it with
later."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.extractive.answerer import ExtractiveLLM
from ragcore.indices import BaseIndex, SummaryIndex, TreeIndex, VectorStoreIndex
from ragcore.llamaindex.indices import (
    DocumentSummaryIndex,
    KeywordTableIndex,
    RAKEKeywordTableIndex,
    SimpleKeywordTableIndex,
)
from ragcore.llamaindex.retrievers import BM25Retriever, QueryFusionRetriever
from ragcore.retrievers import AutoMergingRetriever, BaseRetriever, HybridRetriever
from ragcore.schema import Document
from tests.needs import SHARED

UDHR = sorted((SHARED / "data" / "udhr" / "txt").glob("*.txt"))
EMBEDDER = HashEmbedding(64)
QUOTING = ExtractiveLLM(EMBEDDER)
KINDS: list[type[BaseIndex]] = [
    VectorStoreIndex,
    SummaryIndex,
    TreeIndex,
    KeywordTableIndex,
    SimpleKeywordTableIndex,
    RAKEKeywordTableIndex,
    DocumentSummaryIndex,
]


def udhr(paths: Sequence[Path] = UDHR, characters: int | None = None) -> list[Document]:
    """Each text in another language, named by it; the first `characters` of each."""
    return [
        Document(
            path.read_text(encoding="utf-8")[:characters],
            path.stem,
            {"file_name": path.name, "number": number},
        )
        for number, path in enumerate(paths)
    ]


def retrievers(index: BaseIndex, top_k: int = 5) -> Iterator[tuple[str, BaseRetriever]]:
    """Every way there is to find passages in an index, by name."""
    if isinstance(index, VectorStoreIndex):
        for mode in (
            "default",
            "mmr",
            "hybrid",
            "text_search",
            "sparse",
            "svm",
            "logistic_regression",
            "linear_regression",
        ):
            yield mode, index.as_retriever(top_k, vector_store_query_mode=mode)
        bm25 = BM25Retriever(index.vector_store, top_k)
        both = HybridRetriever(index.vector_store, EMBEDDER, top_k)
        yield "bm25", bm25
        yield "both", both
        yield (
            "fusion",
            QueryFusionRetriever(
                [index.as_retriever(top_k), bm25], QUOTING, similarity_top_k=top_k, num_queries=2
            ),
        )
        yield "merging", AutoMergingRetriever(index.as_retriever(top_k), index.storage_context)
    elif isinstance(index, SummaryIndex):
        for mode in ("default", "embedding", "llm"):
            yield mode, index.as_retriever(mode, similarity_top_k=top_k)
    elif isinstance(index, TreeIndex):
        for mode in ("select_leaf", "select_leaf_embedding", "all_leaf"):
            yield mode, index.as_retriever(mode)
    elif isinstance(index, DocumentSummaryIndex):
        for mode in ("llm", "embedding"):
            yield mode, index.as_retriever(mode, similarity_top_k=top_k)
    else:
        yield "keywords", index.as_retriever()


def picture(value: Any, passed: tuple[int, ...] = ()) -> Any:
    """What a value holds, to its last part, in values that nobody else has."""
    if isinstance(value, str | int | float | bool | None | bytes | Enum):
        return value
    if id(value) in passed:
        return "itself"
    inside = (*passed, id(value))
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, Mapping):
        return [(picture(key, inside), picture(item, inside)) for key, item in value.items()]
    if isinstance(value, Sequence | set | frozenset):
        items: Iterable[Any] = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
        return [picture(item, inside) for item in items]
    if dataclasses.is_dataclass(value):
        return [
            (field.name, picture(getattr(value, field.name), inside)) for field in dataclasses.fields(value)
        ]
    return repr(value)
