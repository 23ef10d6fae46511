"""Embedding models behind servers: what is asked, in which order rows come back, long texts, and what goes
wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import numpy as np
import pytest

from ragcore.embeddings.ollama import OllamaEmbedding
from ragcore.embeddings.openai import OpenAIEmbedding
from ragcore.embeddings.server_embedding import ServedEmbedding
from ragcore.errors import (
    EmbeddingError,
    LLMAuthError,
    LLMProtocolError,
    LLMServerError,
    LLMUnavailableError,
    RateLimitError,
    UnknownModelError,
)
from ragcore.observe import span
from tests.scripted_server import Fault, ScriptedServer, error, vector

Open = Callable[..., ServedEmbedding]
TEXTS = ["the heron stands", "rates rise", "a ferry", "tide", ""]


def unit(text: str, dimension: int = 16) -> np.ndarray:
    row = np.array(vector(text, dimension))
    return row / np.linalg.norm(row)


def open_openai(url: str, model: str = "tiny", **options: object) -> ServedEmbedding:
    return OpenAIEmbedding(model, api_base=url, sleep=lambda seconds: None, **options)


def open_ollama(url: str, model: str = "tiny", **options: object) -> ServedEmbedding:
    return OllamaEmbedding(model, url, sleep=lambda seconds: None, **options)


@pytest.fixture(params=[open_openai, open_ollama], ids=["openai", "ollama"])
def opened(request: pytest.FixtureRequest) -> Open:
    return request.param


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


@pytest.mark.smoke
def test_texts_go_out_in_batches_and_rows_come_back_in_order(opened: Open, server: ScriptedServer) -> None:
    with closing(opened(server.url, embed_batch_size=2)) as embedder:
        rows = embedder.embed_passages(TEXTS)
    assert [request.body["input"] for request in server.requests] == [TEXTS[:2], TEXTS[2:4], [" "]]
    assert rows == pytest.approx(np.array([unit(text) for text in TEXTS]), abs=1e-6)


def test_the_trace_names_who_runs_the_model(server: ScriptedServer) -> None:
    for opened, provider in ((open_openai, "openai"), (open_ollama, "ollama")):
        with closing(opened(server.url)) as embedder, span("query") as root:
            embedder.embed_query("heron")
        (step,) = root.spans("embed")
        assert (step.facts["model"], step.facts["provider"]) == ("tiny", provider)


def test_rows_are_sorted_by_their_index() -> None:
    with ScriptedServer(always=Fault(shuffled=True)) as server, closing(open_openai(server.url)) as embedder:
        assert embedder.embed_passages(TEXTS) == pytest.approx(
            np.array([unit(text) for text in TEXTS]), abs=1e-6
        )


def test_the_request_to_openai_is_as_documented(server: ScriptedServer) -> None:
    with closing(OpenAIEmbedding("tiny", api_base=server.url, api_key="sk-1", dimensions=8)) as embedder:
        assert embedder.dimension == 8
        assert embedder.embed_query("heron") == pytest.approx(unit("heron", 8), abs=1e-6)
        assert embedder.name == "tiny dimensions=8"
    (request,) = server.requests
    assert (request.path, request.headers["authorization"]) == ("/v1/embeddings", "Bearer sk-1")
    assert request.body == {"model": "tiny", "input": ["heron"], "encoding_format": "float", "dimensions": 8}


def test_the_request_to_ollama_is_as_documented(server: ScriptedServer) -> None:
    with closing(OllamaEmbedding("tiny", f"{server.url}/api/embed")) as embedder:
        embedder.embed_query("heron")
    (request,) = server.requests
    assert request.path == "/api/embed"
    assert request.body == {"model": "tiny", "input": ["heron"], "truncate": False, "keep_alive": "5m"}


def test_the_length_of_a_known_models_vectors_needs_no_server() -> None:
    assert OpenAIEmbedding("text-embedding-3-large", api_key="sk").dimension == 3072
    assert OpenAIEmbedding(model_name="text-embedding-3-large", api_key="sk").name == "text-embedding-3-large"


def test_an_unknown_dimension_is_requested_once(opened: Open, server: ScriptedServer) -> None:
    with closing(opened(server.url)) as embedder:
        assert (embedder.dimension, embedder.dimension) == (16, 16)
        assert embedder.embed_passages([]).shape == (0, 16)
    assert len(server.requests) == 1


def test_a_long_text_is_embedded_in_windows_of_whole_words(opened: Open, server: ScriptedServer) -> None:
    text = " ".join(f"word{number}" for number in range(60))
    with closing(opened(server.url, window=100)) as embedder:
        row = embedder.embed_passages(["heron", text])[1]
    _, *windows = server.requests[0].body["input"]
    assert " ".join(window.strip() for window in windows).split() == text.split()
    assert max(map(len, windows)) <= 100
    mean = np.mean([unit(window) for window in windows], axis=0)
    assert row == pytest.approx(mean / np.linalg.norm(mean), abs=1e-6)


def test_text_too_long_for_the_server_is_sent_in_smaller_windows(opened: Open) -> None:
    text = "word " * 300
    with ScriptedServer(always=Fault(longest=500)) as server, closing(opened(server.url)) as embedder:
        assert np.linalg.norm(embedder.embed_query(text)) == pytest.approx(1, abs=1e-5)
        asked = len(server.requests)
        assert all(len(part) <= 500 for part in server.requests[-1].body["input"])
        embedder.embed_query(text)
        assert len(server.requests) == asked + 1  # it has learnt


def test_a_server_that_finds_everything_too_long_is_an_error(opened: Open) -> None:
    with (
        ScriptedServer(always=Fault(longest=3)) as server,
        closing(opened(server.url)) as embedder,
        pytest.raises(EmbeddingError, match="too long"),
    ):
        embedder.embed_query("heron")


def test_too_many_requests_are_retried(opened: Open) -> None:
    naps: list[float] = []
    busy = error(429, "Rate limit reached", headers={"Retry-After": "3"})
    with ScriptedServer(faults=[busy, busy]) as server:
        kind = OpenAIEmbedding if opened is open_openai else OllamaEmbedding
        address = {"api_base": server.url} if opened is open_openai else {"base_url": server.url}
        with closing(kind("tiny", **address, sleep=naps.append)) as embedder:
            assert embedder.embed_query("heron") == pytest.approx(unit("heron"), abs=1e-6)
        assert naps == [3.0, 3.0]
        server.always = busy
        with closing(opened(server.url)) as embedder, pytest.raises(RateLimitError):
            embedder.embed_query("heron")


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        (error(401, "Incorrect API key"), LLMAuthError, "requires a key"),
        (error(500, "out of memory"), LLMServerError, "out of memory"),
        (Fault(missing=1), LLMProtocolError, "4 vectors for 5 texts"),
        (Fault(missing=5), LLMProtocolError, "not an answer|0 vectors"),
        (Fault(200, "{}"), LLMProtocolError, "not an answer|0 vectors"),
        (
            Fault(200, '{"data": [{"embedding": "AAAA"}], "embeddings": ["AAAA"]}'),
            LLMProtocolError,
            "not an answer",
        ),
        (
            Fault(200, '{"data": [{"embedding": [0, 0]}], "embeddings": [[0, 0]]}'),
            LLMProtocolError,
            "1 vectors for 5 texts",
        ),
        (Fault(200, '{"error": "it crashed"}'), LLMServerError, "it crashed"),
    ],
)
def test_failures_of_servers_are_reported(
    opened: Open, fault: Fault, kind: type[Exception], words: str
) -> None:
    with (
        ScriptedServer(always=fault) as server,
        closing(opened(server.url)) as embedder,
        pytest.raises(kind, match=words),
    ):
        embedder.embed_passages(TEXTS)


def test_a_vector_of_nothing_is_no_vector(opened: Open) -> None:
    zeros = Fault(200, '{"data": [{"embedding": [0, 0]}], "embeddings": [[0, 0]]}')
    with (
        ScriptedServer(always=zeros) as server,
        closing(opened(server.url)) as embedder,
        pytest.raises(LLMProtocolError),
    ):
        embedder.embed_query("heron")


def test_vectors_of_another_length_are_refused(opened: Open) -> None:
    with (
        ScriptedServer(faults=[Fault(), Fault(dimension=5)]) as server,
        closing(opened(server.url)) as embedder,
    ):
        embedder.embed_query("heron")
        with pytest.raises(EmbeddingError, match="5 numbers, not 16"):
            embedder.embed_query("heron")


def test_nobody_there_and_no_such_model(opened: Open, server: ScriptedServer) -> None:
    with closing(opened("http://127.0.0.1:9")) as embedder, pytest.raises(LLMUnavailableError):
        embedder.embed_query("heron")
    with closing(opened(server.url, "huge")) as embedder, pytest.raises(UnknownModelError, match="'huge'"):
        embedder.embed_query("heron")


def test_openai_itself_wants_a_key() -> None:
    with pytest.raises(LLMAuthError, match="requires a key"):
        OpenAIEmbedding()


@pytest.mark.parametrize("wrong", [{"embed_batch_size": 0}, {"window": 5}])
def test_sizes_that_make_no_sense_are_refused(opened: Open, wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must be at least"):
        opened("localhost:1", **wrong)
