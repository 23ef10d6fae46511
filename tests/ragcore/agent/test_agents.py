"""What every agent promises, whether it works by text or by function calls."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.agent import Agent, End, OpenAIAgent, ReActAgent
from ragcore.chat_engine.base import STOPPED
from ragcore.errors import ConfigError, ContextWindowError, LLMServerError, QuestionError
from ragcore.llms.base import Generation
from ragcore.llms.http_errors import EmptyAnswerError
from ragcore.llms.scripted import ScriptedLLM
from ragcore.memory import ChatMemoryBuffer
from ragcore.prompts.wording import REACT_FINISH
from ragcore.schema import ChatMessage, MessageRole, NodeWithScore, Response, TextNode
from ragcore.tools import FunctionTool, QueryEngineTool, ToolOutput, tool
from tests.ragcore.agent.doubles import TOOLS, act, add, caller, choices, contents, said, tools_of, wanting

USER, ASSISTANT = MessageRole.USER, MessageRole.ASSISTANT
REACT, OPENAI = "react", "openai"
Say = Callable[..., "str | Generation"]


class Kind:
    """How one kind of agent is made, and how its model says things."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.agent: type[Agent] = ReActAgent if name == REACT else OpenAIAgent

    def act(self, name: str, arguments: Any) -> str | Generation:
        return act(name, arguments) if self.name == REACT else wanting((name, arguments))

    def said(self, text: str) -> str:
        return said(text) if self.name == REACT else text

    def made(
        self, *replies: str | Generation | Exception, tools: Any = None, **options: Any
    ) -> tuple[Agent, ScriptedLLM]:
        llm = caller(*replies, window=options.pop("window", 8192))
        return self.agent.from_tools(TOOLS if tools is None else tools, llm, **options), llm


@pytest.fixture(params=[REACT, OPENAI])
def kind(request: pytest.FixtureRequest) -> Kind:
    return Kind(request.param)


def history(agent: Agent) -> list[tuple[str, str]]:
    """What was said by person and model; calls of tools and their results left out."""
    return [
        (m.role.value, m.content) for m in agent.chat_history if m.content and m.role in (USER, ASSISTANT)
    ]


@pytest.mark.smoke
def test_agent_answers_from_tools_and_lists_results_in_order(kind: Kind) -> None:
    agent, llm = kind.made(
        kind.act("add", {"a": 1, "b": 2}), kind.act("add", {"a": 3, "b": 4}), kind.said("It is 7.")
    )
    answer = agent.chat("1 + 2 + 4?")
    assert (str(answer), answer.end, len(llm.calls)) == ("It is 7.", End.ANSWERED, 3)
    assert [source.raw_output for source in answer.sources] == [3, 7]
    assert repr(answer.sources[0]) == (
        "ToolOutput(content='3', tool_name='add', raw_input={'args': (), 'kwargs': {'a': 1, 'b': 2}}, "
        "raw_output=3)"
    )
    assert (answer.source_nodes, history(agent)) == ((), [("user", "1 + 2 + 4?"), ("assistant", "It is 7.")])


def test_it_answers_at_once_when_it_needs_no_tool(kind: Kind) -> None:
    agent, llm = kind.made("Hello.")
    assert (str(agent.chat("Hi")), len(llm.calls)) == ("Hello.", 1)


def test_it_remembers_the_conversation(kind: Kind) -> None:
    agent, llm = kind.made(kind.act("add", {"a": 1, "b": 2}), kind.said("3."), kind.said("Three."))
    agent.chat("1 + 2?")
    agent.chat("In words?")
    shown = contents(llm)
    assert (shown[0], shown[-2:]) == (("user", "1 + 2?"), [("assistant", "3."), ("user", "In words?")])
    agent.reset()
    assert agent.chat_history == []


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("fail", {"why": "no paper"}, "Error: no paper"),
        ("sub", {"a": 1}, "Error: there is no tool called 'sub'. The tools are: add, fail, read_aloud."),
        ("add", {"a": "x"}, "Error: the arguments do not fit add. a: Input should be a valid integer"),
    ],
)
def test_a_failure_is_a_result_that_the_model_sees(kind: Kind, name: str, arguments: Any, told: str) -> None:
    agent, llm = kind.made(kind.act(name, arguments), kind.said("Sorry."))
    answer = agent.chat("Do it")
    assert str(answer) == "Sorry."
    assert (answer.sources[0].is_error, answer.sources[0].tool_name) == (True, name)
    assert answer.sources[0].content.startswith(told)
    assert contents(llm)[-1][1].removeprefix("Observation: ").startswith(told)


@pytest.mark.parametrize("name", ["_lookup", "lookup_", "__call__", "look-up"])
def test_a_tool_is_called_by_its_name_whatever_marks_are_in_it(kind: Kind, name: str) -> None:
    named = FunctionTool.from_defaults(lambda word: word.upper(), name=name, description="Look up.")
    agent, llm = kind.made(kind.act(name, {"word": "a"}), kind.said("Done."), tools=[named])
    assert [(source.tool_name, source.content) for source in agent.chat("Look up a").sources] == [(name, "A")]
    if kind.name == REACT:
        assert f"\nAction: {name}\n" in contents(llm)[-2][1]


def test_results_and_arguments_stand_before_the_model_as_json(kind: Kind) -> None:
    @tool
    def look(place: str) -> dict[str, Any]:
        """Look."""
        return {"naïve": [None, True], "place": place}

    agent, llm = kind.made(kind.act("look", {"place": "b'x'"}), kind.said("Done."), tools=[look])
    agent.chat("Look")
    (called, result) = contents(llm)[-2:]
    assert result[1].removeprefix("Observation: ") == '{"naïve": [null, true], "place": "b\'x\'"}'
    if kind.name == REACT:
        assert called == (
            "assistant",
            'Thought: I need a tool.\nAction: look\nAction Input: {"place": "b\'x\'"}',
        )


@pytest.mark.parametrize("rounds", [1, 2, 3, 4])
def test_every_round_may_act_and_the_last_may_answer(kind: Kind, rounds: int) -> None:
    acts = [kind.act("add", {"a": n, "b": 1}) for n in range(rounds - 1)]
    agent, llm = kind.made(*acts, kind.said("Done."), max_iterations=rounds)
    answer = agent.chat("Add up")
    assert (str(answer), answer.end) == ("Done.", End.ANSWERED)
    assert (len(llm.calls), len(answer.sources)) == (rounds, rounds - 1)


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_when_the_rounds_are_used_up_it_answers_from_what_it_has(kind: Kind, rounds: int) -> None:
    acts = [kind.act("add", {"a": n, "b": 1}) for n in range(rounds)]
    agent, llm = kind.made(*acts, kind.said("So far 3."), max_iterations=rounds)
    answer = agent.chat("Add up")
    assert (str(answer), answer.end) == ("So far 3.", End.LIMIT)
    assert (len(llm.calls), len(answer.sources)) == (rounds + 1, rounds)
    assert history(agent) == [("user", "Add up"), ("assistant", "So far 3.")]
    if kind.name == OPENAI:
        assert choices(llm) == ["auto"] * rounds + ["none"]
    else:
        assert contents(llm)[-1] == ("user", f"Observation: {rounds}\n\n{REACT_FINISH}")


def test_last_result_is_the_answer_if_the_model_never_answers(kind: Kind) -> None:
    wants = kind.act("add", {"a": 1, "b": 2})
    agent, _ = kind.made(wants, kind.act("fail", {"why": "x"}), wants, max_iterations=2)
    answer = agent.chat("Add up")
    assert (str(answer), answer.end, len(answer.sources)) == ("3", End.LIMIT, 2)
    nothing, _ = kind.made(kind.act("fail", {"why": "x"}), wants, max_iterations=1)
    assert str(nothing.chat("Add up")) == "I could not find an answer with the tools I have."


def test_return_direct_result_answers_if_its_tool_ran_alone(kind: Kind) -> None:
    agent, llm = kind.made(kind.act("read_aloud", {"text": "hush"}))
    answer = agent.chat("Read")
    assert (str(answer), answer.end, len(llm.calls)) == ("HUSH", End.RETURNED, 1)
    assert history(agent) == [("user", "Read"), ("assistant", "HUSH")]
    assert "".join(kind.made(kind.act("read_aloud", {"text": "hush"}))[0].stream_chat("Read")) == "HUSH"
    failing, _ = kind.made(kind.act("read_aloud", {"txt": "hush"}), kind.said("Sorry."))
    assert str(failing.chat("Read")) == "Sorry."


def test_an_empty_reply_is_requested_once_more(kind: Kind) -> None:
    agent, llm = kind.made(" \n", kind.said("Hello."))
    assert (str(agent.chat("Hi")), len(llm.calls)) == ("Hello.", 2)
    refused, llm = kind.made(EmptyAnswerError("nothing"), kind.said("Hello."))
    assert (str(refused.chat("Hi")), len(llm.calls)) == ("Hello.", 2)
    silent, _ = kind.made("", "")
    with pytest.raises(EmptyAnswerError, match="twice"):
        silent.chat("Hi")
    assert silent.chat_history == []


def test_the_answer_streams_and_tools_at_work_are_signs_of_life(kind: Kind) -> None:
    agent, _ = kind.made(kind.act("add", {"a": 1, "b": 2}), kind.said("It is three."))
    stream = agent.stream_chat("1 + 2?")
    pieces = list(stream)
    assert [piece for piece in pieces if piece] == ["It", " is", " three."]
    assert pieces[0] == ""
    assert (stream.response, [source.content for source in stream.sources]) == ("It is three.", ["3"])
    whole, _ = kind.made(kind.act("add", {"a": 1, "b": 2}), kind.said("It is three."))
    assert whole.chat("1 + 2?").response == "".join(pieces)


def test_in_an_event_loop_it_does_the_same(kind: Kind) -> None:
    async def talk() -> list[str]:
        agent, _ = kind.made(
            kind.act("add", {"a": 1, "b": 2}),
            kind.said("It is three."),
            kind.said("Bye."),
            kind.said("Well."),
        )
        first = await agent.achat("1 + 2?")
        stream = await agent.astream_chat("So?")
        pieces = [piece async for piece in stream.async_response_gen() if piece]
        return [first.response, first.sources[0].content, *pieces, str(await agent.aquery("Well?"))]

    assert asyncio.run(talk()) == ["It is three.", "3", "Bye.", "Well."]


def test_each_query_is_its_own_conversation_so_agents_can_nest(kind: Kind) -> None:
    inner, llm = kind.made(kind.said("Hello."), kind.act("add", {"a": 1, "b": 2}), kind.said("It is 3."))
    inner.chat("Hi")
    outer, _ = kind.made(
        kind.act("sums", {"input": "1 + 2?"}),
        kind.said("3, says the other."),
        tools=[QueryEngineTool.from_defaults(inner, "sums", "Knows sums.")],
    )
    answer = outer.chat("What is 1 + 2?")
    assert (str(answer), answer.sources[0].content) == ("3, says the other.", "It is 3.")
    assert [output.content for output in answer.sources[0].raw_output.metadata["sources"]] == ["3"]
    assert contents(llm, 1) == [("user", "1 + 2?")]
    assert history(inner) == [("user", "Hi"), ("assistant", "Hello.")]
    assert answer.trace is not None
    assert len(answer.trace.spans("agent")) == 2
    with pytest.raises(QuestionError):
        inner.query(" ")


@pytest.mark.parametrize("pieces", [0, 1, 2, 3, 30])
def test_a_stream_closed_early_leaves_a_whole_conversation(kind: Kind, pieces: int) -> None:
    agent, _ = kind.made(kind.act("add", {"a": 1, "b": 2}), kind.said("It is three."))
    stream = agent.stream_chat("1 + 2?")
    for _, _piece in zip(range(pieces), stream, strict=False):
        pass
    said_so_far = stream.text
    stream.close()
    assert history(agent) == ([("user", "1 + 2?"), ("assistant", said_so_far)] if said_so_far else [])
    calls = [call["id"] for m in agent.chat_history for call in m.additional_kwargs.get("tool_calls", [])]
    answered = [m.additional_kwargs["tool_call_id"] for m in agent.chat_history if m.role is MessageRole.TOOL]
    assert calls == answered
    if said_so_far and said_so_far != "It is three.":
        assert agent.chat_history[-1].additional_kwargs == {STOPPED: True}


def test_model_failure_in_a_later_round_leaves_nothing_behind(kind: Kind) -> None:
    agent, _ = kind.made(kind.act("add", {"a": 1, "b": 2}), LLMServerError("gone"))
    with pytest.raises(LLMServerError):
        agent.chat("1 + 2?")
    assert agent.chat_history == []


HITS = [NodeWithScore(TextNode(f"fact {n}", id_=f"n{n}"), 1.0) for n in range(4)]


class Engine:
    """Finds other passages for each question, and cites them."""

    def __init__(self, *found: list[NodeWithScore]) -> None:
        self.found = iter(found)

    def query(self, query: str) -> Response:
        nodes = tuple(next(self.found))
        return Response(" ".join(f"{hit.text} [{n}]." for n, hit in enumerate(nodes, 1)) or "Nothing.", nodes)


def test_citations_count_through_the_passages_of_all_tools(kind: Kind) -> None:
    docs = QueryEngineTool.from_defaults(Engine([HITS[0], HITS[1]], [HITS[2], HITS[0]]), name="docs")
    agent, llm = kind.made(
        kind.act("docs", {"input": "a"}),
        kind.act("docs", {"input": "b"}),
        kind.said("See [3]."),
        tools=[docs],
    )
    answer = agent.chat("What?")
    assert answer.source_nodes == (HITS[0], HITS[1], HITS[2])
    results = [
        text.removeprefix("Observation: ") for role, text in contents(llm) if role in ("tool", "user")
    ][-2:]
    assert results == ["fact 0 [1]. fact 1 [2].", "fact 2 [3]. fact 0 [1]."]
    stream = kind.made(
        kind.act("docs", {"input": "a"}),
        kind.said("So [1]."),
        tools=[QueryEngineTool.from_defaults(Engine([HITS[3]]), name="docs")],
    )[0].stream_chat("What?")
    assert (stream.response, stream.source_nodes) == ("So [1].", (HITS[3],))


def test_an_empty_retrieval_is_reported_and_not_remembered(kind: Kind) -> None:
    docs = QueryEngineTool.from_defaults(Engine([], [], []), name="docs")
    agent, _ = kind.made(kind.act("docs", {"input": "a"}), kind.said("Nothing."), tools=[docs])
    assert (str(agent.chat("What?")), agent.chat_history) == ("Nothing.", [])
    more, _ = kind.made(kind.act("docs", {"input": "a"}), kind.said("Hello Ada, nothing."), tools=[docs])
    more.chat("I am Ada")
    assert history(more) == [("user", "I am Ada"), ("assistant", "Hello Ada, nothing.")]


def test_tools_may_be_looked_up_for_each_message(kind: Kind) -> None:
    class Shelf:
        def retrieve(self, query: str) -> list[FunctionTool]:
            return [add] if "+" in query else []

    agent, llm = kind.made(
        kind.act("add", {"a": 1, "b": 2}), kind.said("3."), kind.said("Hi."), tools=[], tool_retriever=Shelf()
    )
    assert agent.chat("1 + 2?").sources[0].content == "3"
    agent.chat("Hello")
    if kind.name == OPENAI:
        assert [tools_of(logged.call) for logged in llm.calls] == [["add"], ["add"], []]
    else:
        assert [len(logged.variables["tools"]) for logged in llm.calls] == [1, 1, 0]


def test_invalid_arguments_are_refused_by_the_constructor(kind: Kind) -> None:
    class Shelf:
        def retrieve(self, query: str) -> list[FunctionTool]:
            return []

    with pytest.raises(ValueError, match="not both"):
        kind.made(tool_retriever=Shelf())
    with pytest.raises(ValueError, match="different names"):
        kind.made(tools=[add, add])
    with pytest.raises(ValueError, match="max_iterations must be at least 1, not 0"):
        kind.made(max_iterations=0)
    with pytest.raises(ValueError, match="not both"):
        kind.made(system_prompt="x", prefix_messages=[ChatMessage(USER, "y")])
    with pytest.raises(QuestionError):
        kind.made()[0].chat(" ")


def test_what_is_neither_a_tool_nor_a_function_is_refused(kind: Kind) -> None:
    with pytest.raises(ValueError, match=r"'len' is no tool"):
        kind.made(tools=["len"])


def test_system_prompt_context_and_prefix_reach_the_model(kind: Kind) -> None:
    agent, llm = kind.made(kind.said("Aye."), system_prompt="Talk like a pirate.", context="The ship is red.")
    agent.chat("Hi")
    assert llm.calls[0].messages[0].content.startswith("Talk like a pirate.\n\nThe ship is red.")
    prefix = [
        ChatMessage(MessageRole.SYSTEM, "Be brief."),
        ChatMessage(USER, "Example?"),
        ChatMessage(ASSISTANT, "So."),
    ]
    agent, llm = kind.made(kind.said("Aye."), prefix_messages=prefix)
    agent.chat("Hi")
    assert llm.calls[0].messages[0].content.startswith("Be brief.")
    assert contents(llm) == [("user", "Example?"), ("assistant", "So."), ("user", "Hi")]
    assert history(agent) == [("user", "Hi"), ("assistant", "Aye.")]


def test_history_of_the_caller_is_unchanged_and_may_be_empty(kind: Kind) -> None:
    agent, llm = kind.made(kind.said("One."), kind.said("Two."))
    given = [ChatMessage(USER, "Hello?"), ChatMessage(ASSISTANT, "Hi.")]
    agent.chat("First", given)
    assert len(given) == 2
    agent.chat("Second", [])
    assert (contents(llm), history(agent)) == (
        [("user", "Second")],
        [("user", "Second"), ("assistant", "Two.")],
    )


def test_long_result_is_shortened_to_the_window_with_the_message(kind: Kind) -> None:
    @tool
    def read() -> str:
        """Read."""
        return "word " * 5000

    before = [ChatMessage((USER, ASSISTANT)[n % 2], f"old{n} " * 50) for n in range(20)]
    agent, llm = kind.made(
        kind.act("read", {}),
        kind.act("read", {}),
        kind.said("Long."),
        tools=[read],
        window=2000,
        chat_history=before,
    )
    answer = agent.chat("What does it say?")
    for logged in llm.calls:
        assert sum(llm.count_tokens(message.content) for message in logged.messages) <= 2000 - 768
        assert "What does it say?" in [message.content for message in logged.messages]
    assert [len(source.content) for source in answer.sources] == [25000, 25000]
    assert answer.trace is not None
    assert answer.trace.spans("pack")[-1].facts["results_shortened"] == 2
    assert answer.trace.spans("pack")[0].facts["history_left_out"] > 0
    with pytest.raises(ContextWindowError, match=r"tools need \d+ tokens"):
        kind.made(kind.said("x"), window=2000)[0].chat("word " * 3000)
    card = {"description": "Read. " * 50, "fn_schema": add.metadata.fn_schema}
    many = [FunctionTool.from_defaults(add.fn, f"read_{n}", **card) for n in range(30)]  # type: ignore[arg-type]
    with pytest.raises(ContextWindowError, match=r"tools need \d+ tokens"):
        kind.made(kind.said("x"), tools=many, window=2000)[0].chat("Read.")


def test_the_trace_shows_steps_and_tools(kind: Kind) -> None:
    agent, _ = kind.made(kind.act("add", {"a": 1, "b": 2}), kind.said("3."))
    trace = agent.chat("1 + 2?").trace
    assert trace is not None
    assert (trace.name, trace.facts["question"], trace.facts["calls"]) == ("agent", "1 + 2?", 2)
    assert [step.name for step in trace.children] == ["step", "step"]
    assert [step.facts for step in trace.children[0].spans("tool")] == [
        {"tool": "add", "arguments": '{"a": 1, "b": 2}', "result": "3", "is_error": False}
    ]
    assert all(step.seconds >= 0 for step in trace.walk())


def test_two_threads_may_use_one_agent() -> None:
    both = threading.Barrier(2, timeout=20)

    @tool
    def wait() -> str:
        """Wait."""
        both.wait()
        return "waited"

    def rule(call: Any) -> str:
        return (
            said(f"done {call.variables['query_str']}") if call.variables["observations"] else act("wait", {})
        )

    agent = ReActAgent.from_tools([wait], ScriptedLLM(rule))

    def talk(name: str) -> None:
        for n in range(10):
            assert str(agent.chat(f"{name}{n}")) == f"done {name}{n}"

    threads = [threading.Thread(target=talk, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    talk_of_all = agent.chat_history
    assert len(talk_of_all) == 40
    assert all(
        b.content == f"done {a.content}" for a, b in zip(talk_of_all[::2], talk_of_all[1::2], strict=True)
    )


def test_model_without_function_calls_is_refused_with_a_hint() -> None:
    with pytest.raises(ConfigError, match="cannot call functions") as refused:
        OpenAIAgent.from_tools([add], ScriptedLLM())
    assert "ReActAgent" in refused.value.hint


@given(st.lists(st.sampled_from(["add", "fail", "nothing", "prose", "junk"]), max_size=6), st.integers(1, 5))
def test_any_model_reply_ends_in_an_answer_within_the_rounds(replies: list[str], rounds: int) -> None:
    script = {
        "add": act("add", {"a": 1, "b": 2}),
        "fail": act("fail", {"why": "x"}),
        "nothing": act("nothing", {}),
        "prose": "I think so.",
        "junk": "Thought: hm\nAction: add\nAction Input: {a: 1 b}",
    }
    llm = ScriptedLLM([*(script[reply] for reply in replies), *["Enough."] * 8])
    answer = ReActAgent.from_tools(TOOLS, llm, max_iterations=rounds).chat("Go")
    assert str(answer)
    assert len(llm.calls) <= rounds + 1
    ran = [reply for reply in replies[: len(llm.calls)] if reply in ("add", "fail", "nothing")]
    assert [source.tool_name for source in answer.sources] == ran[: len(answer.sources)]
    assert isinstance(answer.sources, tuple)
    assert all(isinstance(source, ToolOutput) for source in answer.sources)


def test_the_memory_argument_is_used() -> None:
    memory = ChatMemoryBuffer(100)
    ReActAgent.from_tools([add], ScriptedLLM(["Hello."]), memory=memory).chat("Hi")
    assert [message.content for message in memory.get_all()] == ["Hi", "Hello."]


def test_verbose_logs_each_step_and_nothing_is_printed(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level("INFO", logger="ragcore.agent"):
        ReActAgent.from_tools(
            [add], ScriptedLLM([act("add", {"a": 1, "b": 2}), said("3.")]), verbose=True
        ).chat("1 + 2?")
        shown = caplog.messages.copy()
        ReActAgent.from_tools([add], ScriptedLLM([act("add", {"a": 1, "b": 2}), said("3.")])).chat("1 + 2?")
    assert shown == caplog.messages == ["called add with {'a': 1, 'b': 2}: 3"]
    assert capsys.readouterr() == ("", "")
