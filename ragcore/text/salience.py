"""The sentences that represent a text: LexRank finds central ones, and MMR chooses different ones among them.

LexRank: Erkan & Radev 2004, https://arxiv.org/abs/1109.2128, on embeddings. MMR: Carbonell & Goldstein 1998.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

DAMPING = 0.15  # chance that LexRank's walk jumps to any sentence
ROUNDS = 50  # steps of the walk, more than it needs to converge
NOVELTY = 0.5  # penalty for similarity to a sentence that is chosen already


def centrality(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """(n, d) unit rows -> (n,): the share of each in a random walk between similar ones, best 1."""
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
    scores: npt.NDArray[np.float64],
    vectors: npt.NDArray[np.float32],
    groups: Sequence[int],
    places: Mapping[int, int],
) -> list[int]:
    """Rows, best first, by score minus NOVELTY times the similarity to the rows before.

    `groups[i]` is the group of row i, and `places` the number of rows that a group may give, 0 by default.
    """
    free = dict(places)
    chosen: list[int] = []
    repeated = np.zeros(len(scores))
    while rows := [row for row in range(len(scores)) if row not in chosen and free.get(groups[row], 0) > 0]:
        best = max(rows, key=lambda row: (scores[row] - NOVELTY * repeated[row], -row))
        chosen.append(best)
        free[groups[best]] -= 1
        repeated = np.maximum(repeated, vectors @ vectors[best])
    return chosen


def shares(sizes: Mapping[int, int], count: int) -> dict[int, int]:
    """`count` places over groups in proportion to their sizes (largest remainders), at least one if possible.

    >>> shares({0: 30, 1: 10}, 4)
    {0: 3, 1: 1}
    """
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
    """Each group cut into as many equal stretches as it has places, so that a summary has something from
    every part.

    Gives the stretch of each row, numbered from 0; -1 for the rows of a group without places.
    """
    sizes = Counter(groups)
    first: dict[int, int] = {}
    for group in sizes:
        first[group] = sum(places.get(before, 0) for before in first)
    seen: Counter[int] = Counter()
    numbers: list[int] = []
    for group in groups:
        numbers.append(
            first[group] + seen[group] * places[group] // sizes[group] if places.get(group) else -1
        )
        seen[group] += 1
    return numbers
