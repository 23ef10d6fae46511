"""The modes of a query. In their own module, so that using them does not import numpy."""

from __future__ import annotations

from enum import Enum


class VectorStoreQueryMode(str, Enum):
    """How a vector index searches.

    >>> from ragcore.embeddings import HashEmbedding
    >>> from ragcore.indices import VectorStoreIndex
    >>> from ragcore.schema import TextNode
    >>> index = VectorStoreIndex([TextNode("A boat."), TextNode("A gull.")], embed_model=HashEmbedding())
    >>> retriever = index.as_retriever(vector_store_query_mode=VectorStoreQueryMode.TEXT_SEARCH)
    >>> [hit.text for hit in retriever.retrieve("gull")]
    ['A gull.']
    """

    DEFAULT = "default"  # the nearest
    SPARSE = "sparse"  # BM25
    TEXT_SEARCH = "text_search"  # BM25
    HYBRID = "hybrid"  # cosine and BM25
    SEMANTIC_HYBRID = "semantic_hybrid"  # the reranking of a service: no store here has it
    MMR = "mmr"  # near the question, and unlike the results before
    SVM = "svm"  # a classifier that distinguishes the question from the passages
    LOGISTIC_REGRESSION = "logistic_regression"
    LINEAR_REGRESSION = "linear_regression"
