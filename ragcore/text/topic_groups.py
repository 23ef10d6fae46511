"""Groups of documents by topic: k-means on their unit vectors, and a name for each group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ragcore.text.key_phrases import is_distinctive, keywords
from ragcore.text.keywords import content_words

MIN_GROUPS, MAX_GROUPS = 2, 10  # groups
KEYWORDS = 15  # of each text, candidates for the name of its group
NAME_WORDS = 3  # words in the name of a group


def topic_groups(vectors: npt.NDArray[np.float32]) -> list[int]:
    """(n, d) -> the group of each row, numbered from 0, the largest first. There are MIN_GROUPS to MAX_GROUPS
    groups, the number with the best silhouette (Rousseeuw 1987), or one if the rows do not differ."""
    from sklearn.cluster import KMeans  # type: ignore[import-untyped]
    from sklearn.metrics import silhouette_score  # type: ignore[import-untyped]

    rows = vectors - vectors.mean(axis=0)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    most = min(MAX_GROUPS, len(rows) - 1, len(np.unique(rows, axis=0)))
    tried = [
        KMeans(count, n_init=3, random_state=0).fit_predict(rows).tolist()
        for count in range(MIN_GROUPS, most + 1)
    ]
    groups: list[int] = max(
        tried, key=lambda each: float(silhouette_score(rows, each)), default=[0] * len(rows)
    )
    order = [group for group, _ in Counter(groups).most_common()]
    return [order.index(group) for group in groups]


def group_names(texts: Sequence[str], groups: Sequence[int]) -> list[str]:
    """The names of the groups: the words that are most specific to each, "ferry, harbour, tide"."""
    having: dict[int, Counter[tuple[str, ...]]] = {group: Counter() for group in sorted(set(groups))}
    spelt: dict[tuple[str, ...], str] = {}
    for text, group in zip(texts, groups, strict=True):
        phrases = {
            tuple(content_words(phrase)): phrase
            for phrase in keywords(text, KEYWORDS)
            if is_distinctive(phrase)
        }
        spelt = phrases | spelt
        having[group].update(phrases.keys())
    sizes = Counter(groups)
    everywhere = sum(having.values(), Counter[tuple[str, ...]]())
    names = []
    for group, counts in having.items():
        others = max(len(groups) - sizes[group], 1)
        share = {
            word: count / sizes[group] - (everywhere[word] - count) / others for word, count in counts.items()
        }
        names.append(
            ", ".join(
                spelt[word] for word in sorted(share, key=lambda word: (-share[word], word))[:NAME_WORDS]
            )
        )
    return names
