from __future__ import annotations

import numpy as np
import pytest

from ragcore.embeddings import multilingual_e5
from ragcore.embeddings.base import TokenEmbedder
from ragcore.embeddings.huggingface import HuggingFaceEmbedding
from ragcore.observe import span
from tests.multilingual import needs_multilingual_e5

TEXTS = ["word " * 400, "The Lisbon office opened in 1998.", "", "  Rain. "]


def test_rows_equal_passage_vectors_and_tokens_have_their_places() -> None:
    embedder = HuggingFaceEmbedding()
    assert isinstance(embedder, TokenEmbedder)
    with span("query") as root:
        found = embedder.embed_tokens(TEXTS)
    assert [step.facts["provider"] for step in root.spans("embed")] == ["ragcore"]
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
    found = HuggingFaceEmbedding().embed_tokens(
        ["The physician arrived.", "The doctor came.", "The glacier melted."]
    )
    assert found is not None
    physician, doctor, glacier = (each.rows[1] for each in found[1])
    assert physician @ doctor > physician @ glacier + 0.2


def test_static_tokens_have_the_same_places_in_any_context() -> None:
    embedder = HuggingFaceEmbedding()
    alone, within = embedder.static_tokens(["office", TEXTS[1]]) or []
    in_context = embedder.embed_tokens([TEXTS[1]])
    assert in_context is not None
    assert within.places == in_context[1][0].places
    assert within.rows[2] == pytest.approx(alone.rows[0], abs=1e-6)
    assert np.linalg.norm(within.rows, axis=1) == pytest.approx(np.ones(len(within.places)), abs=1e-5)
    assert embedder.static_tokens([]) == []
    assert HuggingFaceEmbedding("someone/else").static_tokens(TEXTS) is None


@needs_multilingual_e5
def test_multilingual_words_exclude_the_instruction() -> None:
    embedder = HuggingFaceEmbedding(multilingual_e5.NAME)
    texts = ["Die Kaution beträgt 900 €.", ""]
    found = embedder.embed_tokens(texts)
    assert found is not None
    rows, (german, empty) = found
    assert rows == pytest.approx(embedder.embed_passages(texts), abs=1e-3)
    assert (german.text, empty.places) == (texts[0], [])
    said = [german.text[start:end] for start, end in german.places]
    assert said[0] == "Die"
    assert len(german.rows) == len(said)
    (alone,) = embedder.static_tokens(["Die Kaution"]) or []
    assert alone.text == "Die Kaution"


def test_only_unchanged_bundled_models_return_tokens() -> None:
    assert HuggingFaceEmbedding("someone/else").embed_tokens(TEXTS) is None
    assert HuggingFaceEmbedding(query_instruction="query: ").embed_tokens(TEXTS) is None
    assert HuggingFaceEmbedding(multilingual_e5.NAME, text_instruction="").embed_tokens(TEXTS) is None
