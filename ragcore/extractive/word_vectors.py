"""The vectors of a text's words, each in its context: two words that mean the same lie near each other.

"Not found" goes by them: a name, a place or a deed that the question speaks of and the text does not has no near word there.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ragcore.text.keywords import STOP_WORDS, stem

if TYPE_CHECKING:
    import numpy.typing as npt

    from ragcore.schema import Vectors

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Words:
    """The stems of a text's words that carry meaning, and their unit vectors (words, d)."""

    stems: tuple[str, ...]
    rows: npt.NDArray[np.float16]

    def without(self, stems: Collection[str]) -> Words:
        kept = [at for at, stem in enumerate(self.stems) if stem not in stems]
        return Words(tuple(self.stems[at] for at in kept), self.rows[kept])

    def nearest(self, other: Words) -> npt.NDArray[np.float32]:
        """(words,): the cosine of each word to the nearest of the other text; 0 where that has none."""
        if not self.stems or not other.stems:
            return np.zeros(len(self.stems), np.float32)
        cosines = self.rows.astype(np.float32) @ other.rows.astype(np.float32).T  # (words, d) @ (d, other)
        return np.asarray(cosines.max(axis=1), np.float32)


def words_of(text: str, places: Sequence[tuple[int, int]], rows: Vectors) -> Words:
    """`places` are where in the text its tokens begin and end, `rows` (tokens, d) their vectors; a word's is their mean."""
    stems: list[str] = []
    vectors: list[npt.NDArray[np.float32]] = []
    for word in _WORD.finditer(text):
        if word.group().lower() in STOP_WORDS:
            continue
        tokens = [at for at, (start, end) in enumerate(places) if word.start() <= start < end <= word.end()]
        if tokens:
            mean = rows[tokens].mean(axis=0)
            stems.append(stem(word.group()))
            vectors.append(mean / max(float(np.linalg.norm(mean)), 1e-9))
    return Words(tuple(stems), np.array(vectors, np.float16).reshape(len(stems), rows.shape[1]))
