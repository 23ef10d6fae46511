"""What every embedder promises, held against the bundled model, the hashing one and those behind servers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from ragcore.embeddings import bundled_model, multilingual_e5
from ragcore.embeddings.base import BaseEmbedding, embed_nodes, groups_by_length
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.embeddings.huggingface import HuggingFaceEmbedding
from ragcore.embeddings.ollama import OllamaEmbedding
from ragcore.embeddings.openai import OpenAIEmbedding
from ragcore.errors import EmbeddingError
from ragcore.observe import span
from ragcore.schema import Document, TextNode
from tests.multilingual import MISSING
from tests.scripted_server import ScriptedServer

TEXTS = [
    "The heron stood in the shallow water.",
    "",
    "Interest rates rose by a quarter of a point. " * 4,
    "Ein Reiher steht am Ufer.",
    "heron",
    "漢字とかな 😀",
]
LONG = " ".join(f"Item {number} is a ledger entry about freight." for number in range(60))  # some 600 tokens


@pytest.fixture(scope="module", params=["bundled", "multilingual", "hashing", "openai", "ollama"])
def embedder(request: pytest.FixtureRequest) -> Iterator[BaseEmbedding]:
    with ScriptedServer(dimension=256) as server:
        if request.param == "openai":
            yield OpenAIEmbedding("tiny", api_base=server.url, window=200, embed_batch_size=3)
        elif request.param == "ollama":
            yield OllamaEmbedding("tiny", server.url, window=200, embed_batch_size=3)
        elif request.param == "multilingual":
            if not multilingual_e5.is_installed():
                pytest.skip(MISSING)
            yield HuggingFaceEmbedding(multilingual_e5.NAME)
        else:
            yield HuggingFaceEmbedding() if request.param == "bundled" else HashEmbedding()


def rounding(embedder: BaseEmbedding) -> float:
    """How far the numbers of the same text may lie apart: bfloat16 has 8 bits."""
    return 3e-3 if embedder.name.startswith(multilingual_e5.NAME) else 1e-5


def test_rows_are_unit_float32_vectors_lying_one_after_the_other(embedder: BaseEmbedding) -> None:
    rows = embedder.embed_passages(TEXTS)
    assert rows.shape == (len(TEXTS), embedder.dimension)
    assert rows.dtype == np.float32
    assert rows.flags.c_contiguous
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-5)


def test_a_query_is_one_unit_vector(embedder: BaseEmbedding) -> None:
    row = embedder.embed_query("Where do herons stand?")
    assert row.shape == (embedder.dimension,)
    assert row.dtype == np.float32
    assert float(np.linalg.norm(row)) == pytest.approx(1, abs=1e-5)


def test_no_texts_give_no_rows(embedder: BaseEmbedding) -> None:
    assert embedder.embed_passages([]).shape == (0, embedder.dimension)


def test_each_row_depends_only_on_its_own_text(embedder: BaseEmbedding) -> None:
    texts = [*TEXTS, LONG, "last"]
    together = embedder.embed_passages(texts)
    for text, row in zip(texts, together, strict=True):
        assert embedder.embed_passages([text])[0] == pytest.approx(row, abs=rounding(embedder))


def test_text_after_300_tokens_counts(embedder: BaseEmbedding) -> None:
    plain, zebra = embedder.embed_passages([LONG, f"{LONG} Then a zebra ate every submarine in Norway."])
    assert float(plain @ zebra) < 0.9999


def test_the_order_of_words_far_apart_does_not_hide_them(embedder: BaseEmbedding) -> None:
    """The middle of a long text is found by a question about it better than by a question about something
    else."""
    text = f"{LONG} The heron is a wading bird of the marshes. {LONG}"
    plain, marsh = embedder.embed_passages([f"{LONG} {LONG}", text])
    asked = embedder.embed_query("heron wading bird of the marshes")
    assert float(asked @ marsh) > float(asked @ plain)


def test_the_same_text_gives_the_same_numbers(embedder: BaseEmbedding) -> None:
    assert np.array_equal(embedder.embed_passages(TEXTS), embedder.embed_passages(TEXTS))


def test_eight_threads_get_what_one_gets(embedder: BaseEmbedding) -> None:
    expected = embedder.embed_passages(TEXTS)
    asked = embedder.embed_query(TEXTS[0])
    found: list[float] = []

    def work() -> None:
        for _ in range(3):
            worst = np.abs(embedder.embed_passages(TEXTS) - expected).max()
            found.append(max(float(worst), float(np.abs(embedder.embed_query(TEXTS[0]) - asked).max())))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 24
    assert max(found) < 1e-5


def test_related_texts_are_nearer_than_unrelated_ones(embedder: BaseEmbedding) -> None:
    heron, rates = embedder.embed_passages([TEXTS[0], TEXTS[2]])
    asked = embedder.embed_query("a heron in water")
    assert float(asked @ heron) > float(asked @ rates) + (
        0.1 if embedder.name.startswith(multilingual_e5.NAME) else 0.2
    )


def test_half_a_surrogate_pair_does_not_stop_it(embedder: BaseEmbedding) -> None:
    assert np.isfinite(embedder.embed_passages(["broken \ud83d emoji"])).all()


def test_the_other_names_give_the_same_vectors(embedder: BaseEmbedding) -> None:
    rows = embedder.embed_passages(TEXTS)
    assert np.array_equal(embedder.get_text_embedding_batch(TEXTS, show_progress=True), rows)
    assert embedder.get_text_embedding(TEXTS[0]) == pytest.approx(rows[0], abs=rounding(embedder))
    assert np.array_equal(embedder.get_query_embedding("herons"), embedder.embed_query("herons"))
    assert asyncio.run(embedder.aget_text_embedding_batch(TEXTS)) == pytest.approx(rows, abs=1e-6)
    assert asyncio.run(embedder.aget_query_embedding("herons")) == pytest.approx(
        embedder.embed_query("herons"), abs=1e-6
    )


def test_several_questions_give_the_mean_of_their_vectors(embedder: BaseEmbedding) -> None:
    questions = ["Where do herons stand?", "Who raised the rates?", ""]
    rows = [embedder.embed_query(question) for question in questions]
    assert embedder.get_agg_embedding_from_queries(questions) == pytest.approx(
        np.mean(rows, axis=0), abs=rounding(embedder)
    )
    highest = embedder.get_agg_embedding_from_queries(questions, lambda rows: rows.max(axis=0))
    assert highest == pytest.approx(np.max(rows, axis=0), abs=rounding(embedder))
    with pytest.raises(ValueError, match="no queries"):
        embedder.get_agg_embedding_from_queries([])


def test_each_call_is_a_step_of_the_trace(embedder: BaseEmbedding) -> None:
    with span("query") as root:
        embedder.embed_passages(["one two", "three"])
        embedder.embed_query("one")
    passages, query = root.spans("embed")
    facts = {"model": embedder.name, "dimension": embedder.dimension}
    assert {**facts, "count": 2, "query": False}.items() <= passages.facts.items()
    assert {**facts, "count": 1, "query": True}.items() <= query.facts.items()
    if not isinstance(embedder, HashEmbedding):  # which has no tokens
        # "passage:" is two tokens before each text, and "query:" three.
        prefixes = (4, 7) if embedder.name.startswith(multilingual_e5.NAME) else (0, 0)
        assert passages.facts["tokens"] == 3 + prefixes[0]
        assert root.total_tokens().embedding == 4 + prefixes[1]


def test_as_a_pipeline_step_it_embeds_nodes_without_vectors(embedder: BaseEmbedding) -> None:
    ready = TextNode("ready", embedding=embedder.embed_query("something else"))
    told = TextNode("heron", metadata={"kind": "bird", "page": 7}, excluded_embed_metadata_keys=("page",))
    kept, embedded = embedder([ready, told])
    assert kept is ready
    assert embedded.embedding == pytest.approx(
        embedder.embed_passages(["kind: bird\n\nheron"])[0], abs=rounding(embedder)
    )
    assert told.embedding is None
    assert {id_: list(vector) for id_, vector in embed_nodes([kept, embedded], embedder).items()} == {
        ready.id_: list(ready.embedding),
        told.id_: list(embedded.embedding),
    }
    with pytest.raises(ValueError, match="splitter"):
        embedder([Document("whole")])


def test_bundled_vectors_equal_those_of_sentence_transformers() -> None:
    from sentence_transformers import SentenceTransformer

    reference = SentenceTransformer(str(bundled_model.model_folder()), local_files_only=True)
    expected = reference.encode(TEXTS, normalize_embeddings=True, show_progress_bar=False)
    assert np.abs(HuggingFaceEmbedding().embed_passages(TEXTS) - expected).max() < 1e-5


def test_a_long_text_is_the_mean_of_windows_of_whole_words() -> None:
    words = [f"word{number}" for number in range(300)]
    small = HuggingFaceEmbedding(max_length=32)
    tokens = small._model._windows(" ".join(words))
    parts = [part for part, _ in tokens]
    assert len(parts) > 10
    assert " ".join(part.strip() for part in parts).split() == words
    mean = small.embed_passages(parts).mean(axis=0)
    assert small.embed_passages([" ".join(words)])[0] == pytest.approx(mean / np.linalg.norm(mean), abs=1e-5)
    assert max(length for _, length in small._model._windows("x" * 5000 + " " + " ".join(words))) <= 30


def test_instructions_precede_questions_and_texts() -> None:
    plain = HuggingFaceEmbedding()
    told = HuggingFaceEmbedding(query_instruction="query: ", text_instruction="passage: ")
    assert told.embed_query("herons") == pytest.approx(plain.embed_query("query: herons"), abs=1e-6)
    assert told.get_text_embedding("herons") == pytest.approx(
        plain.get_text_embedding("passage: herons"), abs=1e-6
    )
    assert HuggingFaceEmbedding("intfloat/e5-small-v2").query_instruction == "query: "
    assert told.name != plain.name


def test_vectors_of_other_lengths_are_not_to_be_had() -> None:
    assert HuggingFaceEmbedding(normalize=True).dimension == 384
    with pytest.raises(ValueError, match="length 1"):
        HuggingFaceEmbedding(normalize=False)


def test_name_and_dimension_are_known_before_the_model_is_loaded() -> None:
    embedder = HuggingFaceEmbedding()
    assert (embedder.dimension, embedder._loaded) == (384, None)
    assert embedder.name == "sentence-transformers/all-MiniLM-L6-v2@53aa51172d14"


def test_a_model_that_cannot_be_had_is_named() -> None:
    with pytest.raises(EmbeddingError, match="'nobody/no-such-model'") as caught:
        HuggingFaceEmbedding("nobody/no-such-model").embed_query("x")
    assert "built-in model" in caught.value.hint


def test_a_folder_that_holds_no_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match=tmp_path.name):
        HuggingFaceEmbedding(str(tmp_path)).warm()


def test_changed_model_files_are_refused_and_good_ones_read_once(tmp_path: Path) -> None:
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(b"not the model")
    with pytest.raises(EmbeddingError, match=r"model\.safetensors is damaged"):
        bundled_model.check(weights, remember_in=tmp_path / "marks")
    with pytest.raises(EmbeddingError, match="cannot be read"):
        bundled_model.check(tmp_path / "gone", remember_in=tmp_path / "marks")
    assert not (tmp_path / "marks").exists()
    bundled_model.check(bundled_model.model_folder() / "model.safetensors", remember_in=tmp_path / "marks")
    assert len(list((tmp_path / "marks").iterdir())) == 1


def test_hashed_vectors_are_the_same_on_every_machine() -> None:
    # crc32(b"heron") is 0x7c824ba9: odd, so +1, at (0x7c824ba9 >> 1) % 16 = 4.
    expected = np.zeros(16, np.float32)
    expected[4] = 1
    assert np.array_equal(HashEmbedding(16).embed_query("the herons"), expected)


def test_batch_embedding_equals_single_embedding(embedder: BaseEmbedding) -> None:
    rows = np.zeros((len(TEXTS), embedder.dimension), np.float32)
    groups = list(groups_by_length(TEXTS, group_chars=60))
    for group in groups:
        rows[group] = embedder.embed_passages([TEXTS[index] for index in group])
    assert sorted(index for group in groups for index in group) == list(range(len(TEXTS)))
    assert rows == pytest.approx(embedder.embed_passages(TEXTS), abs=rounding(embedder))
    assert list(groups_by_length([])) == []


def test_batch_has_similar_lengths_and_stays_within_its_limit() -> None:
    texts = ["x" * (n * 37 % 100) for n in range(100)]  # every length from 0 to 99, mixed
    groups = [[len(texts[i]) for i in group] for group in groups_by_length(texts, group_chars=150)]
    assert [length for group in groups for length in group] == list(range(99, -1, -1))
    assert max(map(sum, groups)) <= 150
    assert all(sum(group) + following[0] > 150 for group, following in pairwise(groups))
    assert list(groups_by_length(["x" * 900], group_chars=10)) == [[0]]
