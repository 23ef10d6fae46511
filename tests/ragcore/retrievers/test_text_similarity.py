from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.retrievers.text_similarity import Nearest
from ragcore.schema import QueryBundle

TEXTS = ["cats and dogs", "ships and sails", "dogs bark", "cats and dogs"]


class Counting(HashEmbedding):
    def __init__(self) -> None:
        super().__init__(32)
        self.given: list[str] = []

    def embed_passages(self, texts: Sequence[str]) -> Any:
        self.given += texts
        return super().embed_passages(texts)


def test_nearest_match_brute_force_with_ties_in_order() -> None:
    embedder = HashEmbedding(32)
    asked = embedder.embed_query("Do dogs bark?")
    cosines = [float(embedder.embed_query(text) @ asked) for text in TEXTS]
    expected = sorted(range(4), key=lambda place: -cosines[place])[:3]
    best = Nearest(embedder).best(QueryBundle("Do dogs bark?"), TEXTS, 3)
    assert [place for place, _ in best] == expected
    assert [cosine for _, cosine in best] == pytest.approx([cosines[place] for place in expected], abs=1e-6)
    assert Nearest(embedder).best(QueryBundle("x"), TEXTS, 0) == []
    assert Nearest(embedder).cosines(QueryBundle("x"), []) == []


def test_each_text_is_embedded_once() -> None:
    embedder = Counting()
    nearest = Nearest(embedder)
    for _ in range(2):
        nearest.cosines(QueryBundle("", embedding=np.ones(32, np.float32)), TEXTS)
    assert embedder.given == TEXTS[:3]


def test_a_vector_of_any_length_gives_cosines() -> None:
    vector = HashEmbedding(32).embed_query("dogs")
    near = Nearest(HashEmbedding(32))
    once, thrice = (near.cosines(QueryBundle("", embedding=factor * vector), TEXTS) for factor in (1, 3))
    assert thrice == pytest.approx(once)
    assert near.cosines(QueryBundle("", embedding=0 * vector), TEXTS) == [0, 0, 0, 0]
