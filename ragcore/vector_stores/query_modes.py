"""The ways in which a store can be asked. Apart from the stores, so that naming a mode loads no numpy."""

from __future__ import annotations

from enum import Enum


class VectorStoreQueryMode(str, Enum):
    DEFAULT = "default"  # the nearest
    SPARSE = "sparse"  # BM25
    TEXT_SEARCH = "text_search"  # BM25
    HYBRID = "hybrid"  # cosine and BM25
    SEMANTIC_HYBRID = "semantic_hybrid"  # a service's own reranking: no store here has it
    MMR = "mmr"  # near, and unlike what was taken already
    SVM = "svm"  # a classifier that tells the question from the passages
    LOGISTIC_REGRESSION = "logistic_regression"
    LINEAR_REGRESSION = "linear_regression"
