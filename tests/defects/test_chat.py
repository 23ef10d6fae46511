"""What goes wrong in conversations elsewhere, and does not here."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import pytest

from ragcore.chat_engine import CondenseQuestionChatEngine, SimpleChatEngine, chat_engine
from ragcore.errors import LLMServerError
from ragcore.llms.base import LLM, Generation, LLMCall, LLMMetadata, Stream, Usage
from ragcore.llms.scripted import ScriptedLLM
from ragcore.memory import ChatMemoryBuffer
from ragcore.prompts.prompt import RenderedMessage
from ragcore.query_engine.retriever import RetrieverQueryEngine
from ragcore.response_synthesizers.base import NOTHING_FOUND
from ragcore.response_synthesizers.synthesizer import Synthesizer
from ragcore.schema import ChatMessage, MessageRole
from tests.ragcore.response_synthesizers.doubles import ListRetriever, nodes

USER, ASSISTANT = MessageRole.USER, MessageRole.ASSISTANT
FOUND = nodes("Ada wrote it.")


def test_d14_streams_and_whole_answers_of_an_engine_are_separate() -> None:
    both = threading.Barrier(2, timeout=20)
    llm = ScriptedLLM(lambda call: f"about {call.variables['query_str']}")
    engine = RetrieverQueryEngine(ListRetriever(FOUND), Synthesizer(llm))
    whole: list[str] = []
    pieces: list[str] = []

    def ask() -> None:
        chat = CondenseQuestionChatEngine.from_defaults(engine, llm=llm)
        both.wait()
        whole.extend(str(chat.chat(f"w{n}", [])) for n in range(20))

    def follow() -> None:
        chat = CondenseQuestionChatEngine.from_defaults(engine, llm=llm)
        both.wait()
        for n in range(20):
            said = list(chat.stream_chat(f"s{n}", []))
            assert len([piece for piece in said if piece]) == 2
            pieces.append("".join(said))

    threads = [threading.Thread(target=work) for work in (ask, follow)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert whole == [f"about w{n}" for n in range(20)]
    assert pieces == [f"about s{n}" for n in range(20)]


def test_d14_failed_whole_answer_leaves_the_next_stream_a_stream() -> None:
    llm = ScriptedLLM([LLMServerError("gone"), "one two three"])
    chat = CondenseQuestionChatEngine.from_defaults(
        RetrieverQueryEngine(ListRetriever(FOUND), Synthesizer(llm)), llm=llm
    )
    with pytest.raises(LLMServerError):
        chat.chat("Who?")
    assert [piece for piece in chat.stream_chat("Who?") if piece] == ["one", " two", " three"]


@pytest.mark.parametrize(
    "mode", ["simple", "condense_question", "context", "condense_plus_context", "react", "best"]
)
def test_d18_the_callers_list_of_messages_is_not_edited(mode: str) -> None:
    given = [ChatMessage(USER, "Hello?"), ChatMessage(ASSISTANT, "Hi.")]
    before = list(given)
    chat = chat_engine(
        mode, llm=ScriptedLLM(lambda call: "Yes."), retriever=ListRetriever(FOUND), memory=ChatMemoryBuffer()
    )
    chat.chat("Who?", given)
    stream = chat.stream_chat("And?", given)
    assert given == before
    mine, more = ChatMessage(USER, "mine"), ChatMessage(USER, "more")
    given.append(mine)
    list(stream)
    assert given == [*before, mine]
    given.append(more)
    *before_answer, answer = [message.content for message in chat.chat_history]
    assert (before_answer, answer.split("\n")[0]) == (["Hello?", "Hi.", "And?"], "Yes.")


@pytest.mark.parametrize("mode", ["condense_question", "context", "condense_plus_context"])
def test_d28_no_passages_gives_a_sentence_that_is_not_remembered(mode: str) -> None:
    llm = ScriptedLLM()
    chat = chat_engine(mode, llm=llm, retriever=ListRetriever([]), memory=ChatMemoryBuffer())
    assert str(chat.chat("Who?")) == NOTHING_FOUND != "Empty Response"
    assert (llm.calls, chat.chat_history) == ([], [])


class SlowLLM(LLM):
    """Says a word after each pause."""

    def __init__(self, words: int, pause: float) -> None:
        self._words = words
        self._pause = pause

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata("slow")

    def _generate(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Generation:
        raise AssertionError("it streams")

    def _stream(self, call: LLMCall, messages: Sequence[RenderedMessage]) -> Stream:
        for _ in range(self._words):
            time.sleep(self._pause)
            yield "word "
        return Generation("word " * self._words, Usage(0, 0))


def test_d35_waiting_for_a_stream_costs_nothing() -> None:
    chat = SimpleChatEngine.from_defaults(SlowLLM(10, 0.1))
    stream = chat.stream_chat("Hi")
    before = threading.active_count()
    began, worked = time.perf_counter(), time.thread_time()
    assert len(list(stream)) == 10
    assert time.perf_counter() - began >= 1.0
    assert time.thread_time() - worked < 0.05
    assert threading.active_count() == before


def test_d35_only_who_reads_the_stream_writes_the_conversation() -> None:
    llm = ScriptedLLM(["one two", "three"])
    chat = SimpleChatEngine.from_defaults(llm)
    unread = chat.stream_chat("Hi")
    time.sleep(0.05)
    assert (llm.calls, chat.chat_history) == ([], [])
    unread.close()
    read = chat.stream_chat("Hello")
    assert chat.chat_history == []
    list(read)
    assert [message.content for message in chat.chat_history] == ["Hello", "one two"]
