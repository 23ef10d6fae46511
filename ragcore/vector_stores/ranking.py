"""Rankings beyond the nearest search. Each step is one matrix product with all candidates."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from ragcore.schema import Vector
from ragcore.vector_stores.base import Candidates
from ragcore.vector_stores.query_modes import VectorStoreQueryMode
from ragcore.vector_stores.search import Array, top_k, unit_query

Similarity: TypeAlias = Literal["cosine", "dot_product", "euclidean"]
Ranked: TypeAlias = "tuple[Array, Array]"
"""The positions of the best candidates, and their scores, best first; ties in order of position."""

MMR_THRESHOLD = 0.5
# of scores of unit vectors: float32 has noise after the sixth digit, which must not decide between equals
DIGITS = 6
LEARNERS = (
    VectorStoreQueryMode.SVM,
    VectorStoreQueryMode.LOGISTIC_REGRESSION,
    VectorStoreQueryMode.LINEAR_REGRESSION,
)


def similarities(candidates: Candidates, query: Vector, kind: Similarity) -> Array:
    """(n,), higher is nearer: the cosine; the product of the vectors at their original lengths; or minus
    their distance.

    DimensionError for a query of another width; ValueError for NaN or infinity in it.
    """
    unit = unit_query(query, candidates.rows.shape[1])
    if kind == "cosine":
        scores: Array = np.clip(candidates.rows @ unit, -1.0, 1.0)
    elif kind == "dot_product":
        scores = candidates.lengths * (candidates.rows @ query)
    else:
        scores = -np.linalg.norm(candidates.rows * candidates.lengths[:, None] - query, axis=1)
    return _without_noise(scores.astype(np.float64), _sizes(candidates, query, kind))


def nearest_by(candidates: Candidates, query: Vector, k: int, kind: Similarity) -> Ranked:
    scores = similarities(candidates, query, kind)
    best = top_k(scores, k)
    return best, scores[best]


def mmr(
    candidates: Candidates, query: Vector, k: int, threshold: float, kind: Similarity = "cosine"
) -> Ranked:
    """Maximal marginal relevance (Carbonell & Goldstein 1998): near the question, and unlike all results
    before.

    The score of the first is threshold * similarity; of each later one threshold * similarity - (1 -
    threshold) * its highest similarity to an earlier result. `threshold` 1 ranks by similarity alone, 0 after
    the first by novelty alone.
    """
    if k <= 0 or not candidates.ids:
        return np.empty(0, np.intp), np.empty(0)
    near = similarities(candidates, query, kind)
    selected = [int(near.argmax())]
    scores = [threshold * near[selected[0]]]
    sizes = _sizes(candidates, query, kind)
    repeated = np.full(len(near), -np.inf)
    while len(selected) < min(k, len(near)):
        last = candidates.rows[selected[-1]] * candidates.lengths[selected[-1]]
        repeated = np.maximum(repeated, similarities(candidates, last, kind))
        sizes = np.maximum(sizes, _sizes(candidates, last, kind))
        gain = _without_noise(threshold * near - (1 - threshold) * repeated, sizes)
        gain[selected] = -np.inf
        selected.append(int(gain.argmax()))
        scores.append(gain[selected[-1]])
    return np.array(selected, np.intp), np.array(scores)


def rank_by_classifier(candidates: Candidates, query: Vector, k: int, mode: VectorStoreQueryMode) -> Ranked:
    """The ranking of a classifier trained to distinguish the question (1) from all candidates (0), with equal
    weights.

    The score is the classifier's value. For svm and logistic_regression it is the distance from the border,
    higher on the side of the question. linear_regression is least squares with L2 regularisation, about 0 to
    1; without regularisation all values would be 0 where there are more dimensions than candidates.
    """
    if k <= 0 or not candidates.ids:
        return np.empty(0, np.intp), np.empty(0)
    from sklearn.linear_model import LogisticRegression, Ridge  # type: ignore[import-untyped]
    from sklearn.svm import LinearSVC  # type: ignore[import-untyped]

    rows = np.vstack([unit_query(query, candidates.rows.shape[1]), candidates.rows]).astype(np.float64)
    is_query = np.zeros(len(rows))
    is_query[0] = 1
    if mode is VectorStoreQueryMode.LINEAR_REGRESSION:
        weights = np.where(is_query == 1, len(rows) / 2, len(rows) / (2 * (len(rows) - 1)))
        values = Ridge().fit(rows, is_query, sample_weight=weights).predict(rows[1:])
    elif mode is VectorStoreQueryMode.LOGISTIC_REGRESSION:
        values = (
            LogisticRegression(class_weight="balanced", max_iter=1000)
            .fit(rows, is_query)
            .decision_function(rows[1:])
        )
    else:
        machine = LinearSVC(C=0.1, class_weight="balanced", tol=1e-6, max_iter=10_000, random_state=0)
        values = machine.fit(rows, is_query).decision_function(rows[1:])
    scores = np.round(values, DIGITS)
    best = top_k(scores, k)
    return best, scores[best]


def _sizes(candidates: Candidates, query: Vector, kind: Similarity) -> Array:
    """(n,), the noise of the similarities relative to that of cosines: it grows with the vectors."""
    lengths = candidates.lengths.astype(np.float64)
    if kind == "dot_product":
        return lengths * np.linalg.norm(query)
    return np.ones(len(lengths)) if kind == "cosine" else np.maximum(lengths, np.linalg.norm(query))


def _without_noise(scores: Array, sizes: Array) -> Array:
    """Rounded to DIGITS digits, fewer for larger sizes and more for smaller ones."""
    decimals = DIGITS - np.round(np.log10(np.where(sizes > 0, sizes, 1.0)))
    return np.rint(scores * 10**decimals) / 10**decimals
