"""Passages by meaning and by words together: words find what vectors miss, such as a name or a number, and
vice versa.

score = COSINE_SHARE * cosine + (1 - COSINE_SHARE) * BM25 / (the question's highest BM25), a convex
combination as in Bruch et al. 2023 (https://arxiv.org/abs/2210.11934). `docs/choices.md` has the measurements
behind it and behind these rules:

- The share of the cosine falls to FOREIGN_SHARE with the letters of scripts that the bundled embedder does
  not know.
- Cosines of the multilingual embedder are scaled over the candidates, see `multilingual_scores`.
- With `feedback`, the mean cosine to the LIKED best by this score is added to the cosine (pseudo-relevance
  feedback, Rocchio 1971), and the sum is brought back to 0 to 1.
- If the question names a document of which many passages are candidates, other documents have OTHERS of their
  score.
- "The author" of a question is looked up as "I", as nearly all that a text says of its author is in the first
  person.
- Passages that are far behind the best, in score and in meaning, can be dropped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ragcore.embeddings import bundled_model
from ragcore.embeddings.base import Embedder, query_vector
from ragcore.embeddings.multilingual_e5 import is_multilingual
from ragcore.embeddings.spelling_correction import correct_spelling
from ragcore.errors import DamagedStoreError
from ragcore.extractive.topic import find_named, in_first_person
from ragcore.observe import Span
from ragcore.retrievers.base import BaseRetriever
from ragcore.retrievers.multilingual_scores import OTHER_LANGUAGE_SHARE, in_other_languages, min_max
from ragcore.schema import NodeWithScore, QueryBundle, TextNode, Vector
from ragcore.vector_stores.base import EVERYTHING, Scope, Store

POOL = 50  # candidates by cosine, and as many by BM25
COSINE_SHARE = 0.6
LIKED = 6  # best passages that the feedback compares the others with
FEEDBACK = 1 / 3  # weight of the similarity to them, relative to the cosine to the question
FOREIGN_SHARE = 0.2  # COSINE_SHARE for a question in scripts that the bundled embedder does not know
MANY = 6  # candidates of a document whose name then counts
OTHERS = 0.8  # factor of the other documents then
LEAST_SCORE = 0.65  # share of the best score
LEAST_COSINE = (
    0.9  # share of the highest cosine among the best; a passage below both shares is far weaker than the best
)
LAST_LATIN = "\u024f"  # the last Latin letter in the order of Unicode


class HybridRetriever(BaseRetriever):
    """The `top_k` best of the `pool` best by cosine and the `pool` best by BM25. Scores are 0 to 1.

    `cosine_share`: 0 to 1; None chooses it by the embedder and the question, see `usual_share`. `feedback`:
    the weight of the likeness to the best, 0 or more. `weaker`: includes passages that are far weaker than
    the best. `find_repeated` gives the ids of the passages to rank last, among those of the question, best
    first.

    `correct_spelling` corrects a misspelt question, which the span "retrieve" notes as `meant`. The span also
    notes `found` and `next_best` (at most `top_k` more), lists of {"id", "score", "cosine", "bm25"}. `bm25`
    is 0.0 for a passage without a word of the question, None for one below the pool. `cosine` is None for a
    passage whose vector is damaged, which is ranked by its words.

    >>> from ragcore.embeddings import HashEmbedding
    >>> from ragcore.indices import VectorStoreIndex
    >>> index = VectorStoreIndex([TextNode("A red boat."), TextNode("A gull.")], embed_model=HashEmbedding())
    >>> retriever = HybridRetriever(index.vector_store, HashEmbedding(), top_k=1)
    >>> [hit.text for hit in retriever.retrieve("Which boat is red?")]
    ['A red boat.']
    """

    name = "hybrid"

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        top_k: int,
        scope: Scope = EVERYTHING,
        *,
        pool: int = POOL,
        cosine_share: float | None = None,
        feedback: float = 0.0,
        weaker: bool = True,
        find_repeated: Callable[[str, Sequence[TextNode]], Collection[str]] | None = None,
    ) -> None:
        if cosine_share is not None and not 0 <= cosine_share <= 1:
            raise ValueError(f"cosine_share must be from 0 to 1, not {cosine_share}")
        if feedback < 0:
            raise ValueError(f"feedback must be 0 or more, not {feedback}")
        self._store = store
        self._embedder = embedder
        self._top_k = max(top_k, 0)
        self._scope = scope
        self._pool = max(pool, 2 * self._top_k)
        self._cosine_share = cosine_share
        self._feedback = feedback
        self._weaker = weaker
        self._find_repeated = find_repeated

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        query, vector, vector_hits, keyword_hits = self._search_corrected(query, step)
        candidates = self._join(vector, vector_hits, keyword_hits, step)
        self._score(query.query_str, candidates)

        ranked = sorted(candidates, key=lambda candidate: -candidate.score)
        best = self._choose(query.query_str, ranked)
        ranked = ranked[: 2 * self._top_k]
        next_best = [candidate for candidate in ranked if candidate not in best][: self._top_k]
        absent = None if len(keyword_hits) == self._pool else 0.0
        step.note(
            found=[candidate.facts(absent) for candidate in best],
            next_best=[candidate.facts(absent) for candidate in next_best],
        )
        return [NodeWithScore(candidate.node, candidate.score) for candidate in best]

    def _choose(self, question: str, ranked: Sequence[Candidate]) -> list[Candidate]:
        """The best candidates. Each that only repeats others makes room for the next one that does not."""
        best = list(ranked[: self._top_k])
        if not self._weaker:
            best = _drop_weaker(best)
        if self._find_repeated is None:
            return best
        repeated = self._find_repeated(question, [candidate.node for candidate in ranked])
        if all(candidate.node.id_ not in repeated for candidate in best):
            return best
        return sorted(ranked, key=lambda candidate: candidate.node.id_ in repeated)[: len(best)]

    def _search_corrected(
        self, query: QueryBundle, step: Span
    ) -> tuple[QueryBundle, Vector, list[NodeWithScore], list[NodeWithScore]]:
        """The question as `correct_spelling` writes it by the words of its candidates, and what
        `_candidates` returns for it."""
        vector, vector_hits, keyword_hits = self._candidates(query, step)
        texts = [hit.node.text for hit in [*keyword_hits, *vector_hits]]
        corrected = correct_spelling(query.query_str, texts, self._embedder)
        if corrected != query.query_str:
            step.note(meant=corrected)
            query = replace(query, query_str=corrected)
            vector, vector_hits, keyword_hits = self._candidates(query, step)
        return query, vector, vector_hits, keyword_hits

    def _candidates(
        self, query: QueryBundle, step: Span
    ) -> tuple[Vector, list[NodeWithScore], list[NodeWithScore]]:
        """The question's vector, the `pool` best by cosine and the `pool` best by BM25."""
        query = replace(query, query_str=in_first_person(query.query_str))
        vector = query_vector(self._embedder, query)
        return (
            vector,
            self._near(vector, step),
            self._store.keyword_search(query.query_str, self._pool, self._scope),
        )

    def _join(
        self,
        vector: Vector,
        vector_hits: Sequence[NodeWithScore],
        keyword_hits: Sequence[NodeWithScore],
        step: Span,
    ) -> list[Candidate]:
        """One candidate per passage: those near the question, then those found by words alone, of which those
        with a damaged vector come last. Passages that were deleted meanwhile are left out."""
        bm25 = {hit.node.id_: hit.score or 0.0 for hit in keyword_hits}
        near = [Candidate(hit.node, hit.score or 0.0, bm25.get(hit.node.id_)) for hit in vector_hits]
        near_ids = {candidate.node.id_ for candidate in near}
        by_words = [
            Candidate(hit.node, None, bm25[hit.node.id_])
            for hit in keyword_hits
            if hit.node.id_ not in near_ids
        ]
        vectors = self._vectors([*by_words, *near] if self._feedback else by_words, step)
        if vectors is None:
            return [*near, *by_words]

        length = float(np.linalg.norm(vector)) or 1.0
        for candidate in [*near, *by_words]:
            candidate.vector = vectors.get(candidate.node.id_)
        for candidate in by_words:
            if candidate.vector is not None:
                candidate.cosine = float(candidate.vector @ vector / length)
        with_vector = [candidate for candidate in by_words if candidate.vector is not None]
        without = {candidate.node.id_: candidate for candidate in by_words if candidate.vector is None}
        stored = self._store.nodes(list(without)) if without else []
        return [*near, *with_vector, *(without[node.id_] for node in stored)]

    def _score(self, question: str, candidates: Sequence[Candidate]) -> None:
        """Set the scores of the candidates."""
        weights = self._weigh(question, candidates)
        for candidate in candidates:
            candidate.base_score = candidate.score = weights.score(candidate)
        if self._feedback and _compare_with_best(candidates):
            for candidate in candidates:
                candidate.score = weights.score(candidate, self._feedback)

    def _weigh(self, question: str, candidates: Sequence[Candidate]) -> _Weights:
        """Set the meanings of the candidates, and choose the weights for this question."""
        nodes = [candidate.node for candidate in candidates]
        multilingual = is_multilingual(self._embedder.name)
        scaled = min_max({candidate.node.id_: candidate.cosine for candidate in candidates})
        for candidate in candidates:
            candidate.meaning = scaled[candidate.node.id_] if multilingual else candidate.cosine
        meanings = [candidate.meaning for candidate in candidates if candidate.meaning is not None]
        scores = [candidate.bm25 for candidate in candidates if candidate.bm25 is not None]
        share = self._cosine_share
        foreign = set()
        if share is None:
            share = usual_share(question, self._embedder.name)
            foreign = in_other_languages(question, nodes) if multilingual else set()
        return _Weights(
            cosine_share=share,
            foreign=foreign,
            factors=_factors(question, nodes),
            best_meaning=max(meanings, default=1.0),
            highest_bm25=max(scores, default=1.0),
        )

    def _near(self, vector: Vector, step: Span) -> list[NodeWithScore]:
        """The nearest by cosine; [] while the vectors are damaged, so that keyword search still works until a
        rebuild."""
        try:
            return self._store.search(vector, self._pool, self._scope)
        except DamagedStoreError as error:
            step.note(damaged=error.what)
            return []

    def _vectors(self, candidates: Sequence[Candidate], step: Span) -> dict[str, Vector] | None:
        """By id, without passages that are missing or damaged; None while none can be read."""
        if not candidates:
            return {}
        ids = [candidate.node.id_ for candidate in candidates]
        try:
            stored = self._store.candidates(Scope(node_ids=ids))
        except DamagedStoreError as error:
            step.note(damaged=error.what)
            return None
        return dict(zip(stored.ids, stored.rows, strict=True))


@dataclass(slots=True, eq=False)
class Candidate:
    """A passage that may be found, and what its scores are computed from."""

    node: TextNode
    cosine: float | None  # None: the vector is damaged
    bm25: float | None  # None: it is not among the best by words
    vector: Vector | None = None
    meaning: float | None = None  # the cosine as it counts in the score
    likeness: float = 0.0  # the mean cosine to the best, 0 or more
    base_score: float = 0.0  # without feedback
    score: float = 0.0

    def facts(self, absent: float | None) -> dict[str, Any]:
        """For the trace. `absent` is noted for BM25 if the passage is not among the best by words."""
        bm25 = absent if self.bm25 is None else self.bm25
        return {"id": self.node.id_, "score": self.score, "cosine": self.cosine, "bm25": bm25}


@dataclass(frozen=True, slots=True)
class _Weights:
    """How the scores of a question's candidates are computed."""

    cosine_share: float
    foreign: Collection[str]  # ids of candidates in other languages than the question's
    factors: Mapping[str | None, float]  # by document; 1 if missing
    best_meaning: float
    highest_bm25: float

    def score(self, candidate: Candidate, feedback: float = 0.0) -> float:
        """`feedback` is the weight of the likeness to the best."""
        words = (candidate.bm25 or 0.0) / self.highest_bm25
        meaning = candidate.meaning
        if meaning is None:
            meaning = words * self.best_meaning  # as good as the words say
        share = OTHER_LANGUAGE_SHARE if candidate.node.id_ in self.foreign else self.cosine_share
        meaning = max(meaning, 0.0) + feedback * candidate.likeness
        factor = self.factors.get(candidate.node.ref_doc_id, 1.0)
        return factor * (share * meaning + (1 - share) * words) / (1 + share * feedback)


def _compare_with_best(candidates: Sequence[Candidate]) -> bool:
    """Set the likeness of each to the best tenth (at most LIKED). Passages without a vector get the mean of
    all. Returns False for too few passages."""
    known = [candidate for candidate in candidates if candidate.vector is not None]
    best = sorted(known, key=lambda candidate: -candidate.base_score)[: min(LIKED, len(known) // 10)]
    if not best:
        return False
    vectors = [candidate.vector for candidate in best if candidate.vector is not None]
    middle = np.mean(vectors, axis=0)
    for candidate in known:
        candidate.likeness = max(float(candidate.vector @ middle), 0.0)
    mean = float(np.mean([candidate.likeness for candidate in known]))
    for candidate in candidates:
        if candidate.vector is None:
            candidate.likeness = mean
    return True


def _factors(question: str, candidates: Collection[TextNode]) -> dict[str | None, float]:
    """OTHERS by document, for those that the question does not name while it names another."""
    names: dict[str | None, str] = {}
    for node in candidates:
        if node.ref_doc_id not in names:
            names[node.ref_doc_id] = str(node.metadata.get("file_name", ""))
    in_question = find_named(question, set(names.values()))
    count = Counter(node.ref_doc_id for node in candidates)
    if not any(count[document] >= MANY for document, name in names.items() if name in in_question):
        return {}
    return {document: OTHERS for document, name in names.items() if name not in in_question}


def _drop_weaker(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those that are not far weaker than the best of them, by the scores without feedback or the cosines."""
    least = LEAST_SCORE * max((candidate.base_score for candidate in candidates), default=0.0)
    near = LEAST_COSINE * max((candidate.meaning or 0.0 for candidate in candidates), default=0.0)
    remaining = []
    for candidate in candidates:
        is_near = near > 0 and (candidate.meaning or 0.0) >= near
        if candidate.base_score >= least or is_near:
            remaining.append(candidate)
    return remaining


def usual_share(question: str, embedder: str) -> float:
    """The share of cosines in the score. It depends on the letters of the question if the embedder of this
    name is the bundled one, which knows Latin letters; others are assumed to know all."""
    if question.isascii() or not embedder.startswith(bundled_model.NAME):
        return COSINE_SHARE
    letters = [letter for letter in question if letter.isalpha()]
    foreign = sum(letter > LAST_LATIN for letter in letters) / max(len(letters), 1)
    return COSINE_SHARE - (COSINE_SHARE - FOREIGN_SHARE) * foreign


def usual_feedback(cosine_share: float | None) -> float:
    """FEEDBACK; 0 if the share of the cosine was chosen explicitly, because then only that share determines
    the scores."""
    return FEEDBACK if cosine_share is None else 0.0
