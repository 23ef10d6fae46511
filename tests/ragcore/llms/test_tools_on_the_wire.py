"""Tools in both wire formats: what goes out, what comes back, whole and streamed."""

from __future__ import annotations

import asyncio
import json
import pickle
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from typing import Any

import pytest

from ragcore.errors import LLMServerError
from ragcore.llms import ChatMessage, MessageRole, Ollama, OpenAI, OpenAILike, ScriptedLLM, ToolCall
from ragcore.llms.base import Generation, LLMCall, LLMMetadata, Usage
from ragcore.llms.http_errors import BrokenOffError, NoToolsError
from ragcore.llms.openai import CallsInPieces
from ragcore.llms.server_llm import ServedLLM
from ragcore.observe import Span, span
from ragcore.prompts.wording import MESSAGES
from tests.scripted_server import Fault, ScriptedServer, error

ADD = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "add(a: int, b: int) -> int\nThe sum.",
        "parameters": {
            "type": "object",
            "properties": {"a": {"title": "A", "type": "integer"}, "b": {"title": "B", "type": "integer"}},
            "required": ["a", "b"],
        },
    },
}
TODAY = {
    "type": "function",
    "function": {"name": "today", "description": "The date.", "parameters": {"type": "object"}},
}
QUESTION = ChatMessage(MessageRole.USER, "What is 1 + 2?")

Open = Callable[[str], ServedLLM]


def open_openai(url: str) -> ServedLLM:
    return OpenAILike("tiny", url, sleep=lambda seconds: None)


def open_ollama(url: str) -> ServedLLM:
    return Ollama(model="tiny", base_url=url, sleep=lambda seconds: None)


@pytest.fixture(params=[open_openai, open_ollama], ids=["openai", "ollama"])
def opened(request: pytest.FixtureRequest) -> Open:
    return request.param


def whole(llm: ServedLLM, call: LLMCall) -> Generation:
    return llm.generate(call)


def streamed(llm: ServedLLM, call: LLMCall) -> Generation:
    stream = llm.stream(call)
    while True:
        try:
            next(stream)
        except StopIteration as stop:
            return stop.value


@pytest.fixture(params=[whole, streamed])
def ask(request: pytest.FixtureRequest) -> Callable[[ServedLLM, LLMCall], Generation]:
    return request.param


def call(
    *messages: ChatMessage, tools: Sequence[Mapping[str, Any]] = (ADD, TODAY), tool_choice: str = "auto"
) -> LLMCall:
    return LLMCall(MESSAGES, {}, messages or (QUESTION,), tuple(tools), tool_choice)


def sent(llm: ServedLLM, server: ScriptedServer, asked: LLMCall) -> dict[str, Any]:
    llm.generate(asked)
    return server.chats[-1].body


@pytest.mark.parametrize(
    ("choice", "over_the_wire"),
    [
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ("today", {"type": "function", "function": {"name": "today"}}),
    ],
)
def test_openai_gets_the_tools_and_the_tool_choice(choice: str, over_the_wire: object) -> None:
    with ScriptedServer() as server, closing(open_openai(server.url)) as llm:
        body = sent(llm, server, call(tool_choice=choice))
        assert body["tools"] == [ADD, TODAY]
        assert body["tool_choice"] == over_the_wire


@pytest.mark.parametrize(
    ("choice", "shown"),
    [("auto", [ADD, TODAY]), ("required", [ADD, TODAY]), ("today", [TODAY]), ("none", None)],
)
def test_ollama_gets_the_tools_that_may_be_called(choice: str, shown: object) -> None:
    with ScriptedServer() as server, closing(open_ollama(server.url)) as llm:
        body = sent(llm, server, call(tool_choice=choice))
        assert body.get("tools") == shown
        assert "tool_choice" not in body


def test_a_request_without_tools_does_not_mention_tools(opened: Open) -> None:
    with ScriptedServer() as server, closing(opened(server.url)) as llm:
        assert not {"tools", "tool_choice"} & sent(llm, server, call(tools=())).keys()


def test_a_choice_that_is_none_of_the_tools_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'multiply'.*\['add', 'today'\]"):
        call(tool_choice="multiply")


PAST = (
    QUESTION,
    ChatMessage(
        MessageRole.ASSISTANT,
        "",
        additional_kwargs={
            "tool_calls": [
                ToolCall.of("c1", "add", '{"a": 1, "b": 2}'),
                ToolCall.of("c2", "today", "not JSON"),
            ]
        },
    ),
    ChatMessage(MessageRole.TOOL, "3", name="add", additional_kwargs={"tool_call_id": "c1"}),
    ChatMessage(MessageRole.TOOL, "Error", additional_kwargs={"tool_call_id": "c2", "name": "today"}),
)


def test_openai_gets_calls_and_results_as_it_wants_them() -> None:
    with ScriptedServer() as server, closing(open_openai(server.url)) as llm:
        assert sent(llm, server, call(*PAST))["messages"] == [
            {"role": "user", "content": "What is 1 + 2?"},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'},
                    },
                    {"id": "c2", "type": "function", "function": {"name": "today", "arguments": "not JSON"}},
                ],
            },
            {"role": "tool", "content": "3", "name": "add", "tool_call_id": "c1"},
            {"role": "tool", "content": "Error", "name": "today", "tool_call_id": "c2"},
        ]


def test_ollama_gets_calls_and_results_as_it_wants_them() -> None:
    with ScriptedServer() as server, closing(open_ollama(server.url)) as llm:
        assert sent(llm, server, call(*PAST))["messages"] == [
            {"role": "user", "content": "What is 1 + 2?"},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {"function": {"name": "add", "arguments": {"a": 1, "b": 2}}},
                    {"function": {"name": "today", "arguments": {"arguments": "not JSON"}}},
                ],
            },
            {"role": "tool", "content": "3", "tool_name": "add"},
            {"role": "tool", "content": "Error", "tool_name": "today"},
        ]


@pytest.mark.parametrize(
    ("role", "at_openai", "at_ollama"),
    [
        (MessageRole.CHATBOT, "assistant", "assistant"),
        (MessageRole.MODEL, "assistant", "assistant"),
        (MessageRole.FUNCTION, "function", "tool"),
        (MessageRole.SYSTEM, "system", "system"),
    ],
)
def test_every_role_is_one_that_the_server_knows(role: MessageRole, at_openai: str, at_ollama: str) -> None:
    for open_one, expected in ((open_openai, at_openai), (open_ollama, at_ollama)):
        with ScriptedServer() as server, closing(open_one(server.url)) as llm:
            assert (
                sent(llm, server, call(ChatMessage(role, "x", name="add")))["messages"][0]["role"] == expected
            )


def test_old_function_message_for_a_call_becomes_a_tool_message() -> None:
    answer = ChatMessage(MessageRole.FUNCTION, "3", name="add", additional_kwargs={"tool_call_id": "c1"})
    with ScriptedServer() as server, closing(open_openai(server.url)) as llm:
        wire = {"role": "tool", "content": "3", "name": "add", "tool_call_id": "c1"}
        assert sent(llm, server, call(answer))["messages"] == [wire]


CALLS = (
    ToolCall.of("call_0", "add", '{"a": 1, "b": "zwölf {x} \\u2028"}'),
    ToolCall.of("call_1", "add", '{"a": [1, {"b": null}]}'),
    ToolCall.of("call_2", "today"),
)


def test_parallel_calls_come_back_in_one_form(
    opened: Open, ask: Callable[[ServedLLM, LLMCall], Generation]
) -> None:
    with ScriptedServer(lambda messages: "", tool_calls=CALLS) as server, closing(opened(server.url)) as llm:
        generation = ask(llm, call())
    assert [(made["id"], made["function"]["name"]) for made in generation.tool_calls] == [
        ("call_0", "add"),
        ("call_1", "add"),
        ("call_2", "today"),
    ]
    arguments = [json.loads(made["function"]["arguments"]) for made in generation.tool_calls]
    assert arguments == [json.loads(made.function.arguments) for made in CALLS]


def test_calls_without_numbers_are_distinguished_by_their_ids() -> None:
    with (
        ScriptedServer(lambda messages: "", tool_calls=CALLS, numbered_calls=False) as server,
        closing(open_openai(server.url)) as llm,
    ):
        assert streamed(llm, call()).tool_calls == CALLS


def test_arguments_that_are_no_json_are_passed_on_as_they_are(
    ask: Callable[[ServedLLM, LLMCall], Generation],
) -> None:
    broken = ToolCall.of("call_0", "add", '{"a": 1, "b"')
    with (
        ScriptedServer(lambda messages: "", tool_calls=[broken]) as server,
        closing(open_openai(server.url)) as llm,
    ):
        assert ask(llm, call()).tool_calls == (broken,)


def test_a_name_that_comes_with_every_piece_is_not_doubled() -> None:
    calls = CallsInPieces()
    calls.add({"index": 0, "id": "c", "function": {"name": "add", "arguments": '{"a"'}})
    calls.add({"index": 0, "id": "c", "function": {"name": "add", "arguments": ": 1}"}})
    calls.add({"index": 1, "function": {"name": "to", "arguments": {"b": 2}}})
    calls.add({"index": 1, "function": {"name": "day"}})
    assert calls.whole([]) == (
        ToolCall.of("c", "add", '{"a": 1}'),
        ToolCall.of("call_1", "today", '{"b": 2}'),
    )


def test_ids_that_a_server_does_not_give_are_unlike_those_before(
    opened: Open, ask: Callable[[ServedLLM, LLMCall], Generation]
) -> None:
    calls = [ToolCall.of("", "add"), ToolCall.of("", "today")]
    with ScriptedServer(lambda messages: "", tool_calls=calls) as server, closing(opened(server.url)) as llm:
        first = ask(llm, call(*PAST)).message
        assert [made.id for made in first.additional_kwargs["tool_calls"]] == ["call_2", "call_3"]
        later = ask(llm, call(QUESTION, first)).message  # and c1 and c2 are forgotten
        assert [made.id for made in later.additional_kwargs["tool_calls"]] == ["call_4", "call_5"]


@pytest.mark.parametrize(
    "words",
    [
        "registry.ollama.ai/library/tiny:latest does not support tools",
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
        "Unsupported parameter: 'tools' is not supported with this model.",
        "tools param requires --jinja flag",
        "Tool use is not supported by model tiny",
        "Extra inputs are not permitted: tools",
    ],
)
def test_server_without_tools_is_an_error_with_a_hint(
    opened: Open, ask: Callable[[ServedLLM, LLMCall], Generation], words: str
) -> None:
    with ScriptedServer(always=error(400, words)) as server, closing(opened(server.url)) as llm:
        with pytest.raises(NoToolsError, match="'tiny'") as caught:
            ask(llm, call())
        assert words[:20] in str(caught.value)
        assert "ReAct" in caught.value.hint
        assert len(server.chats) == 1


def test_unrelated_refusal_is_not_blamed_on_the_tools(opened: Open) -> None:
    words = "messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
    with (
        ScriptedServer(always=error(400, words)) as server,
        closing(opened(server.url)) as llm,
        pytest.raises(LLMServerError, match="must be a response"),
    ):
        llm.generate(call())


def test_who_calls_functions_is_known() -> None:
    assert OpenAI(model="gpt-4o-mini", api_key="sk").metadata.is_function_calling_model
    assert not OpenAILike("m", "localhost:1").metadata.is_function_calling_model
    like = OpenAILike(
        model="m",
        api_base="localhost:1",
        api_key="fake",
        is_chat_model=True,
        is_function_calling_model=True,
        context_window=32_000,
        max_tokens=99,
    )
    assert like.metadata == LLMMetadata("m", 32_000, 99, is_function_calling_model=True)
    with pytest.raises(ValueError, match="is_chat_model"):
        OpenAILike("m", "localhost:1", is_chat_model=False)
    llama = Ollama(model="llama3", request_timeout=360.0)
    assert (llama.metadata.model_name, llama.metadata.is_function_calling_model) == ("llama3", False)
    assert Ollama("qwen3", is_function_calling_model=True).metadata.is_function_calling_model


def test_a_call_is_a_dict_whose_fields_are_attributes() -> None:
    made = ToolCall.of("c1", "add", '{"a": 1}')
    assert (made.id, made.function.name, made.function.arguments) == ("c1", "add", '{"a": 1}')
    assert made == {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    assert json.loads(json.dumps(made)) == made
    copied = pickle.loads(pickle.dumps(made))
    assert copied.function.name == "add"
    message = Generation("", Usage(1, 1), (dict(made),)).message
    assert message.additional_kwargs["tool_calls"][0].function.arguments == '{"a": 1}'
    assert asdict(message)["additional_kwargs"]["tool_calls"] == [made]


def test_tools_and_calls_count_as_tokens() -> None:
    llm = ScriptedLLM([ToolCall.of("c1", "add", "{}")], counts_words=True)
    plain, with_tools = call(tools=()), call()
    schemas = sum(len(json.dumps(tool).split()) for tool in (ADD, TODAY))
    assert llm.prompt_tokens(plain) == len(QUESTION.content.split())
    assert llm.prompt_tokens(with_tools) == llm.prompt_tokens(plain) + schemas
    calls = len(json.dumps(PAST[1].additional_kwargs["tool_calls"]).split())
    assert llm.prompt_tokens(call(*PAST, tools=())) == 5 + calls + 2
    usage = llm.generate(with_tools).usage
    assert usage == Usage(
        5 + schemas, len(json.dumps(ToolCall.of("c1", "add", "{}")).split()), estimated=True
    )


def test_a_server_that_does_not_count_gets_its_tools_counted(opened: Open) -> None:
    with ScriptedServer(always=Fault(usage=False)) as server, closing(opened(server.url)) as llm:
        assert (
            llm.generate(call()).usage.prompt_tokens
            == llm.prompt_tokens(call())
            > llm.prompt_tokens(call(tools=()))
        )


def test_the_scripted_model_calls_tools_too() -> None:
    both = [ToolCall.of("c1", "add", "{}"), ToolCall.of("c2", "today")]
    said = Generation("Let me see.", Usage(1, 1), (both[0],))
    llm = ScriptedLLM([both[0], both, said, both])
    assert llm.generate(call()).tool_calls == (both[0],)
    assert (llm.generate(call()).text, llm.calls[-1].call.tools) == ("", (ADD, TODAY))
    responses = list(llm.stream_chat([QUESTION], tools=[ADD]))
    assert "".join(response.delta or "" for response in responses) == "Let me see."
    assert responses[-1].message.additional_kwargs["tool_calls"] == [both[0]]
    (only,) = llm.stream_chat([QUESTION], tools=[ADD])
    assert (only.message.content, only.message.additional_kwargs["tool_calls"]) == ("", both)


def test_an_event_loop_gets_the_calls_of_a_stream(opened: Open) -> None:
    async def read(llm: ServedLLM) -> list[Any]:
        return [response async for response in await llm.astream_chat([QUESTION], tools=[ADD])]

    with (
        ScriptedServer(lambda messages: "One moment", tool_calls=CALLS[:1]) as server,
        closing(opened(server.url)) as llm,
    ):
        responses = asyncio.run(read(llm))
    assert [response.delta for response in responses] == ["One", " moment", ""]
    assert responses[-1].message.additional_kwargs["tool_calls"][0].function.name == "add"


def test_the_trace_names_tools_and_calls(opened: Open) -> None:
    with (
        ScriptedServer(tool_calls=CALLS[:1]) as server,
        closing(opened(server.url)) as llm,
        span("chat") as root,
    ):
        llm.generate(call(*PAST))
    (step,) = root.spans("llm")
    _, asked, *results = step.facts["messages"]
    assert asked["tool_calls"] == PAST[1].additional_kwargs["tool_calls"]
    assert [(result["tool_call_id"], result["name"]) for result in results] == [
        ("c1", "add"),
        ("c2", "today"),
    ]
    assert Span.from_dict(json.loads(json.dumps(root.to_dict()))).to_dict() == root.to_dict()
    assert step.facts["tools"] == ["add", "today"]
    assert [made["function"]["name"] for made in step.facts["tool_calls"]] == ["add"]


def test_manual_tool_loop_runs_until_the_model_answers(opened: Open) -> None:
    """The messages alone are the conversation: the question is one of them, and so is each result."""

    def calls(messages: Sequence[Mapping[str, Any]]) -> list[ToolCall]:
        results = sum(message["role"] == "tool" for message in messages)
        script = [
            [ToolCall.of("c1", "add", '{"a": 1, "b": 2}')],
            [ToolCall.of("c2", "add", '{"a": 3, "b": 4}')],
            [],
        ]
        return script[results]

    def reply(messages: Sequence[Mapping[str, Any]]) -> str:
        return f"It is {messages[-1]['content']}." if messages[-1]["content"] == "7" else ""

    tools: dict[str, Callable[..., int]] = {"add": lambda a, b: a + b}
    with ScriptedServer(reply, tool_calls=calls) as server, closing(opened(server.url)) as model:
        messages = [QUESTION]
        response = model.chat(messages, tools=[ADD])
        while response.message.additional_kwargs.get("tool_calls", None) is not None:
            messages.append(response.message)
            for made in response.message.additional_kwargs["tool_calls"]:
                result = tools[made.function.name](**json.loads(made.function.arguments))
                known = {"tool_call_id": made.id, "name": made.function.name}
                messages.append(
                    ChatMessage(
                        MessageRole.TOOL, str(result), name=made.function.name, additional_kwargs=known
                    )
                )
            response = model.chat(messages, tools=[ADD])
        assert str(response.message.content) == "It is 7."
    assert [message["role"] for message in server.chats[-1].body["messages"]] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
    ]


def test_stream_that_ends_within_a_call_is_an_error() -> None:
    delta = {
        "tool_calls": [
            {"index": 0, "id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a"'}}
        ]
    }
    event = {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    half = Fault(body=f"data: {json.dumps(event)}\n\n", content_type="text/event-stream")
    with (
        ScriptedServer(lambda messages: "", faults=[half], tool_calls=CALLS) as server,
        closing(open_openai(server.url)) as llm,
    ):
        assert streamed(llm, call()).tool_calls == CALLS  # asked again
        server.always = half
        with pytest.raises(BrokenOffError):
            streamed(llm, call())
