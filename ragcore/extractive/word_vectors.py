"""The vectors of the words of a text, each in its context: two words with the same meaning are close to each
other.

A name, a place or an action of a question that a text does not mention has no close word there.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ragcore.embeddings.base import Tokens
from ragcore.text.keywords import STOP_WORDS, WITHOUT_SPACES, content_words, stem

if TYPE_CHECKING:
    import numpy.typing as npt

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_UNSPACED = re.compile(rf"[{WITHOUT_SPACES}]")


@dataclass(frozen=True, slots=True)
class Words:
    """The stems of a text's content words, and their unit vectors (words, d); d is 0 if they have none."""

    stems: tuple[str, ...]
    rows: npt.NDArray[np.float16]

    def nearest(self, other: Words) -> npt.NDArray[np.float32]:
        """(words,): the cosine of each word to the nearest one of the other text, 0 if that has no words.
        Without vectors, 1 for a word that the other text has, too."""
        if not self.stems or not other.stems:
            return np.zeros(len(self.stems), np.float32)
        if not self.rows.shape[1]:
            return np.array([stem in other.stems for stem in self.stems], np.float32)
        cosines = self.rows.astype(np.float32) @ other.rows.astype(np.float32).T  # (words, d) @ (d, other)
        return np.asarray(cosines.max(axis=1), np.float32)


def mean_cosine(words: Words, others: Sequence[Words]) -> float:
    """Of all pairs of words of the one and of the others, 0 to 0.95; 0 without vectors. It depends on the
    embedder and on the languages of the texts."""
    rows = np.concatenate([words.rows[:0], *(other.rows for other in others)])
    if not rows.size or not words.stems:
        return 0.0
    mean = float(words.rows.astype(np.float32).mean(axis=0) @ rows.astype(np.float32).mean(axis=0))  # (d,) @ (d,)
    return min(max(mean, 0.0), 0.95)


def words_of(tokens: Tokens) -> Words:
    """The vector of a word is the mean of its tokens; in a script without spaces each token is a word."""
    stems: list[str] = []
    vectors: list[npt.NDArray[np.float32]] = []
    starts = [start for start, _ in tokens.places]
    for word in _WORD.finditer(tokens.text):
        if word.group().lower() in STOP_WORDS:
            continue
        first, last = bisect_left(starts, word.start()), bisect_left(starts, word.end())
        own = [at for at in range(first, last) if tokens.places[at][0] < tokens.places[at][1] <= word.end()]
        for at in [[each] for each in own] if _UNSPACED.search(word.group()) else [own] if own else []:
            mean = tokens.rows[at].mean(axis=0)
            stems.append(stem(tokens.text[tokens.places[at[0]][0] : tokens.places[at[-1]][1]]))
            vectors.append(mean / max(float(np.linalg.norm(mean)), 1e-9))
    return Words(tuple(stems), np.array(vectors, np.float16).reshape(len(stems), tokens.rows.shape[1]))


def exact_words(text: str) -> Words:
    """Words without vectors."""
    stems = tuple(content_words(text))
    return Words(stems, np.zeros((len(stems), 0), np.float16))
