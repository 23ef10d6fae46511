"""Agents as workflows: what a run answers, tells and remembers."""

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

from ragcore.errors import ConfigError, RagError
from ragcore.llamaindex import agent as agents
from ragcore.llamaindex.agent import FunctionAgent
from ragcore.llamaindex.agent.workflow.multi_agent_workflow import (
    AgentOutput,
    AgentStream,
    AgentWorkflow,
    ReActAgent,
    ToolCallResult,
)
from ragcore.llamaindex.workflow import Context, HumanResponseEvent, InputRequiredEvent, JsonSerializer
from ragcore.llms import ScriptedLLM
from ragcore.llms.tool_call import ToolCall


def calling(*replies: Any) -> ScriptedLLM:
    return ScriptedLLM(list(replies), is_function_calling_model=True)


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


ADD = ToolCall.of("1", "add", '{"a": 1, "b": 2}')


def answer(agent: AgentWorkflow, message: str, **options: Any) -> AgentOutput:
    async def run() -> AgentOutput:
        output: AgentOutput = await agent.run(message, **options)
        return output

    return asyncio.run(run())


def test_run_streams_each_step_and_answers_from_the_tool() -> None:
    async def run() -> tuple[list[str], str]:
        handler = FunctionAgent(tools=[add], llm=calling(ADD, "It is three.")).run("1 + 2?")
        told = [type(event).__name__ async for event in handler.stream_events()]
        return told, str(await handler)

    told, said = asyncio.run(run())
    assert said == "It is three."
    assert [name for name in told if name != "AgentStream"] == [
        "AgentInput", "AgentOutput", "ToolCall", "ToolCallResult", "AgentInput", "AgentOutput", "StopEvent"
    ]  # fmt: skip


def test_the_words_of_an_answer_come_in_pieces() -> None:
    async def run() -> list[str]:
        handler = FunctionAgent(llm=calling("one two")).run("Count")
        return [event.delta async for event in handler.stream_events() if isinstance(event, AgentStream)]

    assert asyncio.run(run()) == ["one", " two"]


def test_the_model_sees_results_and_errors_of_tools() -> None:
    llm = calling([ADD, ToolCall.of("2", "sub", "{}")], ToolCall.of("3", "add", '{"a": 1}'), "Done.")
    answer(FunctionAgent(tools=[add], llm=llm), "Go")
    seen = [message.content for message in llm.calls[2].messages if message.role.value == "tool"]
    assert seen[0] == "3"
    assert seen[1] == "Error: there is no tool 'sub'. The tools are: add."
    assert seen[2].startswith("Error: ")


def test_context_carries_conversation_and_state_through_json() -> None:
    async def note(ctx: Context, name: str) -> str:
        await ctx.store.set("name", name)
        return "noted"

    agent = FunctionAgent(
        tools=[note], llm=calling(ToolCall.of("1", "note", '{"name": "Ada"}'), "Hello Ada.", "Ada.")
    )

    async def run() -> list[str]:
        context = Context(agent)
        await agent.run("I am Ada", ctx=context)
        kept = context.to_dict(serializer=JsonSerializer())
        again = Context.from_dict(agent, kept, serializer=JsonSerializer())
        await agent.run("Who am I?", ctx=again)
        assert await again.store.get("name") == "Ada"
        return [message.content for message in (await again.store.get("memory")).get_all() if message.content]

    assert asyncio.run(run()) == ["I am Ada", "noted", "Hello Ada.", "Who am I?", "Ada."]


def test_a_tool_may_wait_for_a_person() -> None:
    async def delete(ctx: Context) -> str:
        said = await ctx.wait_for_event(
            HumanResponseEvent, waiter_id="sure", waiter_event=InputRequiredEvent(prefix="Sure?")
        )
        return f"The user said {said.response}."

    async def run() -> list[str]:
        handler = FunctionAgent(
            tools=[delete], llm=calling(ToolCall.of("1", "delete", "{}"), "Deleted.")
        ).run("Delete it")
        results = []
        async for event in handler.stream_events():
            if isinstance(event, InputRequiredEvent):
                handler.ctx.send_event(HumanResponseEvent(response="yes"))
            if isinstance(event, ToolCallResult):
                results.append(event.tool_output.content)
        return results

    assert asyncio.run(asyncio.wait_for(run(), 20)) == ["The user said yes."]


def test_agents_hand_over_and_the_other_knows_the_conversation() -> None:
    handoff = ToolCall.of("1", "handoff", '{"to_agent": "writer", "reason": "to write"}')
    writer = calling("A poem.")
    agents = [
        FunctionAgent(name="asker", description="asks", llm=calling(handoff)),
        FunctionAgent(name="writer", description="writes", llm=writer, can_handoff_to=[]),
    ]
    output = answer(AgentWorkflow(agents, root_agent="asker"), "Write a poem")
    assert (str(output), output.current_agent_name) == ("A poem.", "writer")
    assert "Write a poem" in [message.content for message in writer.calls[0].messages]
    assert writer.calls[0].call.tools == ()


def test_a_tool_whose_result_is_the_answer_ends_the_run() -> None:
    from ragcore.tools import FunctionTool

    tool = FunctionTool.from_defaults(add, return_direct=True)
    assert str(answer(FunctionAgent(tools=[tool], llm=calling(ADD)), "1 + 2?")) == "3"


def test_an_answer_can_be_had_in_a_form() -> None:
    class Sum(BaseModel):
        total: int

    output = answer(FunctionAgent(llm=calling("Three.", '{"total": 3}'), output_cls=Sum), "1 + 2?")
    assert output.get_pydantic_model(Sum) == Sum(total=3)


def test_react_agent_writes_calls_and_remembers_only_answers() -> None:
    llm = ScriptedLLM(
        [
            'Thought: Add.\nAction: add\nAction Input: {"a": 1, "b": 2}',
            "Nonsense\nAction:",
            "Thought: So.\nAnswer: 3",
        ]
    )
    assert str(answer(ReActAgent(tools=[add], llm=llm), "1 + 2?")) == "3"
    assert "Observation: 3" in [message.content for message in llm.calls[1].messages]


def test_the_prompts_of_agents_are_those_of_a_script() -> None:
    first = ReActAgent(name="first", llm=ScriptedLLM(["Answer: Yes."]), tools=[abs], system_prompt="Be kind.")
    assert list(first.get_prompts()) == ["react_header"]
    workflow = AgentWorkflow([first], initial_state={"n": 1}, state_prompt="{msg} in {state}")
    names = ["handoff_prompt", "handoff_output_prompt", "state_prompt", "first:react_header"]
    assert list(workflow.get_prompts()) == names
    workflow.update_prompts(
        {"first:react_header": "Tools: {tool_desc}, {tool_names}", "state_prompt": "{state}: {msg}"}
    )
    answer(workflow, "Is it?")
    system, user = first.llm.calls[0].messages  # type: ignore[attr-defined]
    assert system.role.value == "system"
    assert system.content.startswith("Be kind.\n\nTools: > Tool Name: abs")
    assert system.content.endswith(", abs")
    assert user.content == "{'n': 1}: Is it?"


def test_endless_run_is_an_error_or_ends_with_its_results() -> None:
    with pytest.raises(RagError, match="after 2 rounds"):
        answer(FunctionAgent(tools=[add], llm=calling(ADD, ADD, ADD)), "Go", max_iterations=2)
    agent = FunctionAgent(tools=[add], llm=calling(ADD, "Three."), early_stopping_method="generate")
    assert str(answer(agent, "Go", max_iterations=1)) == "Three."


def test_invalid_arguments_are_reported_at_once() -> None:
    with pytest.raises(ConfigError, match="does not call functions"):
        answer(FunctionAgent(tools=[add], llm=ScriptedLLM(["x"])), "Go")
    with pytest.raises(ValueError, match="different names"):
        AgentWorkflow([FunctionAgent(llm=calling()), FunctionAgent(llm=calling())])
    with pytest.raises(ValueError, match="root_agent"):
        AgentWorkflow([FunctionAgent(name="a", llm=calling()), FunctionAgent(name="b", llm=calling())])


@pytest.mark.parametrize("kind", [agents.ReActAgent, agents.FunctionCallingAgent, agents.OpenAIAgent])
def test_an_agent_that_chats_also_runs_as_a_workflow(kind: type[agents.Agent]) -> None:
    reply = "Thought: I know.\nAnswer: Hello." if kind is agents.ReActAgent else "Hello."

    async def run() -> str:
        return str(await kind.from_tools([add], llm=calling(reply)).run("Good morning"))

    assert asyncio.run(run()) == "Hello."
