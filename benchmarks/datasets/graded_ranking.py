"""How good a ranked list of documents is by their grades, cut after so many: as trec_eval and BEIR count it.

The gain of a grade is the grade itself, each place is discounted by log2(place + 1), and the ideal list is
cut as well (Järvelin & Kekäläinen 2002, https://doi.org/10.1145/582415.582418; `ndcg_cut` of
https://github.com/usnistgov/trec_eval).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence


def ndcg_at(count: int, grades: Mapping[str, int], ranked: Sequence[str]) -> float:
    """0 to 1. Grades of 0 and less are not relevant. ValueError where no grade is above 0; `ranked` names
    each once."""
    ideal = sorted((grade for grade in grades.values() if grade > 0), reverse=True)
    if not ideal:
        raise ValueError("a question without a relevant document cannot be scored")
    gains = [max(grades.get(id_, 0), 0) for id_ in ranked]
    return _gain(gains[:count]) / _gain(ideal[:count])


def recall_at(count: int, grades: Mapping[str, int], ranked: Sequence[str]) -> float:
    """The share of the relevant documents among the first `count`. ValueError where none is relevant."""
    relevant = {id_ for id_, grade in grades.items() if grade > 0}
    if not relevant:
        raise ValueError("a question without a relevant document cannot be scored")
    return len(relevant & set(ranked[:count])) / len(relevant)


def _gain(grades: Sequence[int]) -> float:
    return sum(grade / math.log2(place + 1) for place, grade in enumerate(grades, 1))
