"""The scripted model says its lines; the scripted server runs as a command."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import closing

import pytest

from ragcore.errors import LLMServerError
from ragcore.llms.base import Generation, LLMCall, Usage
from ragcore.llms.ollama import Ollama
from ragcore.llms.openai import OpenAICompatibleLLM
from ragcore.llms.scripted import ScriptedLLM
from ragcore.prompts.templates import PromptTemplate
from ragcore.prompts.wording import GENERATION, TEXT_QA

CALL = LLMCall(GENERATION, {"query_str": "How are you?"})


def test_replies_come_in_turn_and_calls_are_recorded() -> None:
    reply = Generation("two", Usage(7, 8), ({"id": "call_0"},))
    llm = ScriptedLLM(["one", reply])
    other = LLMCall(TEXT_QA, {"context_str": "c", "query_str": "q"})
    assert llm.generate(CALL).text == "one"
    assert llm.generate(other) is reply
    assert [(logged.prompt, logged.variables, logged.streamed) for logged in llm.calls] == [
        ("generation", {"query_str": "How are you?"}, False),
        ("text_qa", {"context_str": "c", "query_str": "q"}, False),
    ]
    assert llm.calls[0].messages[0].content == "How are you?"
    with pytest.raises(AssertionError, match=r"call 3 \(generation\) has no reply"):
        llm.generate(CALL)


def test_a_rule_makes_the_reply_from_the_call() -> None:
    llm = ScriptedLLM(lambda call: f"You asked: {call.variables['query_str']}")
    assert llm.generate(CALL).text == "You asked: How are you?"


def test_a_stream_comes_word_by_word_with_its_white_space() -> None:
    llm = ScriptedLLM(["  one\n\ntwo three \n"])
    assert list(llm.stream(CALL)) == ["  one", "\n\ntwo", " three \n"]


def test_tokens_are_words_on_request() -> None:
    llm = ScriptedLLM(["It's fine, thanks."], counts_words=True, context_window=12, num_output=3)
    assert llm.generate(CALL).usage == Usage(3, 3, estimated=True)
    assert (llm.metadata.context_window, llm.metadata.num_output) == (12, 3)


def test_failures_can_be_scripted() -> None:
    failure = LLMServerError("It is tired.")
    llm = ScriptedLLM([failure, "one two three"], breaks_after=2, failure=failure)
    with pytest.raises(LLMServerError):
        llm.generate(CALL)
    stream = llm.stream(CALL)
    assert [next(stream), next(stream)] == ["one", " two"]
    with pytest.raises(LLMServerError):
        next(stream)


def test_a_stream_closed_early_is_counted() -> None:
    llm = ScriptedLLM(["one two", "one two"])
    stream = llm.stream(CALL)
    next(stream)
    stream.close()
    list(llm.stream(CALL))
    assert llm.closed_streams == 1


def test_the_scripted_server_runs_as_a_command() -> None:
    command = [sys.executable, "-m", "tests.scripted_server", "--port", "0", "--model", "llama3"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().removeprefix("listening at ").strip()
            with (
                closing(Ollama("llama3", url)) as ollama,
                closing(OpenAICompatibleLLM("llama3", url)) as other,
            ):
                assert ollama.generate(CALL).text == other.generate(CALL).text == "You said: How are you?"
        finally:
            process.kill()


def test_a_prompt_is_streamed_with_its_values_as_it_is_predicted() -> None:
    template = PromptTemplate("Tell of {topic}.")

    async def heard() -> list[str]:
        return [piece async for piece in await ScriptedLLM(["one two"]).astream(template, topic="herons")]

    llm = ScriptedLLM(["one two"])
    assert list(llm.stream(template, topic="herons")) == ["one", " two"] == asyncio.run(heard())
    assert llm.calls[0].messages[0].content == "Tell of herons."
    with pytest.raises(ValueError, match="tropic"):
        llm.stream(template, tropic="herons")
    with pytest.raises(TypeError, match="topic"):
        llm.stream(CALL, topic="herons")
