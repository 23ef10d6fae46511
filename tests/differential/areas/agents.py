"""Agents with a scripted model: which tools run, with what result, how many calls it takes, and how it ends.

A turn of the model is its answer or, for an agent that calls functions, the calls that it wants: [tool,
arguments as JSON].
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterator
from typing import Any

from tests.differential.cases import Case
from tests.differential.doubles import in_turn, our_llm, their_llm

ADD = ["add", '{"a": 1, "b": 2}']


def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def fail(why: str) -> str:
    """Always fails."""
    raise RuntimeError(why)


def now() -> str:
    """Takes nothing."""
    return "noon"


def aloud(text: str) -> str:
    """Reads aloud."""
    return text.upper()


def cases() -> Iterator[Case]:
    scripts: dict[str, list[Any]] = {
        "answer": ["forty-two"],
        "one-call": [[ADD], "three"],
        "two-calls-at-once": [[ADD, ["now", "{}"]], "done"],
        "two-rounds": [[ADD], [["add", '{"a": 3, "b": 4}']], "seven"],
        "unknown-tool": [[["nobody", "{}"]], "sorry"],
        "failing-tool": [[["fail", '{"why": "broken"}']], "sorry"],
        "failing-beside-another": [[["fail", '{"why": "broken"}'], ADD], "done"],
        "missing-argument": [[["add", '{"a": 1}']], "sorry"],
        "wrong-type": [[["add", '{"a": "x", "b": 2}']], "sorry"],
        "direct": [[["aloud", '{"text": "hi"}']], "never said"],
        "direct-fails": [[["aloud", "{}"]], "sorry"],
    }
    for name, turns in scripts.items():
        yield Case(f"functions-{name}", _case("functions", turns))
    for broken in ("{a: 1 b", "not json", "[1, 2]", '{"a": 1, "b": 2'):
        yield Case(f"functions-unreadable-{broken}", _case("functions", [[["now", broken]], "sorry"]))
    for rounds in (1, 2, 3, 4):
        yield Case(f"functions-limit-{rounds}", _case("functions", [[ADD], [ADD], "three"], limit=rounds))
    for rounds in (1, 2, 3, 4):
        replies = [_act("add", ADD[1]), _act("now", "{}"), "Thought: I know.\nAnswer: three"]
        yield Case(f"react-limit-{rounds}", _case("react", replies, limit=rounds))
    known = "Thought: I know.\nAnswer: done"
    reacting = {
        "answer": [known],
        "prose": ["It is done."],
        "one-call": [_act("add", ADD[1]), known],
        "unknown-tool": [_act("nobody", "{}"), known],
        "failing-tool": [_act("fail", '{"why": "broken"}'), known],
        "direct": [_act("aloud", '{"text": "hi"}'), known],
        "unreadable-arguments": [_act("now", "{a: 1 b}"), known],
        "no-format": ["Thought: hm, what now", known],
    }
    for name, replies in reacting.items():
        yield Case(f"react-{name}", _case("react", replies))
    chance = random.Random(20)
    for number in range(8):
        rounds = [
            [_addition(chance) for _ in range(chance.randint(1, 3))] for _ in range(chance.randint(1, 3))
        ]
        yield Case(f"functions-random-{number}", _case("functions", [*rounds, "done"]))


def _case(kind: str, turns: list[Any], limit: int = 10) -> dict[str, Any]:
    return {"kind": kind, "turns": turns, "limit": limit}


def _addition(chance: random.Random) -> list[str]:
    return ["add", json.dumps({"a": chance.randint(0, 9), "b": chance.randint(0, 9)})]


def _act(tool: str, arguments: str) -> str:
    return f"Thought: I need a tool.\nAction: {tool}\nAction Input: {arguments}"


def theirs(given: Any) -> Any:
    from llama_index.core.agent.workflow import FunctionAgent, ReActAgent, ToolCallResult
    from llama_index.core.llms import ChatMessage, ChatResponse, LLMMetadata
    from llama_index.core.llms.function_calling import FunctionCallingLLM
    from llama_index.core.llms.llm import ToolSelection
    from llama_index.core.memory import ChatMemoryBuffer
    from llama_index.core.tools import FunctionTool

    turns = iter(given["turns"])
    prompts: list[str] = []

    class Calling(FunctionCallingLLM):
        @property
        def metadata(self) -> LLMMetadata:
            return LLMMetadata(
                context_window=8000, num_output=100, is_function_calling_model=True, is_chat_model=True
            )

        async def achat(self, messages: Any, **kwargs: Any) -> ChatResponse:
            prompts.append("")
            turn = next(turns)
            said, calls = (turn, []) if isinstance(turn, str) else ("", turn)
            wanted = [
                {"id": f"c{len(prompts)}{place}", "name": call[0], "arguments": call[1]}
                for place, call in enumerate(calls)
            ]
            return ChatResponse(
                message=ChatMessage(role="assistant", content=said, additional_kwargs={"tool_calls": wanted})
            )

        def get_tool_calls_from_response(self, response: Any, **kwargs: Any) -> list[ToolSelection]:
            selections = []
            for call in response.message.additional_kwargs["tool_calls"]:
                try:
                    arguments = json.loads(call["arguments"])
                except ValueError:
                    arguments = call["arguments"]
                selections.append(
                    ToolSelection(tool_id=call["id"], tool_name=call["name"], tool_kwargs=arguments)
                )
            return selections

        def _prepare_chat_with_tools(
            self, tools: Any, user_msg: Any = None, chat_history: Any = None, **kwargs: Any
        ) -> Any:
            return {"messages": chat_history or []}

        def chat(self, messages: Any, **kwargs: Any) -> Any: ...

        def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any: ...

        def stream_chat(self, messages: Any, **kwargs: Any) -> Any: ...

        def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any: ...

        async def acomplete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any: ...

        async def astream_chat(self, messages: Any, **kwargs: Any) -> Any: ...

        async def astream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any: ...

    tools = [FunctionTool.from_defaults(fn, return_direct=fn is aloud) for fn in (add, fail, now, aloud)]
    memory = ChatMemoryBuffer.from_defaults(token_limit=3000, tokenizer_fn=str.split)

    async def run() -> Any:
        if given["kind"] == "functions":
            agent: Any = FunctionAgent(tools=tools, llm=Calling(), streaming=False)
        else:
            agent = ReActAgent(tools=tools, llm=their_llm(in_turn(given["turns"]), prompts), streaming=False)
        handler = agent.run("question", memory=memory, max_iterations=given["limit"])
        ran = [event async for event in handler.stream_events() if isinstance(event, ToolCallResult)]
        return await handler, ran

    try:
        result, ran = asyncio.run(run())
    except Exception:  # noqa: BLE001 how it fails is not compared
        return {"ended": "failed", "calls": len(prompts)}
    if given["kind"] == "functions":
        ran.sort(key=lambda event: event.tool_id)  # they come as they finish
    outputs = [[event.tool_name, event.tool_output.is_error, event.tool_output.content] for event in ran]
    return _outcome(str(result), outputs, len(prompts), [message.content for message in memory.get_all()])


def ours(given: Any) -> Any:
    from ragcore.agent import FunctionCallingAgent, ReActAgent
    from ragcore.llms.scripted import ScriptedLLM
    from ragcore.llms.tool_call import ToolCall
    from ragcore.tools import FunctionTool

    tools = [FunctionTool.from_defaults(fn, return_direct=fn is aloud) for fn in (add, fail, now, aloud)]
    if given["kind"] == "functions":
        replies = [
            turn
            if isinstance(turn, str)
            else [ToolCall.of(f"c{round}{place}", *call) for place, call in enumerate(turn)]
            for round, turn in enumerate(given["turns"])
        ]
        model = ScriptedLLM(replies, is_function_calling_model=True)
        agent: Any = FunctionCallingAgent.from_tools(tools, model, max_iterations=given["limit"])
    else:
        model = our_llm(in_turn(given["turns"]))
        agent = ReActAgent.from_tools(tools, model, max_iterations=given["limit"])
    answer = agent.chat("question")
    outputs = [[output.tool_name, output.is_error, output.content] for output in answer.sources]
    outcome = _outcome(
        answer.response, outputs, len(model.calls), [message.content for message in agent.chat_history]
    )
    return {**outcome, "ended": "limit"} if answer.end.value == "limit" else outcome


def _outcome(answer: str, outputs: Any, calls: int, history: list[str]) -> Any:
    # The words of an error are each side's own.
    told = [[name, failed, "" if failed else content] for name, failed, content in outputs]
    return {
        "ended": "answered",
        "answer": answer,
        "outputs": told,
        "calls": calls,
        "remembers": history[0] == "question",
    }


def explain(given: Any, theirs: Any, ours: Any) -> str:
    if ours.get("ended") == "limit":
        # Once the rounds are used up, one more call answers from what the tools gave.
        ran = len(ours["outputs"]) == given["limit"] and ours["calls"] == given["limit"] + 1
        return "1.19" if theirs == {"ended": "failed", "calls": given["limit"]} and ran else ""
    if theirs == {"ended": "failed", "calls": given["limit"]}:  # it loses the answer of the last round
        kept = ours["answer"] == "three" and ours["calls"] == given["limit"] == len(ours["outputs"]) + 1
        return "D30" if kept else ""
    refused = [["now", True, ""]] if given["kind"] == "functions" else []
    # Theirs runs the tool without its arguments.
    return (
        "D30"
        if theirs == {**ours, "outputs": [["now", False, "noon"]]} and ours["outputs"] == refused
        else ""
    )
