"""Defects of model clients, embeddings and streams that this library must not have."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest

from ragcore.embeddings.ollama import OllamaEmbedding
from ragcore.embeddings.openai import OpenAIEmbedding
from ragcore.embeddings.server_embedding import ServedEmbedding
from ragcore.llms.ollama import Ollama
from ragcore.llms.openai import OpenAICompatibleLLM
from ragcore.llms.server_llm import ServedLLM
from tests.scripted_server import Fault, ScriptedServer


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


@pytest.mark.parametrize("provider", ["openai", "ollama"])
def test_d9_several_questions_are_one_request(server: ScriptedServer, provider: str) -> None:
    questions = ["Where do herons stand?", "Who raised rates?", "When does it leave?"]
    embedder: ServedEmbedding = (
        OpenAIEmbedding("tiny", api_base=server.url)
        if provider == "openai"
        else OllamaEmbedding("tiny", server.url)
    )
    with closing(embedder):
        mean = embedder.get_agg_embedding_from_queries(questions)
        assert [request.body["input"] for request in server.requests] == [questions]
        assert mean == pytest.approx(
            np.mean([embedder.embed_query(question) for question in questions], axis=0), abs=1e-6
        )


@pytest.mark.parametrize("provider", ["openai", "ollama"])
def test_d35_a_stream_that_waits_uses_no_processor_time(provider: str) -> None:
    with ScriptedServer(lambda messages: "one two", always=Fault(silent_after=1)) as server:
        llm: ServedLLM = (
            OpenAICompatibleLLM("tiny", server.url) if provider == "openai" else Ollama("tiny", server.url)
        )

        async def read_and_wait() -> float:
            pieces = await llm.astream_complete("Hello")
            assert (await anext(pieces)).delta == "one"
            waiting = asyncio.ensure_future(anext(pieces))
            await asyncio.sleep(0.05)
            threads = {thread.ident for thread in threading.enumerate()}
            before = time.process_time()
            await asyncio.sleep(0.5)
            spent = time.process_time() - before
            assert {thread.ident for thread in threading.enumerate()} == threads
            server.stopping.set()  # the connection ends, and with it the wait
            await asyncio.gather(waiting, return_exceptions=True)
            return spent

        with closing(llm):
            spent = asyncio.run(read_and_wait())
    # The scripted server itself looks a hundred times a second whether its client is still there.
    assert spent < 0.05
