"""The nearest rows of more than are multiplied at one go, against a product in float64; which words are
looked for."""

from __future__ import annotations

import numpy as np
import pytest

from ragcore.vector_stores.search import BLOCK_BYTES, nearest, query_terms

WIDTH = 2048
ROWS = 3 * BLOCK_BYTES // (4 * WIDTH) + 17  # three blocks, and a bit


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    """Unit rows, each of 40 directions many times, the last block nearer to all queries than the first."""
    rng = np.random.default_rng(7)
    directions = (
        rng.normal(size=(40, WIDTH)).astype(np.float32) + np.linspace(0, 0.5, 40, dtype=np.float32)[:, None]
    )
    found = directions[np.sort(rng.integers(0, 40, ROWS))]
    return found / np.linalg.norm(found, axis=1, keepdims=True)


@pytest.mark.smoke
@pytest.mark.parametrize("k", [1, 10, 500, ROWS + 1])
@pytest.mark.parametrize("share", [None, 0.7, 0.01, 0.0])
@pytest.mark.parametrize("sign", [1, -1])  # the nearest stand in the last block, or in the first
def test_the_nearest_of_several_blocks_are_those_of_brute_force(
    rows: np.ndarray, k: int, share: float | None, sign: int
) -> None:
    rng = np.random.default_rng(k)
    query = sign * (rng.normal(size=WIDTH) + 0.5)
    query = (query / np.linalg.norm(query)).astype(np.float32)
    chosen = None if share is None else rng.random(ROWS) < share
    places = np.arange(ROWS) if chosen is None else np.flatnonzero(chosen)
    cosines = np.round(rows @ query.astype(np.float64), 6)[places]
    expected = np.argsort(-cosines, kind="stable")[:k]
    found, scores = nearest(rows, query, k, chosen)
    np.testing.assert_array_equal(found, places[expected])
    np.testing.assert_allclose(scores, cosines[expected], atol=2e-6)


def test_query_terms_are_the_content_words_or_all_if_none() -> None:
    assert query_terms("Who built the tower? Who?") == ["build", "tower"]
    assert query_terms("Who is the author?") == ["author"]
    assert query_terms("who is it") == ["who", "is", "it"]  # it has no others
