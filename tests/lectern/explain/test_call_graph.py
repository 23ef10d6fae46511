"""The film of an answer: every call once and in order, with what really stood in its prompt."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict
from itertools import count, pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lectern.explain.call_graph import CallGraph, build_call_graph
from lectern.ui.widgets.call_graph import _details, _subtitle, summary
from ragcore.agent.react import ReActAgent
from ragcore.chat_modes import chat_engine
from ragcore.errors import LLMTimeoutError
from ragcore.llms.base import LLMCall
from ragcore.llms.scripted import ScriptedLLM
from ragcore.memory import ChatMemoryBuffer
from ragcore.observe import Span
from ragcore.query_engine.retriever import RetrieverQueryEngine
from ragcore.response_synthesizers.response_mode import ResponseMode
from ragcore.response_synthesizers.synthesizer import Synthesizer
from ragcore.schema import ChatMessage, MessageRole, NodeWithScore, QueryBundle, TextNode
from ragcore.tools import FunctionTool

MODES = [mode.value for mode in ResponseMode]
ONE_EACH = ("refine", "accumulate")


def passages(number: int, words: int = 12) -> list[NodeWithScore]:
    """Each with a word that no other has."""
    return [
        NodeWithScore(TextNode(text=f"passage-{n:03d}. " + "alpha beta gamma delta. " * words))
        for n in range(1, number + 1)
    ]


class Found:
    def __init__(self, nodes: list[NodeWithScore]) -> None:
        self.nodes = nodes

    def retrieve(self, query: str | QueryBundle) -> list[NodeWithScore]:
        return self.nodes


def talker(
    words: int = 20, silent: frozenset[int] = frozenset(), broken: int = 0
) -> Callable[[LLMCall], str | Exception]:
    """Replies that each have a word of their own; the `silent` ones are empty, and the one `broken` fails."""
    numbers = count(1)

    def reply(call: LLMCall) -> str | Exception:
        number = next(numbers)
        if number == broken:
            return LLMTimeoutError("The model is silent.")
        return "" if number in silent else f"reply-{number:03d} " + "word " * words

    return reply


def trace_answer(
    mode: str,
    number: int,
    window: int,
    *,
    silent: frozenset[int] = frozenset(),
    broken: int = 0,
    stop_after: int = 10_000,
) -> Span:
    """The trace of an answer, in which something may have gone wrong."""
    llm = ScriptedLLM(talker(silent=silent, broken=broken), context_window=window, num_output=60)
    answer = Synthesizer(llm, mode, workers=1).stream("What?", passages(number))
    with closing(answer):
        try:
            for place, _piece in enumerate(answer):
                if place >= stop_after:
                    break
        except LLMTimeoutError:
            assert broken
    assert answer.trace is not None
    return answer.trace


def markers(word: str, text: str) -> list[int]:
    return sorted({int(number) for number in re.findall(rf"{word}-(\d+)", text)})


def prompt_of(shown: CallGraph, number: int) -> str:
    call = shown.call(number)
    assert call is not None
    return "\n".join(text for said in call.messages for _origin, text in said.parts)


def spoken(trace: Span) -> list[str]:
    return [
        "".join(part["text"] for message in call.facts["messages"] for part in message["parts"])
        for call in trace.spans("llm")
    ]


@given(
    mode=st.sampled_from(MODES),
    number=st.integers(0, 9),
    window=st.sampled_from((330, 420, 800, 8192)),
    silent=st.frozensets(st.integers(1, 6), max_size=3),
    broken=st.integers(0, 6),
    stop_after=st.sampled_from((0, 1, 7, 40, 10_000)),
)
def test_every_call_appears_once_in_order_for_any_outcome(
    mode: str, number: int, window: int, silent: frozenset[int], broken: int, stop_after: int
) -> None:
    trace = trace_answer(mode, number, window, silent=silent, broken=broken, stop_after=stop_after)
    shown = build_call_graph(trace)
    assert [call.number for call in shown.calls] == list(range(1, len(trace.spans("llm")) + 1))
    assert ["".join(t for said in call.messages for _o, t in said.parts) for call in shown.calls] == spoken(
        trace
    )
    assert [step.call for step in shown.steps if step.kind == "call"] == [call.number for call in shown.calls]
    for call in shown.calls:
        assert all(source < call.number for source in call.inputs)
    assert Span.from_dict(json.loads(json.dumps(trace.to_dict()))) is not trace
    # as it is stored
    assert build_call_graph(Span.from_dict(json.loads(json.dumps(trace.to_dict())))) == shown
    assert json.loads(json.dumps(asdict(shown)))["shape"] == shown.shape


@example(mode="simple_summarize", number=11, window=340, silent=frozenset())
@given(
    mode=st.sampled_from(
        ("refine", "compact", "tree_summarize", "accumulate", "compact_accumulate", "simple_summarize")
    ),
    number=st.integers(1, 12),
    window=st.sampled_from((340, 420, 800, 8192)),
    silent=st.frozensets(st.integers(1, 6), max_size=2),
)
def test_call_has_the_passages_and_replies_of_its_prompt(
    mode: str, number: int, window: int, silent: frozenset[int]
) -> None:
    trace = trace_answer(mode, number, window, silent=silent)
    shown = build_call_graph(trace)
    for call in shown.calls:
        prompt = prompt_of(shown, call.number)
        # A passage in parts has its word in the first of them only.
        assert set(markers("passage", prompt)) <= set(call.passages)
        assert set(markers("reply", prompt)) <= {
            markers("reply", shown.calls[n - 1].reply)[0] for n in call.inputs
        }
    called = [n for call in shown.calls for n in call.passages]
    # by one call that has no room
    left_out = [n for step in trace.spans("pack") for n in step.facts.get("left_out", ())]
    assert not left_out or mode == "simple_summarize"
    assert {*called, *left_out} == set(range(1, number + 1))
    assert not set(called) & set(left_out)


@given(number=st.integers(2, 14), window=st.sampled_from((340, 420, 560)))
def test_tree_summaries_feed_later_calls_and_the_last_answers(number: int, window: int) -> None:
    shown = build_call_graph(trace_answer("tree_summarize", number, window))
    used = {source for call in shown.calls for source in call.inputs}
    assert used == {call.number for call in shown.calls[:-1]}
    for before, after in pairwise(shown.calls):
        assert after.level in (before.level, before.level + 1)
    for call in shown.calls:
        assert all(shown.calls[source - 1].level == call.level - 1 for source in call.inputs)
        assert bool(call.passages) == (call.level == 1)
        shows = {origin for said in call.messages for origin, _text in said.parts}
        assert ("documents" in shows, "answer" in shows) == (call.level == 1, call.level > 1)


def test_strip_shows_what_each_call_changed() -> None:
    replies = iter(
        (
            "The tower was built in 1871.",
            "The tower was built in 1872 by Ada.",
            "The tower was built in 1872 by Ada.",
        )
    )
    llm = ScriptedLLM(lambda call: next(replies))
    trace = Synthesizer(llm, "refine").synthesize("When?", passages(3)).trace
    assert trace is not None
    shown = build_call_graph(trace)
    assert shown.shape == "strip"
    assert [(change.kind, change.text) for change in shown.calls[1].changes] == [
        ("same", "The tower was built in"),
        ("removed", " 1871"),
        ("added", " 1872 by Ada"),
        ("same", "."),
    ]
    assert [change.kind for change in shown.calls[2].changes] == ["same"]
    assert [call.inputs for call in shown.calls] == [(), (1,), (2,)]


@pytest.mark.parametrize(
    ("mode", "shape"),
    [
        ("refine", "strip"), ("compact", "strip"), ("tree_summarize", "tree"), ("accumulate", "rows"),
        ("compact_accumulate", "rows"), ("simple_summarize", "single"), ("generation", "single"),
        ("no_text", "none"),
    ],
)  # fmt: skip
def test_the_shape_follows_the_way_of_answering(mode: str, shape: str) -> None:
    engine = RetrieverQueryEngine(Found(passages(3)), Synthesizer(ScriptedLLM(talker()), mode))
    trace = engine.query("What?").trace
    assert trace is not None
    shown = build_call_graph(trace)
    assert (shown.shape, shown.mode, shown.chat_mode) == (shape, mode, "")
    assert len(shown.calls) == {"refine": 3, "accumulate": 3, "no_text": 0}.get(mode, 1)


def test_a_follow_up_is_condensed_first() -> None:
    llm = ScriptedLLM(talker())
    talk = [ChatMessage(MessageRole.USER, "Who built it?"), ChatMessage(MessageRole.ASSISTANT, "Ada.")]
    memory = ChatMemoryBuffer(token_limit=2000, messages=talk)
    found = Found(passages(2))
    engine = chat_engine(
        "condense_plus_context", llm=llm, retriever=found, memory=memory, response_mode="refine"
    )
    trace = engine.chat("And when?").trace
    assert trace is not None
    shown = build_call_graph(trace)
    assert [call.kind for call in shown.calls] == ["condense", "answer", "refine"]
    assert (shown.shape, shown.chat_mode) == ("strip", "condense_plus_context")
    assert shown.calls[1].inputs == ()  # the question is no earlier answer
    assert "history" in {origin for said in shown.calls[0].messages for origin, _text in said.parts}


def test_an_agent_works_in_rounds_with_its_tools() -> None:
    def multiply(a: int, b: int) -> int:
        """The product."""
        return a * b

    llm = ScriptedLLM(
        [
            'Thought: I need it.\nAction: multiply\nAction Input: {"a": 6, "b": 7}',
            "Thought: I know.\nAnswer: It is 42.",
        ]
    )
    trace = (
        ReActAgent.from_tools([FunctionTool.from_defaults(multiply)], llm=llm)
        .chat("What is 6 times 7?")
        .trace
    )
    assert trace is not None
    shown = build_call_graph(trace)
    assert shown.shape == "rounds"
    assert [(step.kind, step.group) for step in shown.steps] == [("call", "1"), ("tool", "1"), ("call", "2")]
    tool = shown.steps[1]
    assert tool.text.startswith("multiply")
    assert tool.result == "42"
    assert [call.kind for call in shown.calls] == ["act", "act"]


def test_a_call_of_any_other_origin_is_a_call_too() -> None:
    def tree() -> Iterator[Span]:
        yield Span("llm", {"prompt": "rephrase", "reply": "x"}, seconds=0.2)
        yield Span(
            "retrieve",
            {"question": "q", "found": [{"id": "a"}]},
            seconds=0.1,
            children=[Span("llm", {"prompt": "hyde"})],
        )

    shown = build_call_graph(Span("query", children=list(tree()), seconds=0.5))
    assert [(call.number, call.kind, call.prompt) for call in shown.calls] == [
        (1, "other", "rephrase"),
        (2, "other", "hyde"),
    ]
    assert [(step.kind, step.passages, step.call) for step in shown.steps] == [
        ("call", None, 1), ("retrieve", 1, None), ("call", None, 2),
    ]  # fmt: skip
    assert shown.calls[1].milliseconds == 0.0  # it never ended


@pytest.mark.parametrize(
    ("provider", "counted_here", "told"),
    [
        ("openai", True, "about 2,300 tokens"),
        ("openai", False, "2,310 tokens"),
        ("ragcore", True, "2,310 tokens"),
    ],
)
def test_tokens_that_a_server_did_not_tell_are_no_exact_ones(
    provider: str, counted_here: bool, told: str
) -> None:
    facts = {
        "provider": provider,
        "tokens_estimated": counted_here,
        "prompt_tokens": 2_000,
        "completion_tokens": 310,
    }
    (call,) = build_call_graph(Span("query", children=[Span("llm", facts, seconds=0.2)], seconds=0.5)).calls
    assert call.estimated == told.startswith("about")
    assert told in _subtitle(call).split(" · ")
    assert ("counted here" in str(_details(call)["figures"])) == call.estimated


@given(
    replies=st.lists(
        st.sampled_from(["", "It rains.", "It snows.", "It rains and snows."]), min_size=2, max_size=6
    )
)
@example(replies=["It rains.", "It snows.", "It rains."])
def test_no_more_calls_changed_the_answer_than_read_on(replies: list[str]) -> None:
    hits = passages(len(replies))
    answer = Synthesizer(ScriptedLLM(replies), "refine").synthesize("What?", hits)
    assert answer.trace is not None
    graph = build_call_graph(answer.trace)
    written = [reply for reply in replies if reply]
    changed = sum(before != after for before, after in pairwise(written))
    more = f"{len(replies) - 1} more call" + "s" * (len(replies) > 2)
    told = f"Read on in {more}, {changed} of which changed the answer."
    if not changed:
        told = f"Read on in {more}, none of which changed the first answer."
    assert summary(graph) == told
    assert changed < len(graph.calls)


def test_a_rewritten_question_is_no_call_that_read_on() -> None:
    """One call condenses the question, one answers: nothing was read on."""
    history = ChatMemoryBuffer(
        messages=[ChatMessage(MessageRole.USER, "Hi"), ChatMessage(MessageRole.ASSISTANT, "Hello.")]
    )
    llm = ScriptedLLM(["Where does it rain?", "In Bergen. [1]"])
    reply = chat_engine("condense_plus_context", llm=llm, retriever=Found(passages(1)), memory=history).chat(
        "Where?"
    )
    assert reply.trace is not None
    assert summary(build_call_graph(reply.trace)) == "All passages fit into one question to the model."
