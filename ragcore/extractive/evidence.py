"""What the answerer without a model goes by: closeness of meaning from the embedder, and words in common."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ragcore.embeddings import bundled_model
from ragcore.embeddings.base import Embedder, TokenEmbedder
from ragcore.extractive.answer_ranking import (
    FEATURES,
    FOREIGN_THRESHOLD,
    UNRELATED,
    foreign_log_odds,
    idf_shares,
    idle_words,
    likely,
    log_odds,
    margin,
    measure,
    met_words,
    unrelated_cosine,
)
from ragcore.extractive.contradictions import opposed
from ragcore.extractive.word_vectors import Words, words_of
from ragcore.questions.answer_types import asks_whether
from ragcore.text.language import language_of
from ragcore.text.quotable_sentences import Quote, below_introductions

if TYPE_CHECKING:
    import numpy.typing as npt

    from ragcore.schema import Vector, Vectors

Kept = TypeVar("Kept")

CACHED_VECTORS = 4096  # sentences; about 6 MB at 384 numbers each
CACHED_WORDS = 1024  # sentences; about 12 MB at 15 words of 384 small numbers each
LAST_LATIN = "\u024f"
LANGUAGE = "en"  # what the embedder that tells words knows


@dataclass(frozen=True, slots=True)
class Weighed:
    """What was measured of `count` quotes, of those at `rows`: see `measure` and `met_words` of `answer_ranking`.

    `met_words` is None where words have no vectors. `foreign`: the question is in another language than the embedder's;
    `unread`: in a script that the embedder does not know, so that words order the sentences, too.
    """

    count: int
    rows: list[int]
    measured: npt.NDArray[np.float64]
    met: npt.NDArray[np.float64] | None
    foreign: bool = False
    unread: bool = False

    def odds(self) -> npt.NDArray[np.float64]:
        """(count,): log odds, -inf of the quotes that were not weighed."""
        odds = np.full(self.count, -np.inf)
        odds[self.rows] = foreign_log_odds(self.measured) if self.unread else log_odds(self.measured)
        return odds

    def margin(self, threshold: float) -> float:
        """Below 0 there is no answer among them; `threshold`, of the best log odds, where words have no vectors,
        or nothing tells the question's language."""
        if self.rows and self.met is not None:
            return margin(self.measured, self.met)
        return self.by_odds(threshold)

    def by_odds(self, threshold: float) -> float:
        """How far the best log odds lie above the threshold, which is another one where the question is foreign."""
        if self.foreign:
            return float(foreign_log_odds(self.measured).max(initial=-np.inf)) - FOREIGN_THRESHOLD
        return float(self.odds().max(initial=-np.inf)) - threshold


class Evidence:
    """One embedder's, with the vectors of the latest texts kept. Safe to share between threads."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._vectors: OrderedDict[str, npt.NDArray[np.float32]] = OrderedDict()
        self._latest: tuple[str, Vector] | None = None
        self._words: OrderedDict[str, Words] = OrderedDict()
        self._lock = threading.Lock()

    def answering(self, query: str, quotes: Sequence[Quote]) -> Weighed:
        """Of the quotes that may answer: what says something else than what is asked does not, see `opposed`.

        Where yes or no is asked, items of lists are read below what introduces them.
        """
        read = below_introductions(quotes) if asks_whether(query) else quotes
        return self.weighed(query, read, [not each for each in opposed(query, read)])

    def odds(self, query: str, quotes: Sequence[Quote]) -> npt.NDArray[np.float64]:
        """(n,): the log odds of each quote being the answer against there being none; -inf of those that were not weighed."""
        return self.weighed(query, quotes).odds()

    def weighed(self, query: str, quotes: Sequence[Quote], wanted: Sequence[bool] | None = None) -> Weighed:
        """`wanted`: of the quotes that are wanted alone."""
        rows = likely(query, quotes, wanted)
        texts = [quotes[row].read_with_lead for row in rows]
        if not texts:
            return Weighed(len(quotes), rows, np.zeros((0, len(FEATURES))), None)
        language = language_of(query)
        words = self._with_words([query, *texts]) if language == LANGUAGE else None
        met = None if words is None else met_words(words[0].without(idle_words(query)), quotes, rows, words[1:])
        asked = self.query(query) if words is None else self.embed([query])[0]  # without instructions they are the same
        measured = measure(query, asked, quotes, self.embed(texts), rows, floor=self._floor)
        spoken = language or language_of(" ".join(texts))
        foreign = self.embedder.name.startswith(bundled_model.NAME) and spoken not in (LANGUAGE, "")
        letters = [letter for letter in query if letter.isalpha()]
        unread = foreign and 2 * sum(letter > LAST_LATIN for letter in letters) >= len(letters)
        return Weighed(len(quotes), rows, measured, met, foreign, unread)

    def near(self, query: str, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """(n,), 0 to 1: half closeness of meaning, half the share of the query's words, the rare ones counting more."""
        if not texts:
            return np.zeros(0)
        words: npt.NDArray[np.float64] = idf_shares(query, texts).sum(axis=1)
        return (self._closeness(self.query(query), texts) + words) / 2

    def alike(self, text: str, others: Sequence[str]) -> npt.NDArray[np.float64]:
        """(n,), 0 to 1: how close in meaning the text is to each of the others. It is no question, but one of their kind."""
        return self._closeness(self.embed([text])[0], others)

    def _closeness(self, vector: Vector, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Cosines, counted from that of texts which have nothing to do with each other."""
        cosines = self.embed(texts) @ vector  # (n, d) @ (d,) -> (n,)
        return np.asarray(np.clip((cosines - self._floor) / (1 - self._floor), 0.0, 1.0), dtype=np.float64)

    def query(self, text: str) -> Vector:
        """(d,). The latest is kept, as one question is asked several times."""
        latest = self._latest
        if latest is None or latest[0] != text:
            self._latest = latest = (text, self.embedder.embed_query(text))
        return latest[1]

    def _with_words(self, texts: Sequence[str]) -> list[Words] | None:
        """The words of each text; the vectors of the texts, which come with them, are kept. None where words have none."""
        if not isinstance(self.embedder, TokenEmbedder):
            return None
        with self._lock:
            known = {text: self._words[text] for text in texts if text in self._words}
        if fresh := [text for text in dict.fromkeys(texts) if text not in known]:
            found = self.embedder.embed_tokens(fresh)
            if found is None:
                return None
            known |= {text: words_of(each.text, each.places, each.rows) for text, each in zip(fresh, found[1], strict=True)}
            self._keep(self._vectors, dict(zip(fresh, found[0], strict=True)), CACHED_VECTORS)
        self._keep(self._words, known, CACHED_WORDS)
        return [known[text] for text in texts]

    def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, d); at least one text."""
        with self._lock:
            known = {text: self._vectors[text] for text in texts if text in self._vectors}
        fresh = [text for text in dict.fromkeys(texts) if text not in known]
        if fresh:
            known.update(zip(fresh, self.embedder.embed_passages(fresh), strict=True))
        self._keep(self._vectors, known, CACHED_VECTORS)
        return np.stack([known[text] for text in texts])

    def _keep(self, cache: OrderedDict[str, Kept], known: Mapping[str, Kept], most: int) -> None:
        with self._lock:
            for text, kept in known.items():
                cache[text] = kept
                cache.move_to_end(text)
            while len(cache) > most:
                cache.popitem(last=False)

    @cached_property
    def _floor(self) -> float:
        return unrelated_cosine(self.embedder.embed_passages(UNRELATED))
