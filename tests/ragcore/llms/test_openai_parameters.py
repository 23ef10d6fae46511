"""Servers differ in the parameters they take; what one refuses by name is left out, and stays out."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel

from ragcore.errors import LLMServerError
from ragcore.llms.base import LLMCall
from ragcore.llms.ollama import Ollama
from ragcore.llms.openai import OpenAICompatibleLLM
from ragcore.prompts.wording import GENERATION, TEXT_QA
from tests.scripted_server import Fault, ScriptedServer, error

CALL = LLMCall(GENERATION, {"query_str": "Hello"})


def parameters(server: ScriptedServer) -> list[dict[str, object]]:
    return [
        {name: value for name, value in chat.body.items() if name not in ("model", "messages")}
        for chat in server.chats
    ]


def test_the_request_to_an_openai_compatible_server() -> None:
    with (
        ScriptedServer() as server,
        closing(OpenAICompatibleLLM("tiny", server.url, temperature=0.4, num_output=99)) as llm,
    ):
        llm.generate(CALL)
        list(llm.stream(CALL))
    assert (
        parameters(server)
        == [{"temperature": 0.4, "max_tokens": 99, "stream": True, "stream_options": {"include_usage": True}}]
        * 2
    )


def test_the_request_to_ollama_is_as_documented() -> None:
    with (
        ScriptedServer() as server,
        closing(Ollama("tiny", server.url, num_output=99, context_window=2048)) as llm,
    ):
        llm.generate(CALL)
    options = {"temperature": 0.1, "num_ctx": 2048, "num_predict": 99}
    assert parameters(server) == [{"stream": True, "keep_alive": "5m", "options": options}]


def test_ollama_gets_context_for_passages_and_time_to_load() -> None:
    with ScriptedServer() as server, closing(Ollama("tiny", server.url)) as llm:
        llm.generate(CALL)
    assert server.chats[0].body["options"] == {"temperature": 0.1, "num_ctx": 8192, "num_predict": 768}
    assert inspect.signature(Ollama).parameters["request_timeout"].default == 120


@pytest.mark.parametrize("kind", [OpenAICompatibleLLM, Ollama])
def test_all_requests_of_a_model_use_one_connection(kind: type[OpenAICompatibleLLM | Ollama]) -> None:
    with ScriptedServer() as server, closing(kind("tiny", server.url)) as llm:
        llm.generate(CALL)
        llm.list_models()
        list(llm.stream(CALL))
        list(llm.stream(CALL))
        llm.generate(CALL)
    assert len(server.chats) == 4
    assert len({request.connection for request in server.requests}) == 1


@pytest.mark.parametrize("kind", [OpenAICompatibleLLM, Ollama])
@pytest.mark.timeout(20)
def test_answer_ends_with_its_last_word_despite_an_open_body(
    kind: type[OpenAICompatibleLLM | Ollama],
) -> None:
    with (
        ScriptedServer(lambda messages: "Hi there", always=Fault(open_end=True)) as server,
        closing(kind("tiny", server.url)) as llm,
    ):
        assert ["".join(llm.stream(CALL)) for _ in range(2)] == ["Hi there"] * 2
    assert len({request.connection for request in server.requests}) == 2


@pytest.mark.parametrize(
    ("refused", "left"),
    [
        (("max_tokens",), {"temperature", "max_completion_tokens", "stream", "stream_options"}),
        (("temperature",), {"max_tokens", "stream", "stream_options"}),
        (("stream_options",), {"temperature", "max_tokens", "stream"}),
        (("max_tokens", "temperature", "stream_options"), {"max_completion_tokens", "stream"}),
        (
            ("stream",),
            {"temperature", "max_tokens"},
        ),  # as OpenAI's is, for models that an account must be verified for
    ],
)
def test_refused_parameter_is_dropped_or_renamed_from_then_on(
    refused: tuple[str, ...], left: set[str]
) -> None:
    with (
        ScriptedServer(lambda messages: "Hi there", always=Fault(rejects=refused)) as server,
        closing(OpenAICompatibleLLM("tiny", server.url)) as llm,
    ):
        assert "".join(llm.stream(CALL)) == "Hi there"
        assert len(server.chats) == len(refused) + 1
        assert "".join(llm.stream(CALL)) == "Hi there"
        assert llm.generate(CALL).text == "Hi there"
        assert len(server.chats) == len(refused) + 3
    assert set(parameters(server)[-2]) == left


@pytest.mark.parametrize(
    ("message", "requests"),
    [
        ("temperature is too high", 1),
        ("max_tokens must not be over 10", 1),
        ("Unsupported: max_tokens. Use max_completion_tokens instead", 3),
        ("unknown: temperature, max_tokens, max_completion_tokens, stream_options", 3),
    ],
)
def test_a_server_that_always_refuses_is_not_retried_forever(message: str, requests: int) -> None:
    with (
        ScriptedServer(always=error(400, message)) as server,
        closing(OpenAICompatibleLLM("tiny", server.url)) as llm,
    ):
        with pytest.raises(LLMServerError, match="refused the request"):
            list(llm.stream(CALL))
        assert len(server.chats) == requests


def test_refused_stop_sequences_are_dropped_from_then_on() -> None:
    call = LLMCall(TEXT_QA, {"context_str": (), "query_str": "Who?"})
    with (
        ScriptedServer(lambda messages: "Hi there", always=Fault(rejects=("stop",))) as server,
        closing(OpenAICompatibleLLM("tiny", server.url)) as llm,
    ):
        assert [llm.generate(call).text for _ in range(2)] == ["Hi there"] * 2
    assert ["stop" in request.body for request in server.chats] == [True, False, False]


SCHEMA = {"type": "object", "properties": {"choice": {"type": "integer"}}, "required": ["choice"]}


def sent_schema(body: Mapping[str, Any]) -> Any:
    return body.get("format") or body.get("response_format", {}).get("json_schema", {}).get("schema")


@pytest.mark.parametrize("kind", [OpenAICompatibleLLM, Ollama])
def test_schema_is_sent_and_a_refused_one_dropped_from_then_on(
    kind: type[OpenAICompatibleLLM | Ollama],
) -> None:
    call = replace(CALL, schema=SCHEMA)
    for rejects in ((), ("response_format", "format")):
        with (
            ScriptedServer(lambda messages: "{}", always=Fault(rejects=rejects)) as server,
            closing(kind("tiny", server.url)) as llm,
        ):
            assert [llm.generate(call).text for _ in range(2)] == ["{}", "{}"]
        sent = [sent_schema(request.body) for request in server.chats]
        assert sent == ([SCHEMA, None, None] if rejects else [SCHEMA, SCHEMA])


def test_a_server_that_fails_at_a_schema_is_retried_without_it() -> None:
    with (
        ScriptedServer(lambda messages: "{}", faults=[error(500, "json_schema is not supported")]) as server,
        closing(OpenAICompatibleLLM("tiny", server.url)) as llm,
    ):
        assert llm.generate(replace(CALL, schema=SCHEMA)).text == "{}"
    assert [sent_schema(request.body) for request in server.chats] == [SCHEMA, None]


class Choice(BaseModel):
    choice: int


def test_pydantic_answer_is_requested_by_its_schema() -> None:
    with (
        ScriptedServer(lambda messages: '{"choice": 1}') as server,
        closing(OpenAICompatibleLLM("tiny", server.url)) as llm,
    ):
        assert llm.structured_predict(Choice, GENERATION, query_str="Which?") == Choice(choice=1)
    assert sent_schema(server.chats[0].body) == Choice.model_json_schema()
