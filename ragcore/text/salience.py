"""Which sentences stand for a text: central ones, as LexRank finds them, that do not repeat each other, as MMR chooses them.

LexRank: Erkan & Radev 2004, https://arxiv.org/abs/1109.2128 (the continuous variant, on embeddings in place of tf-idf).
MMR: Carbonell & Goldstein 1998.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from ragcore.schema import Vectors

DAMPING = 0.15  # chance that LexRank's walk jumps anywhere
ROUNDS = 50  # the walk has settled long before


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


def diverse(
    scores: npt.NDArray[np.float64], vectors: Vectors, groups: Sequence[int], *, count: int, novelty: float = 0.5
) -> list[int]:
    """Up to `count` rows, best first: each time the best of score minus `novelty` times its likeness to those taken.

    Each group gets places in proportion to its rows, and one at least where there are places for all.
    """
    places = _places(groups, count)
    taken: list[int] = []
    repeated = np.zeros(len(scores))
    while len(taken) < count:
        left = [row for row in range(len(scores)) if row not in taken and places[groups[row]] > 0]
        if not left:
            break
        best = max(left, key=lambda row: (scores[row] - novelty * repeated[row], -row))
        taken.append(best)
        places[groups[best]] -= 1
        repeated = np.maximum(repeated, vectors @ vectors[best])
    return taken


def _places(groups: Sequence[int], count: int) -> dict[int, int]:
    """Largest remainders, after one place each."""
    sizes = {group: groups.count(group) for group in dict.fromkeys(groups)}
    if count <= len(sizes):
        return dict.fromkeys(sizes, 1)
    spare = count - len(sizes)
    exact = {group: spare * size / len(groups) for group, size in sizes.items()}
    places = {group: 1 + int(share) for group, share in exact.items()}
    for group in sorted(sizes, key=lambda group: int(exact[group]) - exact[group])[: count - sum(places.values())]:
        places[group] += 1
    return places
