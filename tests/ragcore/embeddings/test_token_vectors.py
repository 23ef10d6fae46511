from __future__ import annotations

import numpy as np
import pytest

from ragcore.embeddings.base import TokenEmbedder
from ragcore.embeddings.huggingface import HuggingFaceEmbedding
from ragcore.observe import span

TEXTS = ["word " * 400, "The Lisbon office opened in 1998.", "", "  Rain. "]


def test_the_rows_are_those_of_passages_and_the_tokens_stand_where_they_say() -> None:
    embedder = HuggingFaceEmbedding()
    assert isinstance(embedder, TokenEmbedder)
    with span("query") as root:
        found = embedder.embed_tokens(TEXTS)
    assert [step.facts["provider"] for step in root.named("embed")] == ["ragcore"]
    assert found is not None
    rows, tokens = found
    assert rows == pytest.approx(embedder.embed_passages(TEXTS), abs=1e-5)
    said = [[each.text[start:end].lower() for start, end in each.places] for each in tokens]
    assert said[1:] == [["the", "lisbon", "office", "opened", "in", "1998", "."], [], ["rain", "."]]
    assert 200 <= len(said[0]) < 256  # its first window
    for text, each in zip(TEXTS, tokens, strict=True):
        assert each.rows.shape == (len(each.places), embedder.dimension)
        assert np.linalg.norm(each.rows, axis=1) == pytest.approx(np.ones(len(each.places)), abs=1e-5)
        alone = embedder.embed_tokens([text])
        assert alone is not None
        assert each.rows == pytest.approx(alone[1][0].rows, abs=1e-5)


def test_a_word_lies_nearer_to_one_that_means_the_same() -> None:
    found = HuggingFaceEmbedding().embed_tokens(["The physician arrived.", "The doctor came.", "The glacier melted."])
    assert found is not None
    physician, doctor, glacier = (each.rows[1] for each in found[1])
    assert physician @ doctor > physician @ glacier + 0.2


def test_tokens_are_told_of_the_bundled_model_alone() -> None:
    assert HuggingFaceEmbedding("someone/else").embed_tokens(TEXTS) is None
    assert HuggingFaceEmbedding(query_instruction="query: ").embed_tokens(TEXTS) is None
