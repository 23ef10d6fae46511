"""Agents as workflows (extra: workflow): they are awaited, send events while they work, and hand over to each
other.

>>> import asyncio
>>> from ragcore.llms import ScriptedLLM
>>> agent = FunctionAgent(
...     llm=ScriptedLLM(["Hello!"], is_function_calling_model=True), system_prompt="You greet people."
... )
>>> async def main() -> str:
...     return str(await agent.run("Good morning"))
>>> asyncio.run(main())
'Hello!'

A run repeats two steps: it asks the model, then calls the requested tools in parallel, until the model
answers. The context's store has "memory", "state" and the current agent; they last between steps, and between
runs with the same `Context`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from pydantic import BaseModel

from ragcore.agent.react_reply import ActionReasoningStep, UnreadableReplyError, read_reply
from ragcore.errors import ConfigError, RagError
from ragcore.llamaindex.agent.utils import generate_structured_response
from ragcore.llamaindex.agent.workflow.tool_calls import (
    HANDOFF,
    call_tool,
    handoff_tool,
    read_scratchpad,
    write_scratchpad,
)
from ragcore.llamaindex.agent.workflow.workflow_events import (
    AgentInput,
    AgentOutput,
    AgentStream,
    AgentStreamStructuredOutput,
    AgentWorkflowStartEvent,
    ToolCall,
    ToolCallResult,
)
from ragcore.llamaindex.workflow import Context, Event, StopEvent, Workflow, WorkflowHandler, step
from ragcore.llms.base import LLM, LLMCall
from ragcore.memory import ChatMemoryBuffer
from ragcore.prompts.mixin import PromptMixin, PromptMixinType
from ragcore.prompts.prompt import Passage, Prompt
from ragcore.prompts.templates import PromptTemplate
from ragcore.prompts.wording import REACT, unreadable
from ragcore.schema import ChatMessage, MessageRole, new_id
from ragcore.settings import services
from ragcore.tools import BaseTool, ToolOutput, ToolSelection, as_tools

__all__ = [
    "AgentInput", "AgentOutput", "AgentStream", "AgentStreamStructuredOutput", "AgentWorkflow",
    "AgentWorkflowStartEvent", "BaseWorkflowAgent", "FunctionAgent", "ReActAgent", "ToolCall",
    "ToolCallResult",
]  # fmt: skip

MAX_ITERATIONS = 20
STATE_PROMPT = "Current state:\n{state}\n\nCurrent message:\n{msg}\n"
HANDOFF_PROMPT = (
    "Hand the conversation over to another agent that can do more for the user.\nThe agents are:\n"
    "{agent_info}"
)
HANDOFF_OUTPUT = "Agent {to_agent} works on this now, because: {reason}\nGo on with the user's request."


class _Turn(Event):
    """The next step calls the model."""


class _Called(ToolCallResult):
    """A tool of this round has returned."""


class AgentWorkflow(PromptMixin, Workflow):
    """Agents that hand over to each other, beginning with `root_agent`; each has a name and a description.

    >>> AgentWorkflow.from_tools_or_functions([abs]).root_agent
    'Agent'
    """

    prompt_attributes: ClassVar = {
        name: name for name in ("handoff_prompt", "handoff_output_prompt", "state_prompt")
    }

    def __init__(
        self,
        agents: Sequence[BaseWorkflowAgent],
        initial_state: Mapping[str, Any] | None = None,
        root_agent: str | None = None,
        handoff_prompt: str | PromptTemplate = HANDOFF_PROMPT,
        handoff_output_prompt: str | PromptTemplate = HANDOFF_OUTPUT,
        state_prompt: str | PromptTemplate = STATE_PROMPT,
        timeout: float | None = None,
        output_cls: type[BaseModel] | None = None,
        structured_output_fn: Callable[[list[ChatMessage]], Any] | None = None,
        early_stopping_method: str = "force",
        verbose: bool = False,
    ) -> None:
        """`output_cls`: when an agent has answered, its model writes the conversation into this form. With
        `early_stopping_method` "generate" an agent that used up its rounds answers from what it has; "force"
        is an error."""
        super().__init__(timeout=timeout, verbose=verbose)
        self.agents = {agent.name: agent for agent in agents}
        if not agents or len(self.agents) < len(agents):
            raise ValueError(f"agents need different names, not {[agent.name for agent in agents]}")
        if root_agent is None and len(agents) > 1:
            raise ValueError(f"root_agent says who begins: one of {list(self.agents)}")
        self.root_agent = root_agent or agents[0].name
        if self.root_agent not in self.agents:
            raise ValueError(f"root_agent is {root_agent!r}; there are {list(self.agents)}")
        self.initial_state = dict(initial_state or {})
        texts = (handoff_prompt, handoff_output_prompt, state_prompt)
        self.handoff_prompt, self.handoff_output_prompt, self.state_prompt = (
            PromptTemplate(text) if isinstance(text, str) else text for text in texts
        )
        self.output_cls, self.structured_output_fn = output_cls, structured_output_fn
        self.early_stopping_method = early_stopping_method

    def _get_prompt_modules(self) -> PromptMixinType:
        return {name: agent for name, agent in self.agents.items() if agent is not self}

    @classmethod
    def from_tools_or_functions(
        cls,
        tools_or_functions: Sequence[BaseTool | Callable[..., Any]],
        llm: LLM | None = None,
        system_prompt: str | None = None,
        **options: Any,
    ) -> AgentWorkflow:
        """One agent with these tools: a FunctionAgent if the model calls functions, else a ReActAgent.
        `options` as above."""
        model = services(llm).llm
        kind = FunctionAgent if model.metadata.is_function_calling_model else ReActAgent
        return cls([kind(tools=tools_or_functions, llm=model, system_prompt=system_prompt)], **options)

    def run(  # type: ignore[override]  # the arguments of a run of agents
        self,
        user_msg: str | ChatMessage | None = None,
        chat_history: Sequence[ChatMessage] | None = None,
        memory: Any = None,
        ctx: Context | None = None,
        max_iterations: int | None = None,
        early_stopping_method: str | None = None,
        start_event: AgentWorkflowStartEvent | None = None,
        **others: Any,
    ) -> WorkflowHandler:
        """Await the returned handler for the answer, or iterate over its `stream_events()`. With the context
        of an earlier run it continues that conversation and state."""
        event = start_event or AgentWorkflowStartEvent(
            user_msg=user_msg,
            chat_history=list(chat_history) if chat_history is not None else None,
            memory=memory,
            max_iterations=max_iterations,
            early_stopping_method=early_stopping_method,
            **others,
        )
        return super().run(ctx=ctx, start_event=event)

    # --- the steps ------------------------------------------------------------------------------------------

    @step
    async def begin(self, ctx: Context, ev: AgentWorkflowStartEvent) -> _Turn:
        """Take the message into the conversation."""
        store = ctx.store
        if ev.memory is not None or await store.get("memory", default=None) is None:
            llm = self.agents[self.root_agent].llm
            await store.set("memory", ev.memory or ChatMemoryBuffer.from_defaults(llm=llm))
        if await store.get("state", default=None) is None:
            await store.set("state", dict(self.initial_state))
        memory = await store.get("memory")
        if ev.chat_history is not None:
            await memory.aset(ev.chat_history)
        message = ChatMessage(MessageRole.USER, ev.user_msg) if isinstance(ev.user_msg, str) else ev.user_msg
        if message is None and not await memory.aget_all():
            raise ValueError("there is nothing to answer: give user_msg or chat_history")
        question = message or (await memory.aget_all())[-1]
        if message is not None:
            state = await store.get("state")
            text = self.state_prompt.format(state=state, msg=message.content) if state else message.content
            await memory.aput(message if not state else ChatMessage(message.role, text))
        await store.set("user_msg_str", question.content)
        await store.set("current_agent_name", await store.get("current_agent_name", default=self.root_agent))
        await store.set("rounds", 0)
        await store.set("max_iterations", ev.max_iterations or MAX_ITERATIONS)
        await store.set("early_stopping_method", ev.early_stopping_method or self.early_stopping_method)
        await write_scratchpad(ctx, [])
        return _Turn()

    @step
    async def ask(self, ctx: Context, ev: _Turn) -> ToolCall | StopEvent | _Turn | None:
        """Ask the model of the agent at work."""
        store = ctx.store
        agent = self.agents[await store.get("current_agent_name")]
        rounds, most = await store.get("rounds") + 1, await store.get("max_iterations")
        await store.set("rounds", rounds)
        last = rounds > most
        if last and await store.get("early_stopping_method") != "generate":
            raise RagError(
                f"{agent.name} has not answered after {most} rounds.", hint="Raise max_iterations of run()."
            )
        tools = [] if last else await self._tools_of(agent, await store.get("user_msg_str"))
        memory, scratchpad = await store.get("memory"), await read_scratchpad(ctx)
        system = [ChatMessage(MessageRole.SYSTEM, agent.system_prompt)] if agent.system_prompt else []
        messages = [*system, *await memory.aget()]
        ctx.write_event_to_stream(AgentInput(input=[*messages, *scratchpad], current_agent_name=agent.name))
        output = await agent.take_step(ctx, messages, scratchpad, tools)
        await write_scratchpad(ctx, [*scratchpad, output.response])
        ctx.write_event_to_stream(output)
        if output.retry_messages:
            await write_scratchpad(ctx, [*scratchpad, *output.retry_messages])
            return _Turn()
        if not output.tool_calls:
            return await self._end(ctx, agent, output)
        await store.set("calls", [call.tool_id for call in output.tool_calls])
        for call in output.tool_calls:
            ctx.send_event(
                ToolCall(tool_id=call.tool_id, tool_name=call.tool_name, tool_kwargs=dict(call.tool_kwargs))
            )
        return None

    @step
    async def call(self, ctx: Context, ev: ToolCall) -> _Called:
        """Call one tool."""
        agent = self.agents[await ctx.store.get("current_agent_name")]
        usable = await self._tools_of(agent, await ctx.store.get("user_msg_str"))
        tools = {tool.metadata.name: tool for tool in usable}
        called: dict[str, Any] = {
            "tool_id": ev.tool_id,
            "tool_name": ev.tool_name,
            "tool_kwargs": ev.tool_kwargs,
        }
        ctx.write_event_to_stream(ToolCall(**called))
        tool = tools.get(ev.tool_name)
        if tool is None:
            known = ", ".join(tools) or "none"
            text = f"Error: there is no tool {ev.tool_name!r}. The tools are: {known}."
            output = ToolOutput(text, ev.tool_name, is_error=True)
        else:
            output = await call_tool(tool, ev.tool_kwargs, ctx)
        direct = tool is not None and tool.metadata.return_direct and not output.is_error
        result: dict[str, Any] = {**called, "tool_output": output, "return_direct": direct}
        ctx.write_event_to_stream(ToolCallResult(**result))
        return _Called(**result)

    @step
    async def collect(self, ctx: Context, ev: _Called) -> _Turn | StopEvent | None:
        """Wait for all tools of a round, then ask the model again, or end with the result of a
        `return_direct` tool."""
        store = ctx.store
        calls = await store.get("calls")
        collected = ctx.collect_events(ev, [_Called] * len(calls))
        if collected is None:
            return None
        results = [each for each in collected if isinstance(each, _Called)]
        results.sort(key=lambda result: calls.index(result.tool_id))
        agent = self.agents[await store.get("current_agent_name")]
        scratchpad = [*await read_scratchpad(ctx), *agent.observations(results)]
        await write_scratchpad(ctx, scratchpad)
        directs = (result for result in results if result.return_direct and result.tool_name != HANDOFF)
        if (direct := next(directs, None)) is not None:
            answer = ChatMessage(MessageRole.ASSISTANT, direct.tool_output.content)
            await write_scratchpad(ctx, [*scratchpad, answer])
            return await self._end(ctx, agent, AgentOutput(response=answer, current_agent_name=agent.name))
        if (following := await store.get("next_agent", default=None)) is not None:
            await (await store.get("memory")).aput_messages(agent.messages_to_remember(scratchpad))
            await write_scratchpad(ctx, [])
            await store.set("current_agent_name", following)
            await store.set("next_agent", None)
        return _Turn()

    async def _end(self, ctx: Context, agent: BaseWorkflowAgent, output: AgentOutput) -> StopEvent:
        memory = await ctx.store.get("memory")
        await memory.aput_messages(agent.messages_to_remember(await read_scratchpad(ctx)))
        output.tool_calls = []
        if self.structured_output_fn is not None and self.output_cls is None:
            form = self.structured_output_fn(await memory.aget())
            output.structured_response = await form if hasattr(form, "__await__") else form
        elif self.output_cls is not None:
            output.structured_response = await generate_structured_response(
                await memory.aget(), agent.llm, self.output_cls
            )
        if output.structured_response is not None:
            ctx.write_event_to_stream(AgentStreamStructuredOutput(output=output.structured_response))
        return StopEvent(result=output)

    async def _tools_of(self, agent: BaseWorkflowAgent, question: str) -> list[BaseTool]:
        tools = list(agent.tools)
        if agent.tool_retriever is not None:
            tools += await agent.tool_retriever.aretrieve(question)
        others = {
            name: each.description
            for name, each in self.agents.items()
            if name != agent.name and (agent.can_handoff_to is None or name in agent.can_handoff_to)
        }
        if not others:
            return tools
        described = self.handoff_prompt.format(agent_info=json.dumps(others, ensure_ascii=False))
        return [*tools, handoff_tool(others, described, self.handoff_output_prompt)]


class BaseWorkflowAgent(AgentWorkflow):
    """A single agent, which is a workflow by itself. Subclasses call the model in `take_step`."""

    prompt_attributes: ClassVar = {}

    def __init__(
        self,
        name: str = "Agent",
        description: str = "An agent that can perform a task",
        system_prompt: str | None = None,
        tools: Sequence[BaseTool | Callable[..., Any]] | None = None,
        tool_retriever: Any = None,
        can_handoff_to: Sequence[str] | None = None,
        llm: LLM | None = None,
        initial_state: Mapping[str, Any] | None = None,
        *,
        streaming: bool = True,
        **options: Any,
    ) -> None:
        """Functions among the `tools` become tools. `can_handoff_to`: names of other agents of an
        AgentWorkflow, None for all of them. Without `streaming` the answer is one AgentStream event. The
        other options are those of AgentWorkflow."""
        self.name, self.description, self.system_prompt = name, description, system_prompt
        self.tools: list[BaseTool] = as_tools(tools or ())
        if any(tool.metadata.name == HANDOFF for tool in self.tools):
            raise ValueError(
                f"{HANDOFF!r} is the name of the tool that hands over to another agent; choose another"
            )
        self.tool_retriever, self.can_handoff_to, self.streaming = tool_retriever, can_handoff_to, streaming
        self.llm = services(llm).llm
        super().__init__([self], initial_state, **options)

    async def take_step(
        self,
        ctx: Context,
        messages: list[ChatMessage],
        scratchpad: list[ChatMessage],
        tools: Sequence[BaseTool],
    ) -> AgentOutput:
        """The model's reply to the conversation and to the run so far (`scratchpad`). Pieces go to the stream
        as they come."""
        raise NotImplementedError

    def observations(self, results: Sequence[ToolCallResult]) -> list[ChatMessage]:
        """The results of tools as the model sees them."""
        role = MessageRole.TOOL
        return [
            ChatMessage(role, each.tool_output.content, each.tool_name, {"tool_call_id": each.tool_id})
            for each in results
        ]

    def messages_to_remember(self, scratchpad: Sequence[ChatMessage]) -> list[ChatMessage]:
        """The messages of a run that the conversation stores."""
        return list(scratchpad)


class FunctionAgent(BaseWorkflowAgent):
    """For models that call functions. ConfigError for other models.

    >>> from ragcore.llms import ScriptedLLM
    >>> FunctionAgent(tools=[abs], llm=ScriptedLLM(is_function_calling_model=True)).tools[0].metadata.name
    'abs'
    """

    def __init__(
        self,
        *args: Any,
        initial_tool_choice: str | None = None,
        allow_parallel_tool_calls: bool = True,
        **options: Any,
    ) -> None:
        """As BaseWorkflowAgent; `initial_tool_choice` is the tool that must be called first."""
        super().__init__(*args, **options)
        self.initial_tool_choice = initial_tool_choice
        self.allow_parallel_tool_calls = allow_parallel_tool_calls

    async def take_step(
        self,
        ctx: Context,
        messages: list[ChatMessage],
        scratchpad: list[ChatMessage],
        tools: Sequence[BaseTool],
    ) -> AgentOutput:
        if tools and not self.llm.metadata.is_function_calling_model:
            raise ConfigError(
                f"{self.llm.metadata.model_name} does not call functions, so it cannot use the tools.",
                hint="Choose another model, or use a ReActAgent.",
            )
        request: dict[str, Any] = {
            "tools": tools,
            "chat_history": [*messages, *scratchpad],
            "allow_parallel_tool_calls": self.allow_parallel_tool_calls,
        }
        if self.initial_tool_choice is not None and not scratchpad:
            request["tool_choice"] = self.initial_tool_choice
        response = None
        if self.streaming:
            async for response in await self.llm.astream_chat_with_tools(**request):
                self._send(ctx, response)
        else:
            response = await self.llm.achat_with_tools(**request)
            self._send(ctx, response)
        if response is None:
            raise RagError(f"{self.llm.metadata.model_name} answered with nothing.", hint="Ask again.")
        calls = self.llm.get_tool_calls_from_response(response, error_on_no_tool_call=False)
        return AgentOutput(
            response=response.message, tool_calls=list(calls), raw=response.raw, current_agent_name=self.name
        )

    def _send(self, ctx: Context, response: Any) -> None:
        text = response.message.content or ""
        calls = self.llm.get_tool_calls_from_response(response, error_on_no_tool_call=False)
        delta = text if response.delta is None else response.delta
        event = AgentStream(
            delta=delta, response=text, current_agent_name=self.name, tool_calls=list(calls), raw=response.raw
        )
        ctx.write_event_to_stream(event)


class ReActAgent(BaseWorkflowAgent):
    """For any model: it writes a thought and a tool's name as text, and reads the tool's result (Yao et al.
    2022).

    >>> from ragcore.llms import ScriptedLLM
    >>> ReActAgent(tools=[abs], llm=ScriptedLLM()).tools[0].metadata.name
    'abs'
    """

    prompt: Prompt = REACT
    prompt_attributes: ClassVar = {"react_header": "prompt"}

    def _update_prompts(self, prompts: Mapping[str, Any]) -> None:
        """A template of one message becomes a system message and is appended to the system prompt."""
        super()._update_prompts(prompts)
        if len(self.prompt.messages) == 1 and self.prompt.messages[0].role is not MessageRole.SYSTEM:
            text = "{system_prompt}\n\n" + self.prompt.get_template()
            self.prompt = replace(self.prompt, messages=(ChatMessage(MessageRole.SYSTEM, text),))

    async def take_step(
        self,
        ctx: Context,
        messages: list[ChatMessage],
        scratchpad: list[ChatMessage],
        tools: Sequence[BaseTool],
    ) -> AgentOutput:
        cards = tuple(tool.metadata.card for tool in tools)
        system = "\n".join(message.content for message in messages if message.role is MessageRole.SYSTEM)
        variables = {
            "system_prompt": system,
            "tools": cards,
            "tool_desc": cards,
            "tool_names": ", ".join(card.name for card in cards),
            "query_str": await ctx.store.get("user_msg_str"),
            "observations": tuple(
                Passage(each.content) for each in scratchpad if each.role is MessageRole.USER
            ),
        }
        talk = tuple(message for message in messages if message.role is not MessageRole.SYSTEM)
        text = ""
        async for piece in await self.llm.astream(LLMCall(self.prompt, variables, (*talk, *scratchpad))):
            text += piece
            ctx.write_event_to_stream(AgentStream(delta=piece, response=text, current_agent_name=self.name))
        message = ChatMessage(MessageRole.ASSISTANT, text)
        try:
            read = read_reply(text, {card.name for card in cards})
        except UnreadableReplyError as error:
            retry = [message, ChatMessage(MessageRole.USER, unreadable(str(error)))]
            return AgentOutput(response=message, current_agent_name=self.name, retry_messages=retry)
        if isinstance(read, ActionReasoningStep):
            call = ToolSelection(new_id(), read.action, read.action_input)
            return AgentOutput(response=message, tool_calls=[call], current_agent_name=self.name)
        answer = ChatMessage(MessageRole.ASSISTANT, read.response)
        return AgentOutput(response=answer, current_agent_name=self.name)

    def observations(self, results: Sequence[ToolCallResult]) -> list[ChatMessage]:
        return [ChatMessage(MessageRole.USER, f"Observation: {each.tool_output.content}") for each in results]

    def messages_to_remember(self, scratchpad: Sequence[ChatMessage]) -> list[ChatMessage]:
        return list(scratchpad[-1:])
