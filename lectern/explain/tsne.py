"""A map of vectors: points in the plane, near each other if the vectors are.

The points of a sample are computed by t-SNE (van der Maaten and Hinton 2008, Journal of Machine Learning
Research 9; here openTSNE, Poličar and others 2024, Journal of Statistical Software 109) by the cosine, and
the others from those of their nearest neighbours in the sample. So 100,000 vectors take about as long as
15,000, and later passages can be added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ragcore.schema import Vectors

SAMPLE = 15_000  # vectors for t-SNE
NEIGHBOURS = 4  # of the sample, which determine the point of another vector
SHARPNESS = 20.0  # neighbours have the weights exp(SHARPNESS * cosine)
MIN_VECTORS = 10  # Fewer vectors become points on a circle.
BATCH_ROWS = 2000


def project(vectors: Vectors) -> Vectors:
    """Points of shape (n, 2), float32, from -1 to 1, for vectors (n, d) of length 1; the same for the same
    vectors."""
    count = len(vectors)
    if count < MIN_VECTORS:
        turns = np.arange(count) * (2 * np.pi / max(count, 1))
        return np.stack([np.cos(turns), np.sin(turns)], 1).astype(np.float32) * (0.5 if count > 1 else 0.0)
    chosen = np.sort(np.random.default_rng(0).permutation(count)[:SAMPLE])
    points = np.empty((count, 2), np.float32)
    points[chosen] = _scale(_tsne(vectors[chosen]))
    rest = np.setdiff1d(np.arange(count), chosen)
    points[rest] = place(vectors[rest], vectors[chosen], points[chosen])
    return points


def place(vectors: Vectors, known: Vectors, points: Vectors) -> Vectors:
    """Points (n, 2) for vectors (n, d) among known vectors (m, d) with points (m, 2), m at least 1."""
    neighbours = min(NEIGHBOURS, len(known))
    placed = np.empty((len(vectors), 2), np.float32)
    for start in range(0, len(vectors), BATCH_ROWS):
        cosines = vectors[start : start + BATCH_ROWS] @ known.T  # (b, m)
        nearest = np.argpartition(-cosines, neighbours - 1, 1)[:, :neighbours]
        near = np.take_along_axis(cosines, nearest, 1)
        weights = np.exp(SHARPNESS * (near - near.max(1, keepdims=True)))
        weights /= weights.sum(1, keepdims=True)
        placed[start : start + BATCH_ROWS] = (points[nearest] * weights[..., None]).sum(1)
    return placed


def _tsne(vectors: Vectors) -> Vectors:
    from openTSNE import TSNE

    tsne = TSNE(perplexity=min(30, (len(vectors) - 1) // 3), metric="cosine", n_jobs=1, random_state=0)
    return np.asarray(tsne.fit(np.ascontiguousarray(vectors, np.float32)), np.float32)


def _scale(points: Vectors) -> Vectors:
    """Moves and scales the points, alike in both directions, to -1 to 1."""
    middle = (points.max(0) + points.min(0)) / 2
    reach = float(np.abs(points - middle).max()) or 1.0
    scaled: Vectors = ((points - middle) / reach).astype(np.float32)
    return scaled
