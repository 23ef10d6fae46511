from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence

import pytest

from ragcore.chat_engine.base import STOPPED, ChatEngine
from ragcore.chat_modes import ChatMode, chat_engine
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import LLMServerError, QuestionError
from ragcore.extractive.quoter import Quoter
from ragcore.llms.base import LLM, LLMCall
from ragcore.llms.scripted import Rule, ScriptedLLM
from ragcore.memory import ChatMemoryBuffer
from ragcore.prompts.document_text import CLOSING, OPENING
from ragcore.response_synthesizers.base import NOTHING_FOUND
from ragcore.response_synthesizers.packer import MESSAGE_TOKENS
from ragcore.schema import ChatMessage, MessageRole, NodeWithScore
from ragcore.storage.chat_store import SimpleChatStore
from tests.ragcore.response_synthesizers.doubles import ListRetriever, UnlockedLLM, nodes, prompts, word_llm

TWO = nodes("Ada wrote it.", "It was long.")
USER, ASSISTANT = MessageRole.USER, MessageRole.ASSISTANT
AGENTS = (ChatMode.REACT, ChatMode.OPENAI, ChatMode.BEST)
ALL_MODES = [mode for mode in ChatMode if mode not in AGENTS]
WITH_DOCUMENTS = [mode for mode in ALL_MODES if mode is not ChatMode.SIMPLE]


def engine(
    mode: ChatMode,
    llm: LLM,
    found: list[NodeWithScore] = TWO,
    *,
    memory: ChatMemoryBuffer | None = None,
    system_prompt: str = "",
) -> tuple[ChatEngine, ListRetriever]:
    retriever = ListRetriever(found)
    memory = memory or ChatMemoryBuffer(3000, count=llm.count_tokens)
    return chat_engine(
        mode, llm=llm, retriever=retriever, memory=memory, system_prompt=system_prompt
    ), retriever


def talking(condensed: str = "Who wrote the book?") -> Rule:
    """Says "reply <the last message>", and condenses every question to the same one."""

    def rule(call: LLMCall) -> str:
        if call.prompt.name == "condense_question":
            return f" {condensed}\n"
        return f"reply to {call.variables['query_str']}"

    return rule


def list_messages(chat: ChatEngine) -> list[tuple[str, str]]:
    return [(message.role.value, message.content) for message in chat.chat_history]


CALLS = {
    ChatMode.SIMPLE: ["simple_chat", "simple_chat"],
    ChatMode.CONDENSE_QUESTION: ["chat_text_qa", "condense_question", "chat_text_qa"],
    ChatMode.CONTEXT: ["context_chat", "context_chat"],
    ChatMode.CONDENSE_PLUS_CONTEXT: ["context_chat", "condense_question", "context_chat"],
}
LOOKED_UP = {
    ChatMode.SIMPLE: [],
    ChatMode.CONDENSE_QUESTION: ["Hello?", "Who wrote the book?"],
    ChatMode.CONTEXT: ["Hello?", "And who?"],
    ChatMode.CONDENSE_PLUS_CONTEXT: ["Hello?", "Who wrote the book?"],
}
SOURCE = dict.fromkeys(ALL_MODES, "retriever") | {ChatMode.CONDENSE_QUESTION: "query_engine"}
ANSWERED = dict.fromkeys(ALL_MODES, "And who?") | {ChatMode.CONDENSE_QUESTION: "Who wrote the book?"}


@pytest.mark.smoke
@pytest.mark.parametrize("mode", ALL_MODES)
def test_two_turns_search_and_remember_the_typed_messages(mode: ChatMode) -> None:
    llm = word_llm(talking())
    chat, retriever = engine(mode, llm)
    chat.chat("Hello?")
    answer = chat.chat("And who?")
    assert prompts(llm) == CALLS[mode]
    assert retriever.asked == LOOKED_UP[mode]
    assert str(answer) == f"reply to {ANSWERED[mode]}"
    asked = [(source.tool_name, source.raw_input) for source in answer.sources]
    assert asked == [(SOURCE[mode], {"query": question}) for question in LOOKED_UP[mode][1:]]
    assert list_messages(chat) == [
        ("user", "Hello?"),
        ("assistant", "reply to Hello?"),
        ("user", "And who?"),
        ("assistant", f"reply to {ANSWERED[mode]}"),
    ]
    assert answer.source_nodes == (() if mode is ChatMode.SIMPLE else tuple(TWO))


def test_prompt_order_is_rules_history_passages_message() -> None:
    llm = word_llm(talking())
    chat, _ = engine(ChatMode.CONTEXT, llm, system_prompt="Talk like a pirate.")
    chat.chat("Hello?")
    chat.chat("And who?")
    messages = llm.calls[-1].messages
    assert [message.role.value for message in messages] == ["system", "user", "assistant", "user"]
    assert messages[0].content.startswith("Talk like a pirate.\n\nYou answer questions")
    assert "Ada wrote it." not in messages[0].content
    assert [message.content for message in messages[1:3]] == ["Hello?", "reply to Hello?"]
    passages = "[1] book.pdf, page 1\nAda wrote it.\n\n[2] book.pdf, page 2\nIt was long."
    assert (
        messages[3].content == f"Passages:\n\n{OPENING}\n{passages}\n{CLOSING}\n\nQuestion: And who?\nAnswer:"
    )


@pytest.mark.parametrize("mode", ALL_MODES)
def test_the_system_prompt_is_heard_in_every_mode(mode: ChatMode) -> None:
    llm = word_llm(talking())
    chat, _ = engine(mode, llm, system_prompt="Talk like a pirate.")
    chat.chat("Hello?")
    assert llm.calls[-1].messages[0].content.startswith("Talk like a pirate.")


def test_the_conversation_is_condensed_as_one_line_a_message() -> None:
    llm = word_llm(talking())
    chat, _ = engine(ChatMode.CONDENSE_PLUS_CONTEXT, llm)
    tool = ChatMessage(MessageRole.TOOL, "42", additional_kwargs={"tool_call_id": "1"})
    calling = ChatMessage(ASSISTANT, "", additional_kwargs={"tool_calls": [{"id": "1"}]})
    answer = chat.chat(
        "And who?",
        [
            ChatMessage(USER, "Hello?"),
            calling,
            tool,
            ChatMessage(ASSISTANT, "Hi.", additional_kwargs={"a": 1}),
        ],
    )
    assert (
        "Conversation:\nuser: Hello?\nassistant: Hi.\n\nMessage: And who?\nQuestion:"
        in llm.calls[0].messages[0].content
    )
    assert answer.trace is not None
    assert answer.trace.spans("condense")[0].facts["question"] == "Who wrote the book?"
    assert [step.name for step in answer.trace.children] == ["condense", "retrieve", "synthesize"]


def test_quoting_answers_the_standalone_question() -> None:
    retriever = ListRetriever(nodes("Ada wrote the book. Bob printed the posters."))
    chat = chat_engine("condense_plus_context", llm=Quoter(HashEmbedding()), retriever=retriever)
    chat.chat("Who wrote the book?")
    answer = chat.chat("And who printed it?")
    assert retriever.asked[1] == "And who printed it? (wrote book)"
    assert answer.trace is not None
    (step,) = answer.trace.spans("synthesize")
    (call,) = step.spans("llm")
    assert call.facts["messages"][0]["parts"][-1] == {"origin": "question", "text": retriever.asked[1]}
    assert list_messages(chat)[2] == ("user", "And who printed it?")


def test_empty_condensed_question_leaves_the_message() -> None:
    chat, retriever = engine(ChatMode.CONDENSE_QUESTION, word_llm(talking(condensed=" ")))
    chat.chat("Hello?")
    chat.chat("And who?")
    assert retriever.asked == ["Hello?", "And who?"]


@pytest.mark.parametrize("mode", ALL_MODES)
def test_history_argument_replaces_memory_and_stays_unchanged(mode: ChatMode) -> None:
    chat, _ = engine(mode, word_llm(talking()))
    chat.chat("Forget this.")
    given = [ChatMessage(USER, "Hello?"), ChatMessage(ASSISTANT, "Hi.")]
    chat.chat("And who?", given)
    assert len(given) == 2
    assert list_messages(chat)[:3] == [("user", "Hello?"), ("assistant", "Hi."), ("user", "And who?")]
    assert len(chat.chat_history) == 4


def test_an_empty_chat_history_argument_counts() -> None:
    llm = word_llm(talking())
    chat, _ = engine(ChatMode.CONDENSE_QUESTION, llm)
    chat.chat("Forget this.")
    chat.chat("Hello?", [])
    assert prompts(llm) == ["chat_text_qa", "chat_text_qa"]
    assert list_messages(chat) == [("user", "Hello?"), ("assistant", "reply to Hello?")]


@pytest.mark.parametrize("mode", ALL_MODES)
def test_reset_forgets(mode: ChatMode) -> None:
    chat, _ = engine(mode, word_llm(talking()))
    chat.chat("Hello?")
    chat.reset()
    assert chat.chat_history == []


@pytest.mark.parametrize("mode", ALL_MODES)
def test_a_streamed_turn_says_and_remembers_the_same(mode: ChatMode) -> None:
    whole, _ = engine(mode, word_llm(talking()))
    streamed, _ = engine(mode, word_llm(talking()))
    for message in ("Hello?", "And who?"):
        expected = whole.chat(message)
        stream = streamed.stream_chat(message)
        assert stream.source_nodes == expected.source_nodes
        assert [source.raw_input for source in stream.sources] == [
            source.raw_input for source in expected.sources
        ]
        assert "".join(stream.response_gen) == expected.response == stream.response
    assert list_messages(streamed) == list_messages(whole)


@pytest.mark.parametrize("mode", ALL_MODES)
def test_stream_closed_early_is_remembered_with_a_mark(mode: ChatMode) -> None:
    llm = word_llm(talking())
    chat, _ = engine(mode, llm)
    answer = chat.stream_chat("Hello?")
    for piece in answer:
        if piece:
            break
    assert list_messages(chat) == [("user", "Hello?"), ("assistant", "reply")]
    assert chat.chat_history[1].additional_kwargs == {STOPPED: True}
    assert llm.closed_streams == 1
    assert answer.text == "reply"


@pytest.mark.parametrize("mode", ALL_MODES)
def test_broken_stream_is_remembered_with_a_mark(mode: ChatMode) -> None:
    failure = LLMServerError("The server gave up.")
    llm = ScriptedLLM(["one two three"], counts_words=True, breaks_after=2, failure=failure)
    chat, _ = engine(mode, llm)
    with pytest.raises(LLMServerError, match="gave up"):
        list(chat.stream_chat("Hello?"))
    assert list_messages(chat) == [("user", "Hello?"), ("assistant", "one two")]
    assert chat.chat_history[1].additional_kwargs == {STOPPED: True}


@pytest.mark.parametrize("mode", ALL_MODES)
def test_a_turn_without_text_is_not_remembered(mode: ChatMode) -> None:
    failing, _ = engine(mode, word_llm([LLMServerError("The server gave up.")]))
    with pytest.raises(LLMServerError):
        failing.chat("Hello?", [ChatMessage(USER, "Hi."), ChatMessage(ASSISTANT, "Hi.")])
    assert failing.chat_history == []
    unread, _ = engine(mode, word_llm([]))
    unread.stream_chat("Hello?").close()
    assert unread.chat_history == []


@pytest.mark.parametrize("mode", WITH_DOCUMENTS)
def test_without_passages_no_mode_calls_a_model_or_remembers(mode: ChatMode) -> None:
    llm = word_llm([])
    chat, _ = engine(mode, llm, [])
    assert str(chat.chat("Hello?")) == NOTHING_FOUND
    assert (llm.calls, chat.chat_history) == ([], [])


@pytest.mark.parametrize("mode", ALL_MODES)
def test_braces_in_a_message_stay_text_in_this_turn_and_the_next(mode: ChatMode) -> None:
    llm = word_llm(lambda call: "{context_str}")
    chat, _ = engine(mode, llm, system_prompt="{query_str}")
    chat.chat("{context_str} {system_prompt}")
    chat.chat("{query_str}")
    for call in llm.calls:
        user_text = "\n".join(
            message.content for message in call.messages if message.role is not MessageRole.SYSTEM
        )
        assert user_text.count("Ada wrote it.") == (
            1 if call.prompt in ("chat_text_qa", "context_chat") else 0
        )
    assert list_messages(chat)[0] == ("user", "{context_str} {system_prompt}")
    if mode in (ChatMode.SIMPLE, ChatMode.CONTEXT):
        assert llm.calls[1].messages[1].content == "{context_str} {system_prompt}"
        assert llm.calls[1].messages[0].content.startswith("{query_str}")


@pytest.mark.parametrize("mode", ALL_MODES)
@pytest.mark.parametrize("window", [300, 500, 2000])
def test_passages_and_history_beyond_the_window_still_answer(mode: ChatMode, window: int) -> None:
    llm = word_llm(lambda call: "fine " * 30, window)
    found = nodes(*[f"passage{n} " + "word " * 80 for n in range(20)])
    history = [ChatMessage((USER, ASSISTANT)[n % 2], f"message{n} " + "word " * 60) for n in range(40)]
    chat, _ = engine(mode, llm, found)
    chat.chat("Hello?", history)
    for call in llm.calls:
        assert sum(len(message.content.split()) + MESSAGE_TOKENS for message in call.messages) <= window - 40
    if mode is not ChatMode.SIMPLE:
        sent = " ".join(message.content for call in llm.calls for message in call.messages)
        assert all(f"passage{n} " in sent for n in range(20))
    if mode in (ChatMode.CONTEXT, ChatMode.SIMPLE) and window == 2000:
        assert "message39" in "".join(message.content for message in llm.calls[0].messages)


def test_the_memory_limit_applies_to_a_history_argument_too() -> None:
    llm = word_llm(talking())
    memory = ChatMemoryBuffer(4, count=llm.count_tokens)
    chat, _ = engine(ChatMode.SIMPLE, llm, memory=memory)
    given = [ChatMessage((USER, ASSISTANT)[n % 2], f"message {n}") for n in range(6)]
    chat.chat("Hello?", given)
    assert [message.content for message in llm.calls[0].messages[1:]] == ["message 4", "message 5", "Hello?"]
    assert len(chat.chat_history) == 8


def test_response_mode_combines_several_packs_into_one_answer() -> None:
    llm = word_llm(talking())
    chat = chat_engine(
        "context",
        llm=llm,
        retriever=ListRetriever(TWO),
        memory=ChatMemoryBuffer(count=llm.count_tokens),
        response_mode="refine",
    )
    chat.chat("Hello?")
    assert prompts(llm) == ["context_chat", "chat_refine"]


@pytest.mark.parametrize("message", ["", " \n"])
def test_an_empty_message_is_refused(message: str) -> None:
    chat, retriever = engine(ChatMode.CONTEXT, word_llm([]))
    with pytest.raises(QuestionError):
        chat.chat(message)
    assert (retriever.asked, chat.chat_history) == ([], [])


def test_turns_of_two_threads_do_not_mix() -> None:
    both = threading.Barrier(2, timeout=20)

    def rule(call: LLMCall) -> str:
        both.wait()
        return f"reply to {call.variables['query_str']}"

    class Slow(SimpleChatStore):
        def add_messages(self, key: str, messages: Sequence[ChatMessage]) -> None:
            time.sleep(0.001)  # the other thread's turn
            super().add_messages(key, messages)

    llm = UnlockedLLM(rule)
    chat, _ = engine(ChatMode.CONTEXT, llm, memory=ChatMemoryBuffer(3000, chat_store=Slow()))

    def talk(name: str) -> None:
        for n in range(20):
            chat.chat(f"{name}{n}")

    threads = [threading.Thread(target=talk, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    history = list_messages(chat)
    assert len(history) == 80
    for (_, question), (_, answer) in zip(history[::2], history[1::2], strict=True):
        assert answer == f"reply to {question}"


def test_the_trace_of_a_turn_sums_up_all_its_calls() -> None:
    llm = word_llm(talking())
    chat, _ = engine(ChatMode.CONDENSE_QUESTION, llm)
    chat.chat("Hello?")
    trace = chat.chat("And who?").trace
    assert trace is not None
    assert (trace.name, trace.facts["mode"], trace.facts["history"], trace.facts["calls"]) == (
        "chat",
        "condense_question",
        2,
        2,
    )
    sent = [sum(len(message.content.split()) for message in call.messages) for call in llm.calls[1:]]
    assert trace.facts["prompt_tokens"] == sum(sent)
    assert all(step.seconds >= 0 for step in trace.walk())


def test_it_talks_in_an_event_loop() -> None:
    async def talk() -> list[str]:
        chat, _ = engine(ChatMode.CONTEXT, word_llm(talking()))
        first = await chat.achat("Hello?")
        stream = await chat.astream_chat("And who?")
        pieces = [piece async for piece in stream.async_response_gen()]
        return [first.response, *pieces, *(message.content for message in chat.chat_history[2:])]

    assert asyncio.run(talk()) == [
        "reply to Hello?",
        "reply",
        " to",
        " And",
        " who?",
        "And who?",
        "reply to And who?",
    ]
