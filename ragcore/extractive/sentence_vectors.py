"""The vectors of sentences and of their words, with a cache.

Two words with the same meaning in their contexts are close to each other. A name, a place or an action of a
question that a text does not mention has no close word there.
"""

from __future__ import annotations

import re
import threading
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ragcore.embeddings import bundled_model, multilingual_e5
from ragcore.embeddings.base import Embedder, TokenEmbedder, Tokens
from ragcore.schema import Vector, Vectors
from ragcore.text.keywords import STOP_WORDS, WITHOUT_SPACES, content_words, stems

MAX_CACHED = 2048  # sentences; about 27 MB, of which 24 are their words

UNRELATED = (
    "The recipe needs two eggs and a cup of flour.",
    "Parliament passed the budget late on Thursday.",
    "Glaciers carve deep valleys into the rock.",
    "Her violin was made in Italy three centuries ago.",
    "Press the red button to restart the printer.",
    "The striker scored twice in the second half.",
    "Insulin lowers the sugar in the blood.",
    "Rent is due on the first day of the month.",
)
"""Unrelated texts, for `SentenceVectors.floor`."""


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


class SentenceVectors:
    """Safe to share between threads."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._sentences: OrderedDict[str, tuple[Vector, Words]] = OrderedDict()
        self._query: tuple[str, Vector] | None = None
        self._lock = threading.Lock()

    @cached_property
    def has_words(self) -> bool:
        """Whether the embedder gives vectors of words."""
        return isinstance(self.embedder, TokenEmbedder) and self.embedder.static_tokens([]) is not None

    @property
    def is_multilingual(self) -> bool:
        return multilingual_e5.is_multilingual(self.embedder.name)

    @property
    def knows_only_english(self) -> bool:
        return self.embedder.name.startswith(bundled_model.NAME)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, d): the vectors of at least one text."""
        return np.stack([vector for vector, _ in self._known(texts)])

    def words(self, texts: Sequence[str]) -> list[Words]:
        """The content words of each text with contextual vectors, or without if not `has_words`."""
        return [words for _, words in self._known(texts)]

    def static_words(self, texts: Sequence[str]) -> list[Words]:
        """Like `words`, with static vectors, which are faster and coarser."""
        tokens = self.embedder.static_tokens(texts) if isinstance(self.embedder, TokenEmbedder) else None
        return (
            [exact_words(text) for text in texts] if tokens is None else [words_of(each) for each in tokens]
        )

    def query(self, text: str) -> Vector:
        """(d,): the vector of a question. The latest one is cached, because it is used several times."""
        latest = self._query
        if latest is None or latest[0] != text:
            self._query = latest = (text, self.embedder.embed_query(text))
        return latest[1]

    def closeness(self, question: str, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """(n,): cosines to the question, scaled so that unrelated texts have 0."""
        # With its words, the question was embedded as a text.
        query = self.embed([question])[0] if self.has_words else self.query(question)
        # (n, d) @ (d,) -> (n,)
        return np.asarray((self.embed(texts) @ query - self.floor) / (1 - self.floor), np.float64)

    def similarity(self, text: str, others: Sequence[str]) -> npt.NDArray[np.float64]:
        """(n,), 0 to 1: like `closeness`, to a text of the same kind as the `others`, which must not be
        empty."""
        cosines = self.embed(others) @ self.embed([text])[0]  # (n, d) @ (d,) -> (n,)
        return np.asarray(np.clip((cosines - self.floor) / (1 - self.floor), 0, 1), np.float64)

    @cached_property
    def floor(self) -> float:
        """The mean cosine between unrelated texts, 0 to 0.95. Some embedders have 0.7."""
        vectors = self.embedder.embed_passages(UNRELATED)
        count = len(vectors)
        mean = float((vectors @ vectors.T).sum() - count) / (count * (count - 1))
        return min(max(mean, 0.0), 0.95)

    def _known(self, texts: Sequence[str]) -> list[tuple[Vector, Words]]:
        with self._lock:
            known = {text: self._sentences[text] for text in texts if text in self._sentences}
        fresh = [text for text in dict.fromkeys(texts) if text not in known]
        if fresh:
            vectors, tokens = self._embed(fresh)
            words = (
                [exact_words(text) for text in fresh]
                if tokens is None
                else [words_of(each) for each in tokens]
            )
            known.update(zip(fresh, zip(vectors, words, strict=True), strict=True))
        with self._lock:
            for text, entry in known.items():
                self._sentences[text] = entry
                self._sentences.move_to_end(text)
            while len(self._sentences) > MAX_CACHED:
                self._sentences.popitem(last=False)
        return [known[text] for text in texts]

    def _embed(self, texts: Sequence[str]) -> tuple[Vectors, list[Tokens] | None]:
        embedded = self.embedder.embed_tokens(texts) if isinstance(self.embedder, TokenEmbedder) else None
        return embedded or (self.embedder.embed_passages(texts), None)


def mean_cosine(words: Words, others: Sequence[Words]) -> float:
    """The mean cosine of all pairs of words of the two sides, 0 to 0.95; 0 without vectors. It depends on the
    embedder and on the languages of the texts."""
    rows = np.concatenate([words.rows[:0], *(other.rows for other in others)])
    if not rows.size or not words.stems:
        return 0.0
    # (d,) @ (d,)
    mean = float(words.rows.astype(np.float32).mean(axis=0) @ rows.astype(np.float32).mean(axis=0))
    return min(max(mean, 0.0), 0.95)


def words_of(tokens: Tokens) -> Words:
    """The vector of a word is the mean of its tokens; in a script without spaces each token is a word."""
    found: list[str] = []
    vectors: list[npt.NDArray[np.float32]] = []
    starts = [start for start, _ in tokens.places]
    for word in _WORD.finditer(tokens.text):
        if word.group().lower() in STOP_WORDS:
            continue
        first, last = bisect_left(starts, word.start()), bisect_left(starts, word.end())
        own = [at for at in range(first, last) if tokens.places[at][0] < tokens.places[at][1] <= word.end()]
        for at in [[each] for each in own] if _UNSPACED.search(word.group()) else [own] if own else []:
            mean = tokens.rows[at].mean(axis=0)
            found.append(tokens.text[tokens.places[at[0]][0] : tokens.places[at[-1]][1]])
            vectors.append(mean / max(float(np.linalg.norm(mean)), 1e-9))
    return Words(stems(found), np.array(vectors, np.float16).reshape(len(found), tokens.rows.shape[1]))


def exact_words(text: str) -> Words:
    """Words without vectors."""
    stems = tuple(content_words(text))
    return Words(stems, np.zeros((len(stems), 0), np.float16))


_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_UNSPACED = re.compile(rf"[{WITHOUT_SPACES}]")
