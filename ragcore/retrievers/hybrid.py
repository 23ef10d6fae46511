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
from collections.abc import Collection, Mapping
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
    the best.

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

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        query, vector, vector_hits, keyword_hits = self._search_corrected(query, step)
        nodes = {hit.node.id_: hit.node for hit in [*keyword_hits, *vector_hits]}
        bm25 = {hit.node.id_: hit.get_score() for hit in keyword_hits}
        cosines: dict[str, float | None] = {hit.node.id_: hit.get_score() for hit in vector_hits}
        words_only = [id_ for id_ in bm25 if id_ not in cosines]
        vectors = self._vectors(list(nodes) if self._feedback else words_only, step)
        cosines |= self._cosines(words_only, vector, vectors)

        scorer = self._scorer(query.query_str, nodes, cosines, bm25)
        base = {id_: scorer.score(id_) for id_ in cosines}  # scores without feedback
        scores = self._score_with_feedback(scorer, base, vectors)

        ranked = sorted(scores, key=lambda id_: -scores[id_])[: 2 * self._top_k]
        absent = None if len(keyword_hits) == self._pool else 0.0
        facts: list[dict[str, Any]] = [
            {"id": id_, "score": scores[id_], "cosine": cosines[id_], "bm25": bm25.get(id_, absent)}
            for id_ in ranked
        ]
        best = facts[: self._top_k]
        if not self._weaker:
            best = _drop_weaker(best, base, scorer.meanings)
        step.note(found=best, next_best=[fact for fact in facts if fact not in best][: self._top_k])
        return [NodeWithScore(nodes[fact["id"]], fact["score"]) for fact in best]

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

    def _scorer(
        self,
        question: str,
        nodes: Mapping[str, TextNode],
        cosines: Mapping[str, float | None],
        bm25: Mapping[str, float],
    ) -> _Scorer:
        multilingual = is_multilingual(self._embedder.name)
        meanings = min_max(cosines) if multilingual else cosines
        by_language = multilingual and self._cosine_share is None
        share = (
            usual_share(question, self._embedder.name) if self._cosine_share is None else self._cosine_share
        )
        return _Scorer(
            {id_: node.ref_doc_id for id_, node in nodes.items()},
            meanings,
            bm25,
            cosine_share=share,
            foreign=in_other_languages(question, nodes.values()) if by_language else set(),
            factors=_factors(question, nodes.values()),
            best_meaning=max((each for each in meanings.values() if each is not None), default=1.0),
            highest_bm25=max(bm25.values(), default=1.0),
        )

    def _score_with_feedback(
        self, scorer: _Scorer, base: dict[str, float], vectors: Mapping[str, Vector] | None
    ) -> dict[str, float]:
        """`base` as it is without `feedback`, and where there is nothing to compare with."""
        likeness = _compare_with_best(base, vectors) if self._feedback and vectors else {}
        return {id_: scorer.score(id_, self._feedback, likeness[id_]) for id_ in base} if likeness else base

    def _near(self, vector: Vector, step: Span) -> list[NodeWithScore]:
        """The nearest by cosine; [] while the vectors are damaged, so that keyword search still works until a
        rebuild."""
        try:
            return self._store.search(vector, self._pool, self._scope)
        except DamagedStoreError as error:
            step.note(damaged=error.what)
            return []

    def _cosines(
        self, ids: list[str], vector: Vector, vectors: Mapping[str, Vector] | None
    ) -> dict[str, float | None]:
        """The cosines by id, None for a damaged vector; without deleted passages."""
        if vectors is None:
            return dict.fromkeys(ids)
        length = float(np.linalg.norm(vector)) or 1.0
        known: dict[str, float | None] = {
            id_: float(vectors[id_] @ vector / length) for id_ in ids if id_ in vectors
        }
        without = [id_ for id_ in ids if id_ not in known]
        return known | {node.id_: None for node in (self._store.nodes(without) if without else [])}

    def _vectors(self, ids: list[str], step: Span) -> dict[str, Vector] | None:
        """By id, without passages that are missing or damaged; None while none can be read."""
        if not ids:
            return {}
        try:
            candidates = self._store.candidates(Scope(node_ids=ids))
        except DamagedStoreError as error:
            step.note(damaged=error.what)
            return None
        return dict(zip(candidates.ids, candidates.rows, strict=True))


@dataclass(frozen=True, slots=True)
class _Scorer:
    """Computes the scores of a question's candidates, by id."""

    documents: Mapping[str, str | None]
    meanings: Mapping[str, float | None]  # cosines as they count in the score; None: the vector is damaged
    bm25: Mapping[str, float]  # without passages that share no word with the question
    cosine_share: float
    foreign: Collection[str]  # candidates in other languages than the question's
    factors: Mapping[str | None, float]  # by document; 1 if missing
    best_meaning: float
    highest_bm25: float

    def score(self, id_: str, feedback: float = 0.0, likeness: float = 0.0) -> float:
        """`likeness` is the mean cosine to the best, and `feedback` its weight."""
        words, meaning = self.bm25.get(id_, 0.0) / self.highest_bm25, self.meanings[id_]
        if meaning is None:
            meaning = words * self.best_meaning  # as good as the words say
        share = OTHER_LANGUAGE_SHARE if id_ in self.foreign else self.cosine_share
        meaning, maximum = max(meaning, 0.0) + feedback * likeness, 1 + share * feedback
        factor = self.factors.get(self.documents[id_], 1.0)
        return factor * (share * meaning + (1 - share) * words) / maximum


def _compare_with_best(scores: Mapping[str, float], vectors: Mapping[str, Vector]) -> dict[str, float]:
    """The mean cosine of each, 0 or more, to the best tenth (at most LIKED). Passages without a vector get
    the mean of all. {} for too few passages."""
    known = [id_ for id_ in scores if id_ in vectors]
    best = sorted(known, key=lambda id_: -scores[id_])[: min(LIKED, len(known) // 10)]
    if not best:
        return {}
    middle = np.mean([vectors[id_] for id_ in best], axis=0)
    like = {id_: max(float(vectors[id_] @ middle), 0.0) for id_ in known}
    return dict.fromkeys(scores, float(np.mean(list(like.values())))) | like


def _factors(question: str, candidates: Collection[TextNode]) -> dict[str | None, float]:
    """OTHERS by document, for those that the question does not name while it names another."""
    names = {node.ref_doc_id: str(node.metadata.get("file_name", "")) for node in candidates}
    in_question = find_named(question, set(names.values()))
    count = Counter(node.ref_doc_id for node in candidates)
    if not any(count[document] >= MANY for document, name in names.items() if name in in_question):
        return {}
    return {document: OTHERS for document, name in names.items() if name not in in_question}


def _drop_weaker(
    facts: list[dict[str, Any]], scores: Mapping[str, float], meanings: Mapping[str, float | None]
) -> list[dict[str, Any]]:
    """Those that are not far weaker than the best of them, by the scores without feedback or the cosines."""
    least = LEAST_SCORE * max((scores[fact["id"]] for fact in facts), default=0.0)
    near = LEAST_COSINE * max((meanings[fact["id"]] or 0.0 for fact in facts), default=0.0)
    return [each for each in facts if scores[each["id"]] >= least or (meanings[each["id"]] or 0) >= near > 0]


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
