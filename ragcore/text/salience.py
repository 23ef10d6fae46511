"""Which sentences stand for a text: central ones, as LexRank finds them, that do not repeat each other, as MMR chooses them.

LexRank: Erkan & Radev 2004, https://arxiv.org/abs/1109.2128 (the continuous variant, on embeddings in place of tf-idf).
MMR: Carbonell & Goldstein 1998.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from ragcore.schema import Vectors

DAMPING = 0.15  # chance that LexRank's walk jumps anywhere
ROUNDS = 50  # the walk has settled long before
NOVELTY = 0.5  # what likeness to a sentence that is taken already costs


def centrality(vectors: Vectors) -> npt.NDArray[np.float64]:
    """(n, d) unit rows -> (n,), 0 to 1, the most central sentence has 1: the share of a random walk from like to like."""
    if not len(vectors):
        return np.zeros(0)
    likeness = np.clip(vectors.astype(np.float64) @ vectors.T.astype(np.float64), 0.0, None)
    np.fill_diagonal(likeness, 1.0)
    steps = likeness / likeness.sum(axis=1, keepdims=True)
    share = np.full(len(vectors), 1.0 / len(vectors))
    for _ in range(ROUNDS):
        share = DAMPING / len(vectors) + (1 - DAMPING) * share @ steps
    return np.asarray(share / share.max(), dtype=np.float64)


def diverse(scores: npt.NDArray[np.float64], vectors: Vectors, groups: Sequence[int], places: Mapping[int, int]) -> list[int]:
    """Rows, best first: each time the best of score minus NOVELTY times its likeness to those taken.

    `groups[i]` is the group of row i, and `places` says how many rows a group may give: 0 where it is not named.
    """
    left = dict(places)
    taken: list[int] = []
    repeated = np.zeros(len(scores))
    while rows := [row for row in range(len(scores)) if row not in taken and left.get(groups[row], 0) > 0]:
        best = max(rows, key=lambda row: (scores[row] - NOVELTY * repeated[row], -row))
        taken.append(best)
        left[groups[best]] -= 1
        repeated = np.maximum(repeated, vectors @ vectors[best])
    return taken


def shares(sizes: Mapping[int, int], count: int) -> dict[int, int]:
    """`count` places over groups in proportion to their sizes (largest remainders), one at least for each while they last."""
    if count <= len(sizes):
        largest = sorted(sizes, key=lambda group: -sizes[group])
        return dict.fromkeys(largest[: max(count, 0)], 1)
    exact = {group: (count - len(sizes)) * size / sum(sizes.values()) for group, size in sizes.items()}
    places = {group: 1 + int(share) for group, share in exact.items()}
    by_remainder = sorted(sizes, key=lambda group: int(exact[group]) - exact[group])
    for group in by_remainder[: count - sum(places.values())]:
        places[group] += 1
    return places


def stretches(groups: Sequence[int], places: Mapping[int, int]) -> list[int]:
    """Each group cut into as many equal stretches as it has places, so that a summary has something from every part.

    Gives each row's stretch, numbered from 0; -1 for the rows of a group without places.
    """
    sizes = Counter(groups)
    first: dict[int, int] = {}
    for group in sizes:
        first[group] = sum(places.get(before, 0) for before in first)
    seen: Counter[int] = Counter()
    found: list[int] = []
    for group in groups:
        found.append(first[group] + seen[group] * places[group] // sizes[group] if places.get(group) else -1)
        seen[group] += 1
    return found
