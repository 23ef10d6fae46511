"""Nearness of vectors, against arithmetic done in other ways."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.embeddings.similarity import SimilarityMode, similarity

numbers = st.floats(-1e3, 1e3, allow_nan=False, width=32)
pairs = st.integers(1, 8).flatmap(
    lambda n: st.tuples(st.lists(numbers, min_size=n, max_size=n), st.lists(numbers, min_size=n, max_size=n))
)


def test_the_three_modes_on_vectors_that_can_be_checked_by_hand() -> None:
    a, b = [3.0, 4.0], [4.0, 3.0]
    assert similarity(a, b) == pytest.approx(24 / 25)
    assert similarity(a, b, "dot_product") == pytest.approx(24)
    assert similarity(a, b, SimilarityMode.EUCLIDEAN) == pytest.approx(-math.sqrt(2))


@pytest.mark.parametrize("other", [[0.0, 0.0], [1.0, 2.0]])
def test_the_cosine_with_a_vector_of_zeros_is_zero(other: list[float]) -> None:
    assert similarity([0.0, 0.0], other) == 0.0


def test_tiny_vectors_have_a_cosine_too() -> None:
    tiny = np.array([1e-30, 0.0], np.float32)
    assert similarity(tiny, tiny) == pytest.approx(1)


@given(pairs)
def test_all_modes_agree_with_plain_arithmetic(pair: tuple[list[float], list[float]]) -> None:
    a, b = pair
    dot = math.fsum(x * y for x, y in zip(a, b, strict=True))
    assert similarity(a, b, "dot_product") == pytest.approx(dot, rel=1e-9, abs=1e-6)
    assert similarity(a, b, "euclidean") == pytest.approx(-math.dist(a, b), rel=1e-9, abs=1e-9)
    cosine = similarity(a, b)
    assert -1.0000001 <= cosine <= 1.0000001
    lengths = math.hypot(*a), math.hypot(*b)
    if min(lengths) > 1e-3:
        assert cosine == pytest.approx(dot / (lengths[0] * lengths[1]), abs=1e-9)


def test_vectors_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="2 and 3"):
        similarity([1.0, 2.0], [1.0, 2.0, 3.0])


def test_an_embedder_offers_it_too() -> None:
    embedder = HashEmbedding()
    assert embedder.similarity([1.0, 0.0], [0.0, 1.0], "euclidean") == pytest.approx(-math.sqrt(2))
