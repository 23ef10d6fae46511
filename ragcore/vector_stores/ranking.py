"""Rankings that are more than a nearest search. Each looks at all candidates at once, and costs one matrix product a step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from ragcore.vector_stores.base import Candidates
from ragcore.vector_stores.query_modes import VectorStoreQueryMode
from ragcore.vector_stores.search import Array, top_k, unit_query

if TYPE_CHECKING:
    from ragcore.schema import Vector

Similarity: TypeAlias = Literal["cosine", "dot_product", "euclidean"]
Ranked: TypeAlias = "tuple[Array, Array]"
"""The places of the best candidates, and their scores, best first; ties in order of place."""

MMR_THRESHOLD = 0.5
DIGITS = 6  # of vectors of length 1: beyond the sixth place float32 holds noise, which must not decide between two equally good
LEARNERS = (VectorStoreQueryMode.SVM, VectorStoreQueryMode.LOGISTIC_REGRESSION, VectorStoreQueryMode.LINEAR_REGRESSION)


def similarities(found: Candidates, query: Vector, kind: Similarity) -> Array:
    """(n,), higher is nearer: the cosine; the product of the vectors as they were put; or minus the distance between them.

    DimensionError for a query of another width; ValueError for NaN or infinity in it.
    """
    unit = unit_query(query, found.rows.shape[1])
    if kind == "cosine":
        scores: Array = np.clip(found.rows @ unit, -1.0, 1.0)
    elif kind == "dot_product":
        scores = found.lengths * (found.rows @ query)
    else:
        scores = -np.linalg.norm(found.rows * found.lengths[:, None] - query, axis=1)
    return _without_noise(scores.astype(np.float64), _sizes(found, query, kind))


def nearest_by(found: Candidates, query: Vector, k: int, kind: Similarity) -> Ranked:
    scores = similarities(found, query, kind)
    best = top_k(scores, k)
    return best, scores[best]


def mmr(found: Candidates, query: Vector, k: int, threshold: float, kind: Similarity = "cosine") -> Ranked:
    """Maximal marginal relevance (Carbonell & Goldstein 1998): near the question, and unlike all that were taken before.

    The score of the first is threshold * similarity; of each later one threshold * similarity - (1 - threshold) * its highest
    similarity to one taken before. `threshold` 1 ranks by similarity alone, 0 after the first by novelty alone.
    """
    if k <= 0 or not found.ids:
        return np.empty(0, np.intp), np.empty(0)
    near = similarities(found, query, kind)
    taken = [int(near.argmax())]
    scores = [threshold * near[taken[0]]]
    sizes = _sizes(found, query, kind)
    repeated = np.full(len(near), -np.inf)
    while len(taken) < min(k, len(near)):
        last = found.rows[taken[-1]] * found.lengths[taken[-1]]
        repeated = np.maximum(repeated, similarities(found, last, kind))
        sizes = np.maximum(sizes, _sizes(found, last, kind))
        gain = _without_noise(threshold * near - (1 - threshold) * repeated, sizes)
        gain[taken] = -np.inf
        taken.append(int(gain.argmax()))
        scores.append(gain[taken[-1]])
    return np.array(taken, np.intp), np.array(scores)


def learned(found: Candidates, query: Vector, k: int, mode: VectorStoreQueryMode) -> Ranked:
    """By a classifier fitted to tell the question (1) from every candidate (0), each side with the same weight in all.

    The score is the classifier's value for the candidate: for svm and logistic_regression the distance from its border, higher
    is nearer to the question's side; for linear_regression, which is least squares with L2 regularisation (without it, the
    value of every candidate would be 0 in a space of more dimensions than candidates), about 0 to 1.
    """
    if k <= 0 or not found.ids:
        return np.empty(0, np.intp), np.empty(0)
    from sklearn.linear_model import LogisticRegression, Ridge  # type: ignore[import-untyped]
    from sklearn.svm import LinearSVC  # type: ignore[import-untyped]

    rows = np.vstack([unit_query(query, found.rows.shape[1]), found.rows]).astype(np.float64)
    asked = np.zeros(len(rows))
    asked[0] = 1
    if mode is VectorStoreQueryMode.LINEAR_REGRESSION:
        weights = np.where(asked == 1, len(rows) / 2, len(rows) / (2 * (len(rows) - 1)))
        values = Ridge().fit(rows, asked, sample_weight=weights).predict(rows[1:])
    elif mode is VectorStoreQueryMode.LOGISTIC_REGRESSION:
        values = LogisticRegression(class_weight="balanced", max_iter=1000).fit(rows, asked).decision_function(rows[1:])
    else:
        machine = LinearSVC(C=0.1, class_weight="balanced", tol=1e-6, max_iter=10_000, random_state=0)
        values = machine.fit(rows, asked).decision_function(rows[1:])
    scores = np.round(values, DIGITS)
    best = top_k(scores, k)
    return best, scores[best]


def _sizes(found: Candidates, query: Vector, kind: Similarity) -> Array:
    """(n,), in what proportion the similarities' noise is to that of cosines: it grows with the vectors."""
    lengths = found.lengths.astype(np.float64)
    if kind == "dot_product":
        return lengths * np.linalg.norm(query)
    return np.ones(len(lengths)) if kind == "cosine" else np.maximum(lengths, np.linalg.norm(query))


def _without_noise(scores: Array, sizes: Array) -> Array:
    """Rounded to DIGITS places, fewer for larger sizes and more for smaller ones."""
    places = DIGITS - np.round(np.log10(np.where(sizes > 0, sizes, 1.0)))
    return np.rint(scores * 10**places) / 10**places
