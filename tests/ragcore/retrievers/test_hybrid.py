from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ragcore.embeddings import bundled_model
from ragcore.embeddings.huggingface import HuggingFaceEmbedding
from ragcore.errors import DamagedStoreError
from ragcore.observe import span
from ragcore.retrievers.hybrid import (
    COSINE_SHARE,
    FOREIGN_SHARE,
    LEAST_SCORE,
    LIKED,
    MANY,
    OTHERS,
    HybridRetriever,
    usual_share,
)
from ragcore.schema import Document, QueryBundle, TextNode
from ragcore.vector_stores.base import EVERYTHING, Scope
from ragcore.vector_stores.memory import MemoryStore


class Constant:
    """An embedder that puts every question in the same place."""

    name = "constant"
    dimension = 2

    def embed_passages(self, texts: Sequence[str]) -> Any:
        return np.array([[1.0, 0.0]] * len(texts), np.float32)

    def embed_query(self, text: str) -> Any:
        return self.embed_passages([text])[0]


def filled(
    passages: dict[str, tuple[str, tuple[float, float]]], store: MemoryStore | None = None
) -> MemoryStore:
    store = MemoryStore() if store is None else store
    for id_, (text, vector) in passages.items():
        store.upsert(
            Document(text, id_=f"of {id_}"), [TextNode(text, id_, embedding=np.array(vector, np.float32))]
        )
    return store


class Damaged(MemoryStore):
    """A store whose vectors cannot be read."""

    def search(self, vector: Any, k: int, scope: Scope = EVERYTHING) -> Any:
        raise DamagedStoreError("The vectors are damaged.", hint="Wait.")

    def candidates(self, scope: Scope = EVERYTHING) -> Any:
        raise DamagedStoreError("The vectors are damaged.", hint="Wait.")

    def nodes(self, ids: Sequence[str]) -> Any:
        raise DamagedStoreError("The vectors are damaged.", hint="Wait.")


PASSAGES = {
    "both": ("the invoice E-4711 falls due", (0.8, 0.6)),
    "near": ("when must it be paid", (1.0, 0.0)),
    "word": ("list: E-4711, E-4712", (-0.6, 0.8)),
    "none": ("the weather is fine", (0.0, 1.0)),
    "far": ("nothing at all", (-1.0, 0.0)),
}
QUESTION = "invoice E-4711"


@pytest.mark.parametrize(
    ("question", "share"),
    [
        ("When is it due?", COSINE_SHARE),
        ("Wann ist es fällig – 2024?", COSINE_SHARE),
        ("2024?", COSINE_SHARE),
        ("什么时候到期？", FOREIGN_SHARE),
        ("متى يستحق؟", FOREIGN_SHARE),
        ("когда", FOREIGN_SHARE),
        ("E码", (COSINE_SHARE + FOREIGN_SHARE) / 2),
    ],
)
def test_words_weigh_more_in_scripts_unknown_to_the_embedder(question: str, share: float) -> None:
    assert usual_share(question, f"{bundled_model.NAME}@0123") == pytest.approx(share)
    assert usual_share(question, "intfloat/multilingual-e5-small") == COSINE_SHARE


def test_the_share_argument_overrides_the_default() -> None:
    embedder = Constant()
    embedder.name = bundled_model.NAME
    store = filled({"near": ("无关", (1.0, 0.0)), "word": ("到期日", (0.5, 0.5))})
    assert HybridRetriever(store, embedder, 1).retrieve("到期")[0].node.id_ == "word"
    assert HybridRetriever(store, embedder, 1, cosine_share=0.9).retrieve("到期")[0].node.id_ == "near"


def test_what_both_find_comes_before_what_either_finds() -> None:
    found = HybridRetriever(filled(PASSAGES), Constant(), 3).retrieve(QUESTION)
    assert found[0].node.id_ == "both"
    assert {hit.node.id_ for hit in found} == {"both", "near", "word"}


def test_score_mixes_cosine_and_relative_bm25_in_proportion() -> None:
    store = filled(PASSAGES)
    bm25 = {hit.node.id_: hit.get_score() for hit in store.keyword_search(QUESTION, 9)}
    expected = {
        id_: 0.7 * max(vector[0], 0.0) + 0.3 * bm25.get(id_, 0.0) / max(bm25.values())
        for id_, (_, vector) in PASSAGES.items()
    }
    found = HybridRetriever(store, Constant(), 5, cosine_share=0.7).retrieve(QUESTION)
    assert [hit.node.id_ for hit in found] == sorted(expected, key=lambda id_: -expected[id_])
    assert [hit.score for hit in found] == pytest.approx([expected[hit.node.id_] for hit in found], abs=1e-6)


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_a_share_outside_of_0_to_1_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        HybridRetriever(MemoryStore(), Constant(), 5, cosine_share=share)


def test_trace_has_cosine_and_bm25_of_hits_and_near_misses() -> None:
    store = filled(PASSAGES)
    with span("query") as root:
        found = HybridRetriever(store, Constant(), 2).retrieve(QUESTION)
    (step,) = root.spans("retrieve")
    told = step.facts["found"] + step.facts["next_best"]
    assert [fact["id"] for fact in step.facts["found"]] == [hit.node.id_ for hit in found]
    assert len(told) == 4
    bm25 = {hit.node.id_: hit.score for hit in store.keyword_search(QUESTION, 9)}
    for fact in told:
        assert fact["cosine"] == pytest.approx(PASSAGES[fact["id"]][1][0], abs=1e-6)
        assert fact["bm25"] == bm25.get(fact["id"], 0.0)


def test_keyword_hit_has_its_cosine_and_bm25_below_pool_is_none() -> None:
    """With a pool of 2, "word" and "near" are among one side's best two only."""
    passages = {
        **PASSAGES,
        "word": ("invoice E-4711 invoice E-4711", (-0.6, 0.8)),
        "third": ("E-4711", (-0.8, 0.6)),
    }
    with span("query") as root:
        HybridRetriever(filled(passages), Constant(), 1, pool=2, cosine_share=0.0).retrieve(QUESTION)
    (step,) = root.spans("retrieve")
    told = {fact["id"]: fact for fact in step.facts["found"] + step.facts["next_best"]}
    assert told["word"]["cosine"] == pytest.approx(-0.6)
    with span("query") as root:
        HybridRetriever(filled(passages), Constant(), 1, pool=2, cosine_share=1.0).retrieve(QUESTION)
    (step,) = root.spans("retrieve")
    assert {fact["id"]: fact["bm25"] for fact in step.facts["found"]} == {"near": None}


def plans(passages: int) -> MemoryStore:
    """Two documents that say the same, the first a little nearer to every question."""
    store, text = MemoryStore(), "the deductible is due in"
    for name, vector in (("Acme_Plus_Details.pdf", (1.0, 0.0)), ("Acme_Standard_Details.pdf", (0.85, 0.527))):
        nodes = [
            TextNode(
                f"{text} year {at}",
                f"{name} {at}",
                {"file_name": name},
                name,
                embedding=np.array(vector, np.float32),
            )
            for at in range(passages)
        ]
        store.upsert(Document(text, id_=name), nodes)
    return store


@pytest.mark.parametrize(
    ("passages", "question", "first"),
    [
        (MANY, "the deductible due", "Acme_Plus_Details.pdf"),
        (MANY, "the deductible due in Acme Standard", "Acme_Standard_Details.pdf"),
        (MANY, "the deductible due in the Acme details", "Acme_Plus_Details.pdf"),
        (MANY - 1, "the deductible due in Acme Standard", "Acme_Plus_Details.pdf"),
    ],
)
def test_long_document_named_in_the_question_goes_first(passages: int, question: str, first: str) -> None:
    store = plans(passages)
    found = HybridRetriever(store, Constant(), 3, cosine_share=0.9).retrieve(question)
    assert found[0].node.metadata["file_name"] == first
    if first == "Acme_Standard_Details.pdf":
        every = HybridRetriever(store, Constant(), 2 * passages, cosine_share=0.9).retrieve(question)
        assert max(hit.get_score() for hit in every if hit.node.ref_doc_id != first) <= OTHERS


def test_question_about_the_author_is_embedded_in_first_person() -> None:
    asked: list[str] = []

    class Listening(Constant):
        def embed_query(self, text: str) -> Any:
            asked.append(text)
            return np.array([1.0, 0.0] if "author" in text else [0.0, 1.0], np.float32)

    store = filled({"at": ("the tower", (1.0, 0.0)), "own": ("my tower", (0.0, 1.0))})
    retriever = HybridRetriever(store, Listening(), 2, cosine_share=1.0)
    assert retriever.retrieve("What did the author build?")[0].node.id_ == "own"
    assert asked == ["What did I build?"]
    given = QueryBundle("What did the author build?", embedding=np.array([1.0, 0.0], np.float32))
    assert retriever.retrieve(given)[0].node.id_ == "at"


WEAKER = {
    "best": ("the invoice E-4711 is due", (1.0, 0.0)),  # score 1.0
    "words": ("E-4711 invoice of the invoices that were due", (0.5, 0.866)),
    "near": ("when must it be paid", (0.95, 0.312)),  # score 0.57 without a word of the question
    "far": ("E-4711", (0.2, 0.98)),
    "none": ("the weather is fine", (0.4, 0.917)),
}


def test_passages_weaker_in_score_and_cosine_drop_on_request() -> None:
    store = filled(WEAKER)
    with span("query") as root:
        every = HybridRetriever(store, Constant(), 5).retrieve(QUESTION)
        kept = HybridRetriever(store, Constant(), 5, weaker=False).retrieve(QUESTION)
    score = {hit.node.id_: hit.get_score() for hit in every}
    assert score["words"] > LEAST_SCORE * score["best"] > score["near"] > score["far"]
    assert {hit.node.id_: hit.score for hit in kept} == {id_: score[id_] for id_ in ("best", "words", "near")}
    told = root.spans("retrieve")[1].facts
    assert [fact["id"] for fact in told["found"]] == [hit.node.id_ for hit in kept]
    assert {fact["id"] for fact in told["next_best"]} == {"far", "none"}


def test_the_best_stays_though_nothing_speaks_for_it() -> None:
    store = filled({"opposite": ("the weather is fine", (-1.0, 0.0))})
    assert [
        hit.node.id_ for hit in HybridRetriever(store, Constant(), 5, weaker=False).retrieve(QUESTION)
    ] == ["opposite"]
    assert HybridRetriever(MemoryStore(), Constant(), 5, weaker=False).retrieve(QUESTION) == []


def around(count: int) -> dict[str, tuple[str, tuple[float, float]]]:
    """Passages that are nearer and nearer to the question by meaning, every fourth one on its other side."""
    angles = np.linspace(1.4, 0.2, count) * np.where(np.arange(count) % 4, 1, -1)
    return {
        f"n{at}": ("the weather is fine", (float(np.cos(each)), float(np.sin(each))))
        for at, each in enumerate(angles)
    }


def test_feedback_prefers_passages_like_the_best_tenth() -> None:
    count, feedback, share = 10 * LIKED, 0.5, 0.6
    passages = around(count)
    vectors = np.array([vector for _, vector in passages.values()])
    own = share * vectors[:, 0]
    like = vectors @ vectors[np.argsort(-own)[:LIKED]].mean(axis=0)
    expected = (own + share * feedback * np.maximum(like, 0)) / (1 + share * feedback)
    assert np.argsort(-expected).tolist() != np.argsort(-own).tolist()
    retriever = HybridRetriever(
        filled(passages), Constant(), count, pool=count, cosine_share=share, feedback=feedback
    )
    found = retriever.retrieve(QUESTION)
    assert [hit.node.id_ for hit in found] == [f"n{at}" for at in np.argsort(-expected)]
    assert [hit.score for hit in found] == pytest.approx(sorted(expected, reverse=True), abs=1e-6)


@pytest.mark.parametrize(
    "store",
    [filled(around(9)), filled({**around(30), "word": (QUESTION, (1.0, 0.0))}, Damaged())],
    ids=["few", "damaged"],
)
def test_few_passages_or_damaged_vectors_disable_feedback(store: MemoryStore) -> None:
    plain, fed = (
        [
            (hit.node.id_, hit.score)
            for hit in HybridRetriever(store, Constant(), 9, feedback=each).retrieve(QUESTION)
        ]
        for each in (0.0, 1.0)
    )
    assert fed == plain != []


def test_what_is_far_weaker_is_so_without_feedback() -> None:
    store = filled({**WEAKER, **{f"like far {at}": ("the weather", (0.3, 0.954)) for at in range(30)}})
    plain, fed = (
        {
            hit.node.id_
            for hit in HybridRetriever(store, Constant(), 9, feedback=each, weaker=False).retrieve(QUESTION)
        }
        for each in (0.0, 20.0)
    )
    assert fed == plain == {"best", "words", "near"}


def test_feedback_below_0_is_refused() -> None:
    with pytest.raises(ValueError, match="0 or more"):
        HybridRetriever(MemoryStore(), Constant(), 5, feedback=-0.1)


def test_only_the_chosen_documents_are_looked_in() -> None:
    found = HybridRetriever(filled(PASSAGES), Constant(), 5, Scope(["of far", "of word"])).retrieve(QUESTION)
    assert {hit.node.id_ for hit in found} == {"far", "word"}


def test_an_empty_store_returns_nothing() -> None:
    assert HybridRetriever(MemoryStore(), Constant(), 5).retrieve(QUESTION) == []
    assert HybridRetriever(filled(PASSAGES), Constant(), 0).retrieve(QUESTION) == []


def test_the_callers_question_does_not_change() -> None:
    bundle = QueryBundle(QUESTION)
    HybridRetriever(filled(PASSAGES), Constant(), 5).retrieve(bundle)
    assert bundle.embedding is None


def test_misspelt_question_retains_its_texts_and_vector() -> None:
    embedder, store = HuggingFaceEmbedding(), MemoryStore()
    for id_, text in (
        ("painted", "Ada Penrose painted the lighthouse."),
        ("barrels", "The cellar holds barrels of cider."),
    ):
        store.upsert(
            Document(text, id_=f"of {id_}"),
            [TextNode(text, id_, embedding=embedder.embed_passages([text])[0])],
        )
    retriever = HybridRetriever(store, embedder, 2, weaker=True)

    def scores(question: str, *texts: str, vector: Any = None) -> dict[str, float | None]:
        return {hit.node.id_: hit.score for hit in retriever.retrieve(QueryBundle(question, texts, vector))}

    asked, misspelt, other = "Who painted it?", "Who pianted it?", "How much cider is in the cellar?"
    assert scores(misspelt) == scores(asked)
    assert scores(misspelt, other) == scores(asked, other) != scores(asked)
    assert scores(misspelt, vector=embedder.embed_query(other)) == pytest.approx(scores(asked, other))
