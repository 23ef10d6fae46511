"""What every language model promises, whichever server or rule is behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ragcore.embeddings.base import Embedder
from ragcore.extractive.answerer import ExtractiveLLM
from ragcore.llms.base import LLM, Generation, LLMCall, Usage
from ragcore.llms.ollama import Ollama
from ragcore.llms.openai import OpenAI, OpenAICompatibleLLM
from ragcore.llms.scripted import ScriptedLLM
from ragcore.llms.server_llm import ServedLLM
from ragcore.observe import span
from ragcore.prompts.document_text import CLOSING, OPENING
from ragcore.prompts.prompt import Passage
from ragcore.prompts.wording import CONDENSE_QUESTION, GENERATION, SIMPLE_CHAT, TEXT_QA
from ragcore.schema import ChatMessage, MessageRole
from tests.scripted_server import Fault, ScriptedServer

if TYPE_CHECKING:
    from ragcore.schema import Vector, Vectors

ANSWER = "The ferry leaves at nine {sharp} [1].\n\nNext passage\u2028leaves at ten [2]. Überfahrt: 12 € 🚢"
PASSAGES = (
    Passage("The ferry leaves at nine. {query_str} {0} %s {{x}}", 1, "times.pdf"),
    Passage("The next leaves at ten.", 2),
)
CALL = LLMCall(TEXT_QA, {"context_str": PASSAGES, "query_str": "When does the {ferry} leave?"})


class HashingEmbedder:
    """A word's vector is made from its letters."""

    name = "hashing"
    dimension = 64

    def embed_passages(self, texts: list[str] | tuple[str, ...]) -> Vectors:
        return np.array([self.embed_query(text) for text in texts], dtype=np.float32).reshape(
            len(texts), self.dimension
        )

    def embed_query(self, text: str) -> Vector:
        row = np.full(self.dimension, 0.01, dtype=np.float32)
        for word in text.lower().split():
            row[sum(word.encode()) % self.dimension] += 1
        return row / np.linalg.norm(row)


def openai_compatible(server: ScriptedServer) -> ServedLLM:
    return OpenAICompatibleLLM(
        "tiny", server.url, api_key="sk-test", num_output=50, temperature=0.3, context_window=4096
    )


def ollama(server: ScriptedServer) -> ServedLLM:
    return Ollama("tiny", server.url, num_output=50, temperature=0.3, context_window=4096)


def openai(server: ScriptedServer) -> ServedLLM:
    return OpenAI("tiny", api_key="sk-test", api_base=server.url)


@dataclass(frozen=True)
class Client:
    name: str
    open: Callable[[ScriptedServer], ServedLLM]
    path: str


CLIENTS = [
    Client("openai_compatible", openai_compatible, "/v1/chat/completions"),
    Client("openai", openai, "/v1/chat/completions"),
    Client("ollama", ollama, "/api/chat"),
]


@pytest.fixture(params=CLIENTS, ids=lambda client: client.name)
def client(request: pytest.FixtureRequest) -> Client:
    return request.param


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(lambda messages: ANSWER) as running:
        yield running


@pytest.fixture(params=["openai_compatible", "openai", "ollama", "scripted", "extractive"])
def llm(request: pytest.FixtureRequest, server: ScriptedServer) -> Iterator[LLM]:
    if request.param == "scripted":
        yield ScriptedLLM(lambda call: ANSWER)
    elif request.param == "extractive":
        embedder: Embedder = HashingEmbedder()
        yield ExtractiveLLM(embedder)
    else:
        served = next(client for client in CLIENTS if client.name == request.param).open(server)
        yield served
        served.close()


def drained(llm: LLM, call: LLMCall) -> tuple[list[str], Generation]:
    pieces, stream = [], llm.stream(call)
    while True:
        try:
            pieces.append(next(stream))
        except StopIteration as stop:
            return pieces, stop.value


def test_a_stream_gives_in_pieces_what_generate_gives_whole(llm: LLM) -> None:
    whole = llm.generate(CALL)
    pieces, streamed = drained(llm, CALL)
    assert "".join(pieces) == whole.text == streamed.text
    assert len(pieces) > 1
    assert all(pieces)
    assert (streamed.usage, streamed.tool_calls, streamed.cut_short) == (
        whole.usage,
        whole.tool_calls,
        whole.cut_short,
    )


def test_the_trace_has_what_was_sent_and_what_came_back(llm: LLM) -> None:
    with span("query") as root:
        whole = llm.generate(CALL)
        drained(llm, CALL)
    first, second = root.spans("llm")
    for step in (first, second):
        assert step.facts["prompt"] == "text_qa"
        assert step.facts["model"] == llm.metadata.model_name
        assert step.facts["reply"] == whole.text
        assert step.facts["prompt_tokens"] == whole.usage.prompt_tokens > 0
        assert step.facts["completion_tokens"] == whole.usage.completion_tokens
        assert [message["role"] for message in step.facts["messages"]] == ["system", "user"]
        assert step.seconds > 0
        assert step.error is None


def test_closing_a_stream_records_the_text_so_far_in_the_trace(llm: LLM) -> None:
    with span("query") as root, closing(llm.stream(CALL)) as stream:
        first = next(stream)
    (step,) = root.spans("llm")
    assert step.facts["reply"] == first
    assert step.facts["prompt_tokens"] == llm.prompt_tokens(CALL)
    assert step.facts["completion_tokens"] == llm.count_tokens(first)
    assert step.facts["tokens_estimated"]
    assert step.seconds > 0


def test_calls_from_several_threads_do_not_meet(llm: LLM) -> None:
    expected = llm.generate(CALL).text
    with ThreadPoolExecutor(8) as threads:
        answers = [whole.text for whole in threads.map(llm.generate, [CALL] * 12)]
        answers += [
            "".join(pieces) for pieces, _ in threads.map(lambda call: drained(llm, call), [CALL] * 12)
        ]
    assert answers == [expected] * 24


def test_the_answer_of_the_server_arrives_letter_for_letter(client: Client, server: ScriptedServer) -> None:
    with closing(client.open(server)) as llm:
        assert llm.generate(CALL).text == ANSWER
        assert "".join(llm.stream(CALL)) == ANSWER


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_messages_go_over_the_wire_as_they_were_rendered(
    client: Client, server: ScriptedServer, stream: bool
) -> None:
    history = (
        ChatMessage(MessageRole.USER, "Hello {query_str}"),
        ChatMessage(MessageRole.ASSISTANT, "Hi {there}"),
    )
    call = LLMCall(
        SIMPLE_CHAT, {"system_prompt": "Be {brief}.", "query_str": 'When? "{context_str}"'}, history
    )
    with closing(client.open(server)) as llm:
        drained(llm, call) if stream else llm.generate(call)
    (request,) = server.chats
    assert request.path == client.path
    assert request.body["messages"] == [
        {"role": "system", "content": "Be {brief}."},
        {"role": "user", "content": "Hello {query_str}"},
        {"role": "assistant", "content": "Hi {there}"},
        {"role": "user", "content": 'When? "{context_str}"'},
    ]
    assert request.body["model"] == "tiny"
    # also what is wanted whole: silence then means that something is wrong
    assert request.body["stream"] is True


def test_braces_in_documents_are_only_text(client: Client, server: ScriptedServer) -> None:
    with closing(client.open(server)) as llm:
        llm.generate(CALL)
    user = server.chats[0].body["messages"][-1]["content"]
    assert user == (
        f"Passages:\n\n{OPENING}\n[1] times.pdf\nThe ferry leaves at nine. {{query_str}} {{0}} %s {{{{x}}}}\n"
        "\n"
        f"[2]\nThe next leaves at ten.\n{CLOSING}\n\n"
        "Question: When does the {ferry} leave?\nAnswer:"
    )


def test_stop_sequences_for_prompt_marks_reach_the_server(client: Client, server: ScriptedServer) -> None:
    with closing(client.open(server)) as llm:
        llm.generate(CALL)
        llm.generate(LLMCall(GENERATION, {"query_str": "Hello"}))
    first, second = (request.body.get("options", request.body) for request in server.chats)
    assert first["stop"] == [OPENING, "\nPassages:", "\nQuestion:"]
    assert "stop" not in second


def test_usage_is_the_servers_own_count(client: Client, server: ScriptedServer) -> None:
    with closing(client.open(server)) as llm:
        whole = llm.generate(CALL)
        _, streamed = drained(llm, CALL)
    words = sum(len(message["content"].split()) for message in server.chats[0].body["messages"])
    assert whole.usage == streamed.usage == Usage(words, len(ANSWER.split()), estimated=False)


def test_usage_is_counted_here_when_the_server_does_not_say(client: Client) -> None:
    with (
        ScriptedServer(lambda messages: ANSWER, always=Fault(usage=False)) as server,
        closing(client.open(server)) as llm,
    ):
        whole = llm.generate(CALL)
        _, streamed = drained(llm, CALL)
        sent = sum(llm.count_tokens(message.content) for message in CALL.messages())
        assert whole.usage == streamed.usage == Usage(sent, llm.count_tokens(ANSWER), estimated=True)


@pytest.mark.timeout(20)
def test_closing_a_stream_ends_the_request_at_once(client: Client) -> None:
    with (
        ScriptedServer(lambda messages: "word " * 40, words_per_second=10) as server,
        closing(client.open(server)) as llm,
    ):
        stream = llm.stream(CALL)
        assert next(stream) == "word"
        assert not server.disconnected.is_set()
        stream.close()
        assert server.disconnected.wait(2)
        server.words_per_second = 0  # the client is as good as new
        assert llm.generate(CALL).text == "word " * 40


def test_nothing_is_sent_before_the_first_piece_is_requested(client: Client, server: ScriptedServer) -> None:
    with closing(client.open(server)) as llm:
        stream = llm.stream(CALL)
        assert server.requests == []
        next(stream)
        assert len(server.chats) == 1
        stream.close()


def test_pieces_come_while_the_server_is_still_writing(client: Client) -> None:
    with (
        ScriptedServer(lambda messages: "one two three", always=Fault(silent_after=2)) as server,
        closing(client.open(server)) as llm,
    ):
        stream = llm.stream(CALL)
        assert [next(stream), next(stream)] == ["one", " two"]  # the third is never sent
        stream.close()


def test_a_server_that_does_not_stream_is_understood(client: Client) -> None:
    with (
        ScriptedServer(lambda messages: ANSWER, always=Fault(whole=True)) as server,
        closing(client.open(server)) as llm,
    ):
        pieces, streamed = drained(llm, CALL)
    assert pieces == [ANSWER]
    assert streamed.usage.estimated is False


def test_thoughts_are_not_part_of_the_answer(client: Client) -> None:
    with (
        ScriptedServer(lambda messages: "<think>\nThe user wants\n</think>\n\nNine <b>sharp</b>.") as server,
        closing(client.open(server)) as llm,
    ):
        assert llm.generate(CALL).text == "Nine <b>sharp</b>."
        assert "".join(llm.stream(CALL)) == "Nine <b>sharp</b>."


def test_tool_calls_are_passed_on_in_one_form(client: Client) -> None:
    calls: list[Mapping[str, Any]] = [
        {
            "id": "call_0",
            "type": "function",
            "function": {"name": "add", "arguments": '{"a": 1, "b": "zwölf"}'},
        },
        {"id": "call_1", "type": "function", "function": {"name": "today", "arguments": "{}"}},
    ]
    with ScriptedServer(lambda messages: "", tool_calls=calls) as server, closing(client.open(server)) as llm:
        assert llm.generate(CALL).tool_calls == tuple(calls)
        assert drained(llm, CALL)[1].tool_calls == tuple(calls)


def test_an_answer_that_hit_the_limit_says_so(client: Client) -> None:
    with (
        ScriptedServer(lambda messages: ANSWER, always=Fault(finish="length")) as server,
        closing(client.open(server)) as llm,
    ):
        assert llm.generate(CALL).cut_short
        assert drained(llm, CALL)[1].cut_short
        server.always = Fault()
        assert not llm.generate(CALL).cut_short


def test_the_models_of_the_server_are_listed_in_its_order(client: Client) -> None:
    with ScriptedServer(models=("zeta", "alpha:7b")) as server, closing(client.open(server)) as llm:
        assert llm.list_models() == ("zeta", "alpha:7b")


def test_a_follow_up_is_condensed_by_the_scripted_server(client: Client) -> None:
    history = (ChatMessage(MessageRole.USER, "Who built it?"), ChatMessage(MessageRole.ASSISTANT, "Ada."))
    call = LLMCall(CONDENSE_QUESTION, {"chat_history": history, "question": "When did she?"})
    with ScriptedServer() as server, closing(client.open(server)) as llm:
        assert llm.generate(call).text == "When did she?"
        assert llm.generate(CALL).text.startswith(
            "The documents say: “The ferry leaves at nine. {query_str} {0} %s {{x}}” [1]."
        )


def test_an_event_loop_gets_what_the_others_get(llm: LLM) -> None:
    async def ask() -> tuple[str, str, list[str], list[str]]:
        messages = [ChatMessage(MessageRole.USER, "When does the ferry leave?")]
        chat = [response.delta or "" async for response in await llm.astream_chat(messages)]
        complete = [response.delta or "" async for response in await llm.astream_complete("When?")]
        return (
            str((await llm.achat(messages)).message.content),
            (await llm.acomplete("When?")).text,
            chat,
            complete,
        )

    chat, complete, chat_pieces, complete_pieces = asyncio.run(ask())
    assert "".join(chat_pieces) == chat != ""
    assert "".join(complete_pieces) == complete != ""
    assert asyncio.run(llm.apredict(TEXT_QA, **CALL.variables)) == llm.predict(TEXT_QA, **CALL.variables)
