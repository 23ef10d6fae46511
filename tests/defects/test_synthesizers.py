"""Every call fits its window whatever was said before, passages are packed once and stay in order, and braces
are only text."""

from __future__ import annotations

from collections import Counter

import pytest

from ragcore.llms.base import LLM, LLMCall
from ragcore.llms.scripted import ScriptedLLM
from ragcore.memory import ChatMemoryBuffer
from ragcore.prompts.document_text import CLOSING, OPENING
from ragcore.prompts.prompt import Passage
from ragcore.prompts.templates import ChatPromptTemplate, PromptTemplate
from ragcore.prompts.wording import REFINE
from ragcore.response_synthesizers.packer import MESSAGE_TOKENS, Packer
from ragcore.response_synthesizers.response_mode import ResponseMode
from ragcore.response_synthesizers.synthesizer import Synthesizer, get_response_synthesizer
from ragcore.schema import ChatMessage, MessageRole
from tests.ragcore.response_synthesizers.doubles import (
    ListRetriever,
    nodes,
    passages_of,
    prompts,
    shown,
    word_llm,
)

SIX = nodes(*[f"passage{number} " + "word " * 99 for number in range(1, 7)])


def sent(llm: LLM, call: LLMCall) -> int:
    """Tokens of a call whose messages call no tools."""
    return sum(llm.count_tokens(message.content) + MESSAGE_TOKENS for message in call.messages())


@pytest.mark.parametrize("mode", ["refine", "compact"])
@pytest.mark.parametrize("window", [300, 700, 2000])
@pytest.mark.parametrize("length", [100, 600, 5000])
def test_d06_an_answer_of_any_length_fits_into_the_next_call(mode: str, window: int, length: int) -> None:
    llm = word_llm(lambda call: "blah " * length, window)
    Synthesizer(llm, mode).synthesize("What?", SIX)
    assert [number for call in llm.calls for number in dict.fromkeys(shown(call.call))][-1] == 6
    assert {number for call in llm.calls for number in shown(call.call)} == set(range(1, 7))
    assert all(sent(llm, call.call) <= window - 40 for call in llm.calls)


@pytest.mark.parametrize(
    ("window", "calls"), [(300, 6), (400, 3), (500, 2), (700, 2), (1000, 1), (2000, 1), (4000, 1), (8000, 1)]
)
def test_d07_compact_makes_few_calls_in_windows_of_any_size(window: int, calls: int) -> None:
    llm = word_llm(lambda call: "A", window)
    Synthesizer(llm, ResponseMode.COMPACT).synthesize("What?", SIX)
    assert prompts(llm) == ["text_qa", *["refine"] * (calls - 1)]
    assert [number for call in llm.calls for number in shown(call.call)] == list(range(1, 7))


class CountingLLM(ScriptedLLM):
    """Notes every text whose tokens it was asked for."""

    def __init__(self) -> None:
        super().__init__(lambda call: "A", context_window=700, num_output=40, counts_words=True)
        self.counted: Counter[str] = Counter()

    def count_tokens(self, text: str) -> int:
        self.counted[text] += 1
        return super().count_tokens(text)


def test_d07_each_passage_is_packed_once() -> None:
    llm = CountingLLM()
    trace = Synthesizer(llm, ResponseMode.COMPACT).synthesize("What?", SIX).trace
    assert trace is not None
    packed = [step.facts["passages"] for step in trace.spans("pack")]
    assert packed == [shown(call.call) for call in llm.calls]
    alone = {
        text: times
        for text, times in llm.counted.items()
        if text.count("passage") == 1 and text.startswith("[")
    }
    assert len(alone) == 6
    assert set(alone.values()) == {1}


def test_d16_too_many_passages_fit_and_the_trace_names_the_rest() -> None:
    llm = word_llm(lambda call: "A", 300)
    trace = (
        Synthesizer(llm, ResponseMode.SIMPLE_SUMMARIZE)
        .synthesize("What?", nodes(*["word " * 500] * 60))
        .trace
    )
    assert trace is not None
    (facts,) = (step.facts for step in trace.spans("pack"))
    assert facts["passages"] + facts["left_out"] == list(range(1, 61))
    assert facts["left_out"]
    assert set(facts["cut_short"]) == set(facts["passages"])
    assert facts["tokens"] <= facts["window"] == 260


def test_d23_refine_reads_the_parts_of_a_passage_in_their_order() -> None:
    words = [f"w{number}" for number in range(1000)]
    llm = word_llm(lambda call: "A", 300)
    Synthesizer(llm, ResponseMode.REFINE).synthesize("What?", nodes(" ".join(words)))
    assert len(llm.calls) > 4
    assert " ".join(passage.text for call in llm.calls for passage in passages_of(call.call)).split() == words


@pytest.mark.parametrize(
    "mode", [mode for mode in ResponseMode if mode not in (ResponseMode.GENERATION, ResponseMode.NO_TEXT)]
)
def test_d24_prompts_have_passages_as_text_and_not_as_a_list(mode: ResponseMode) -> None:
    llm = word_llm(lambda call: "A")
    Synthesizer(llm, mode).synthesize("What?", nodes("first line\nsecond 'line'", "other"))
    said = "\n".join(message.content for call in llm.calls for message in call.messages)
    assert "first line\nsecond 'line'" in said
    assert not any(mark in said for mark in ("['", '["', "\\n", "Passage("))


INJECTED = "Tell me {context_str} and {query_str} and {existing_answer} {{x}}"


def test_d25_braces_in_messages_are_never_filled_in() -> None:
    from ragcore.chat_engine.context import CHAT_PROMPTS, ContextChatEngine

    llm = word_llm(lambda call: "Said {context_str}.")
    engine = ContextChatEngine(
        ListRetriever(nodes("secret {query_str}")),
        Synthesizer(llm, "refine", CHAT_PROMPTS),
        ChatMemoryBuffer(token_limit=1000),
    )
    engine.chat(INJECTED)
    engine.chat("And {context_str}?")
    first, second = (call.messages for call in llm.calls)

    def sent_text(question: str) -> str:
        found = f"{OPENING}\n[1] book.pdf, page 1\nsecret {{query_str}}\n{CLOSING}"
        return f"Passages:\n\n{found}\n\nQuestion: {question}\nAnswer:"

    assert first[-1].content == sent_text(INJECTED)
    assert [message.content for message in second[1:]] == [
        INJECTED,
        "Said {context_str}.",
        sent_text("And {context_str}?"),
    ]


def test_d25_a_template_of_the_users_own_fills_only_itself() -> None:
    llm = word_llm(lambda call: "A")
    chat = ChatPromptTemplate.from_messages([("system", "Use {context_str}"), ("user", "{query_str}")])
    past = [ChatMessage(MessageRole.USER, INJECTED), ChatMessage(MessageRole.ASSISTANT, "{query_str}")]
    get_response_synthesizer(llm, text_qa_template=chat).synthesize(INJECTED, nodes("{query_str}"), past)
    assert [message.content for message in llm.calls[0].messages] == [
        "Use (in the user's message)",
        INJECTED,
        "{query_str}",
        f"{OPENING}\n[1] book.pdf, page 1\n{{query_str}}\n{CLOSING}\n\n{INJECTED}",
    ]


def test_d40_the_room_is_measured_on_the_messages_that_are_sent() -> None:
    """A long message of the system's and tools leave less room, word for word."""
    function = {"name": "search", "description": "finds " * 50, "parameters": {}}
    chat = ChatPromptTemplate.from_messages(
        [("system", "rule " * 300), ("user", "{context_str} {query_str}")]
    )
    short = PromptTemplate("{context_str} {query_str}")
    passages = tuple(Passage("w " * 9, number) for number in range(1, 200))  # 10 tokens each
    llm = word_llm([], 1000)
    told = {"query_str": "why"}
    rooms = {}
    for name, packer, prompt in [
        ("short", Packer(llm), short),
        ("chat", Packer(llm), chat),
        ("tools", Packer(llm, tools=[{"type": "function", "function": function}]), short),
    ]:
        call = packer.take(prompt, told, passages).calls[0]
        schemas = sum(llm.count_tokens(str(tool)) for tool in call.tools)
        assert 960 - 10 < sent(llm, call) + schemas <= 960
        rooms[name] = len(shown(call))
    assert rooms == {"short": 95, "chat": 64, "tools": 89}


def test_d40_calls_of_tools_in_the_history_cost_what_they_say() -> None:
    calls = [{"id": "1", "type": "function", "function": {"name": "search", "arguments": "word " * 300}}]
    history = [
        ChatMessage(MessageRole.USER, "first"),
        ChatMessage(MessageRole.ASSISTANT, "", additional_kwargs={"tool_calls": calls}),
        ChatMessage(MessageRole.TOOL, "result"),
        ChatMessage(MessageRole.USER, "second"),
    ]
    many = tuple(Passage("w " * 9, number) for number in range(200))  # 10 tokens each
    told = {"query_str": "?", "existing_answer": "A"}
    tight = Packer(word_llm([], 400)).take(REFINE, told, many, history).calls[0]
    assert [message.content for message in tight.history] == ["second"]
    roomy = Packer(word_llm([], 1000)).take(REFINE, told, many, history).calls[0]
    assert roomy.history == tuple(history)
    assert 950 < sent(word_llm([]), roomy) + len(str(calls).split()) <= 960
