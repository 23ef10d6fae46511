"""Cosines of the multilingual embedder beside words: scaled, and counting more between languages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ragcore.embeddings import multilingual_e5
from ragcore.embeddings.multilingual_e5 import is_multilingual
from ragcore.retrievers.hybrid import COSINE_SHARE, HybridRetriever
from ragcore.retrievers.multilingual_scores import OTHER_LANGUAGE_SHARE, in_other_languages, min_max
from ragcore.schema import Document, TextNode
from ragcore.vector_stores.memory import MemoryStore

QUESTION = "Wer hat die Brücke in Halle gebaut?"
PASSAGES = {
    "same": ("Die Brücke ist in Halle, und der Fluss ist breit.", 0.80),
    "other": ("The bridge in Halle was built by Tom Hollis, who was a smith.", 0.90),
    "third": ("The school has nine classrooms and a bell.", 0.70),
}


class Multilingual:
    name = f"{multilingual_e5.NAME}@0123"
    dimension = 2

    def embed_passages(self, texts: Sequence[str]) -> Any:
        return np.array([[1.0, 0.0]] * len(texts), np.float32)

    def embed_query(self, text: str) -> Any:
        return self.embed_passages([text])[0]


@pytest.fixture
def store() -> MemoryStore:
    found = MemoryStore()
    for id_, (text, cosine) in PASSAGES.items():
        vector = np.array([cosine, (1 - cosine**2) ** 0.5], np.float32)
        found.upsert(Document(text, id_=f"of {id_}"), [TextNode(text, id_, embedding=vector)])
    return found


def test_scaled_cosines_weigh_more_than_words_across_languages(store: MemoryStore) -> None:
    bm25 = {hit.node.id_: hit.get_score() for hit in store.keyword_search(QUESTION, 9)}
    words = {id_: bm25.get(id_, 0.0) / max(bm25.values()) for id_ in PASSAGES}
    share = {"same": COSINE_SHARE, "other": OTHER_LANGUAGE_SHARE, "third": OTHER_LANGUAGE_SHARE}
    scaled = {"same": 0.5, "other": 1.0, "third": 0.0}
    expected = {id_: share[id_] * scaled[id_] + (1 - share[id_]) * words[id_] for id_ in PASSAGES}
    assert words["other"] > 0, "a name in common"
    found = HybridRetriever(store, Multilingual(), 3).retrieve(QUESTION)
    assert {hit.node.id_: hit.score for hit in found} == pytest.approx(expected, abs=1e-5)


def test_the_share_argument_applies_to_every_language(store: MemoryStore) -> None:
    found = HybridRetriever(store, Multilingual(), 3, cosine_share=1.0).retrieve(QUESTION)
    assert [hit.score for hit in found] == pytest.approx([1.0, 0.5, 0.0], abs=1e-5)


def test_passages_with_a_low_scaled_cosine_are_dropped(store: MemoryStore) -> None:
    found = HybridRetriever(store, Multilingual(), 3, weaker=False).retrieve(QUESTION)
    assert {hit.node.id_ for hit in found} == {"same", "other"}, "0.7 of 0.9 would be near, 0 of 1 is not"


def test_scaled_cosines_go_from_0_to_1() -> None:
    assert min_max({"a": 0.7, "b": 0.9, "c": 0.75, "d": None}) == {
        "a": 0,
        "b": 1,
        "c": pytest.approx(0.25),
        "d": None,
    }
    assert min_max({"a": 0.8}) == {"a": 1.0}
    assert min_max({"a": None}) == {"a": None}
    assert min_max({}) == {}


def test_languages_differ_only_where_both_are_known() -> None:
    nodes = [TextNode(text, id_) for id_, (text, _) in PASSAGES.items()] + [TextNode("A-17; 12.5", "numbers")]
    assert in_other_languages(QUESTION, nodes) == {"other", "third"}
    assert in_other_languages("Halle 1871", nodes) == set()


@pytest.mark.parametrize(
    ("name", "multilingual"),
    [
        (f"{multilingual_e5.NAME}@1571fc982750 query='query: '", True),
        (multilingual_e5.ORIGINAL, True),
        ("sentence-transformers/all-MiniLM-L6-v2@53aa51172d14", False),
    ],
)
def test_which_embedders_are_multilingual(name: str, multilingual: bool) -> None:
    assert is_multilingual(name) == multilingual
