"""Traces as lines of JSON, and in OpenTelemetry's own memory with the names of its conventions."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as conventions
from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE
from opentelemetry.trace import SpanKind, StatusCode

from ragcore import observe, telemetry
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import LLMServerError, MissingPackageError
from ragcore.llms.base import Generation, LLMCall, Usage
from ragcore.llms.scripted import ScriptedLLM
from ragcore.llms.tool_call import ToolCall
from ragcore.observe import Span, span
from ragcore.prompts.wording import GENERATION, MESSAGES
from ragcore.schema import ChatMessage, MessageRole
from ragcore.telemetry import JsonLines, OpenTelemetry

TOOL = {"type": "function", "function": {"name": "add", "parameters": {}}}
HISTORY = (
    ChatMessage(MessageRole.USER, "a secret question"),
    ChatMessage(
        MessageRole.ASSISTANT, "", additional_kwargs={"tool_calls": [ToolCall.of("c0", "add", '{"a": 0}')]}
    ),
    ChatMessage(MessageRole.TOOL, "", name="add", additional_kwargs={"tool_call_id": "c0", "name": "add"}),
)
ASK = LLMCall(GENERATION, {"query_str": "a secret question"})


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def provider(exporter: InMemorySpanExporter) -> TracerProvider:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider


@pytest.fixture(params=[False, True], ids=["names", "texts"])
def texts(request: pytest.FixtureRequest, provider: TracerProvider) -> Iterator[bool]:
    remove = observe.add_listener(OpenTelemetry(provider, message_texts=request.param))
    yield request.param
    remove()


def sent(exporter: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    spans = exporter.get_finished_spans()
    assert len({span.name for span in spans}) == len(spans)
    return {span.name: span for span in spans}


def finish_reason(attributes: Mapping[str, Any]) -> str:
    (message,) = json.loads(attributes[conventions.GEN_AI_OUTPUT_MESSAGES])
    return message["finish_reason"]


def test_spans_are_nested_and_timed_as_in_the_trace(exporter: InMemorySpanExporter, texts: bool) -> None:
    with span("query", mode="compact") as root:
        with span("retrieve", retriever="vector", question="why") as retrieve:
            HashEmbedding(8).embed_query("why")
        ScriptedLLM(["Because."]).generate(ASK)
    found = sent(exporter)
    assert set(found) == {"query", "retrieval vector", "embeddings hash-8", "chat scripted"}
    parents = {name: other.parent and other.parent.span_id for name, other in found.items()}
    query, retrieval = (found[name].get_span_context().span_id for name in ("query", "retrieval vector"))
    assert parents == {
        "query": None,
        "retrieval vector": query,
        "embeddings hash-8": retrieval,
        "chat scripted": query,
    }
    assert len({other.get_span_context().trace_id for other in found.values()}) == 1
    for name, step in (("query", root), ("retrieval vector", retrieve)):
        assert found[name].start_time / 1e9 == pytest.approx(step.started, abs=1e-6)
        assert (found[name].end_time - found[name].start_time) / 1e9 == pytest.approx(step.seconds, abs=1e-6)
    assert found["query"].kind is SpanKind.INTERNAL
    assert found["chat scripted"].kind is found["embeddings hash-8"].kind is SpanKind.CLIENT
    assert found["retrieval vector"].kind is SpanKind.CLIENT
    assert found["query"].attributes["ragcore.mode"] == "compact"


def test_calls_have_the_attributes_of_the_conventions(exporter: InMemorySpanExporter, texts: bool) -> None:
    llm = ScriptedLLM([ToolCall.of("c1", "add", '{"a": 1}')], counts_words=True)
    usage = llm.generate(LLMCall(MESSAGES, {}, HISTORY, (TOOL,))).usage
    with span("tool", tool="add", arguments='{"a": 1}') as step:
        step.note(result="a secret result", is_error=True)
    HashEmbedding(8).embed_passages(["a secret question"])
    found = sent(exporter)
    chat, tool, embedding = (
        found[name].attributes for name in ("chat scripted", "execute_tool add", "embeddings hash-8")
    )
    assert chat[conventions.GEN_AI_OPERATION_NAME] == "chat"
    assert chat[conventions.GEN_AI_REQUEST_MODEL] == "scripted"
    assert chat[conventions.GEN_AI_PROVIDER_NAME] == "ragcore"
    assert chat[conventions.GEN_AI_USAGE_INPUT_TOKENS] == usage.prompt_tokens > 3
    assert chat[conventions.GEN_AI_USAGE_OUTPUT_TOKENS] == usage.completion_tokens
    assert chat[conventions.GEN_AI_RESPONSE_FINISH_REASONS] == ("tool_calls",)
    assert tool[conventions.GEN_AI_OPERATION_NAME] == "execute_tool"
    assert tool[conventions.GEN_AI_TOOL_NAME] == "add"
    assert tool[ERROR_TYPE] == "tool_error"
    assert embedding[conventions.GEN_AI_OPERATION_NAME] == "embeddings"
    assert embedding[conventions.GEN_AI_PROVIDER_NAME] == "ragcore"
    assert embedding[conventions.GEN_AI_EMBEDDINGS_DIMENSION_COUNT] == 8
    everything = json.dumps([dict(attributes) for attributes in (chat, tool, embedding)])
    assert ("secret" in everything) is texts
    if texts:
        assert json.loads(chat[conventions.GEN_AI_INPUT_MESSAGES]) == [
            {"role": "user", "parts": [{"type": "text", "content": "a secret question"}]},
            {
                "role": "assistant",
                "parts": [{"type": "tool_call", "id": "c0", "name": "add", "arguments": '{"a": 0}'}],
            },
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c0", "response": ""}]},
        ]
        called = {"type": "tool_call", "id": "c1", "name": "add", "arguments": '{"a": 1}'}
        said = {"role": "assistant", "parts": [called], "finish_reason": "tool_call"}
        assert json.loads(chat[conventions.GEN_AI_OUTPUT_MESSAGES]) == [said]
        assert tool[conventions.GEN_AI_TOOL_CALL_ARGUMENTS] == '{"a": 1}'
        assert tool[conventions.GEN_AI_TOOL_CALL_RESULT] == "a secret result"


def test_the_finish_reason_of_a_call_is_sent(exporter: InMemorySpanExporter, texts: bool) -> None:
    for said, name in (("short", "done"), ("a b c", "cut")):
        generation = Generation(said, Usage(1, 1), cut_short=name == "cut")
        ScriptedLLM([generation], model_name=name).generate(ASK)
    with pytest.raises(LLMServerError):
        list(
            ScriptedLLM(
                ["a b c"], model_name="broken", breaks_after=1, failure=LLMServerError("gone")
            ).stream(ASK)
        )
    told = {name: span.attributes for name, span in sent(exporter).items()}
    reasons = {
        name: attributes.get(conventions.GEN_AI_RESPONSE_FINISH_REASONS) for name, attributes in told.items()
    }
    assert reasons == {"chat done": ("stop",), "chat cut": ("length",), "chat broken": None}
    if texts:
        messages = {name: finish_reason(attributes) for name, attributes in told.items()}
        assert messages == {"chat done": "stop", "chat cut": "length", "chat broken": "error"}


def test_token_usage_is_recorded_on_the_model_span_only(exporter: InMemorySpanExporter, texts: bool) -> None:
    with span("agent", mode="react") as step:
        usage = ScriptedLLM(["one two"]).generate(ASK).usage
        with span("pack", tokens=99):
            pass
        step.note(prompt_tokens=usage.prompt_tokens, completion_tokens=usage.completion_tokens)
    found = sent(exporter)
    assert found["invoke_agent react"].attributes[conventions.GEN_AI_AGENT_NAME] == "react"
    used = [span.attributes.get(conventions.GEN_AI_USAGE_INPUT_TOKENS, 0) for span in found.values()]
    assert sum(used) == usage.prompt_tokens
    assert found["invoke_agent react"].attributes["ragcore.prompt_tokens"] == usage.prompt_tokens
    assert found["pack"].attributes["ragcore.tokens"] == 99


def test_every_name_of_the_conventions_is_one_of_theirs() -> None:
    theirs = {value for name, value in vars(conventions).items() if name.startswith("GEN_AI_")}
    assert {name for names in telemetry._ATTRIBUTES.values() for name in names.values()} <= theirs
    operations = {operation.value for operation in conventions.GenAiOperationNameValues}
    assert {operation for operation, _ in telemetry._OPERATIONS.values()} <= operations


def test_a_failure_is_an_error_with_its_type(exporter: InMemorySpanExporter, texts: bool) -> None:
    with pytest.raises(LLMServerError), span("query"):
        ScriptedLLM([LLMServerError("out of memory on: a secret question")]).generate(ASK)
    for other in sent(exporter).values():
        assert other.attributes[ERROR_TYPE] == "LLMServerError"
        assert other.status.status_code is StatusCode.ERROR
        assert ("secret" in (other.status.description or "")) is texts


def test_trace_belongs_to_the_span_that_was_active_at_its_start(
    exporter: InMemorySpanExporter, provider: TracerProvider, texts: bool
) -> None:
    stream = ScriptedLLM(["one two"]).stream(ASK)
    with provider.get_tracer("app").start_as_current_span("request"):
        next(stream)
    assert list(stream) == [" two"]  # it ends when the request is over
    found = sent(exporter)
    assert found["chat scripted"].attributes[conventions.GEN_AI_RESPONSE_FINISH_REASONS] == ("stop",)
    assert found["chat scripted"].parent.span_id == found["request"].get_span_context().span_id


def test_unfinished_stream_has_no_finish_reason(exporter: InMemorySpanExporter, texts: bool) -> None:
    stream = ScriptedLLM(["one two"], counts_words=True).stream(ASK)
    next(stream)
    stream.close()
    attributes = sent(exporter)["chat scripted"].attributes
    assert conventions.GEN_AI_RESPONSE_FINISH_REASONS not in attributes
    assert attributes[conventions.GEN_AI_USAGE_OUTPUT_TOKENS] == 1
    if texts:
        assert finish_reason(attributes) == "cancelled"  # every message must have one


def test_questions_are_sent_in_their_spans(exporter: InMemorySpanExporter, texts: bool) -> None:
    with span("query", question="why"), span("retrieve", retriever="bm25", question="why not"):
        pass
    found = sent(exporter)
    assert found["query"].attributes.get("ragcore.question") == ("why" if texts else None)
    asked = found["retrieval bm25"].attributes.get(conventions.GEN_AI_RETRIEVAL_QUERY_TEXT)
    assert asked == ("why not" if texts else None)


def test_a_step_that_was_not_waited_for_ends_with_its_trace(
    exporter: InMemorySpanExporter, texts: bool
) -> None:
    with span("query") as root:
        observe.start("part")
    found = sent(exporter)
    assert found["part"].end_time / 1e9 == pytest.approx(root.started + root.seconds, abs=1e-5)


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(MissingPackageError) as caught:
        OpenTelemetry()
    assert "lectern[otel]" in caught.value.hint


def test_each_finished_trace_is_one_line_that_can_be_read_back(tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    remove = observe.add_listener(JsonLines(path))
    try:
        with span("query", question="über\u2028\n\ud83d") as first, span("llm", tokens=3):
            assert not path.exists()

        def work() -> None:
            for _ in range(50):
                with span("query", filler="x" * 5000), span("inner"):
                    pass

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        remove()
    with span("query"):
        pass
    lines = path.read_bytes().decode("utf-8", "surrogatepass").split("\n")
    assert len(lines) == 202
    assert lines.pop() == ""
    assert Span.from_dict(json.loads(lines[0])).to_dict() == first.to_dict()
    assert all(json.loads(line)["children"][0]["name"] == "inner" for line in lines[1:])
