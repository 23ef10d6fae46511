"""The loop of every agent: ask the model, run the tools it calls, show it their results, until it answers.

Each call of the model that may act is a round. When the rounds are used up, the model is asked once more to answer with what
it has. A task has nothing but its finished rounds: its answer, sources and passages are always read from them.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, Self

from ragcore.agent.context_window import fitted
from ragcore.chat_engine.base import (
    AgentChatResponse,
    ChatEngine,
    End,
    Reply,
    StreamingAgentChatResponse,
    memory_for,
    refuse_empty,
    system_and_prefix,
)
from ragcore.concurrency import awaitable, in_order
from ragcore.errors import ConfigError
from ragcore.llms.base import LLM, Generation, LLMCall, Stream
from ragcore.llms.http_errors import EmptyAnswerError
from ragcore.memory import ChatMemoryBuffer
from ragcore.observe import span, start, stream_in
from ragcore.prompts.prompt import Passage
from ragcore.prompts.wording import DEFAULT_SYSTEM_PROMPT
from ragcore.query_engine.base import cited_anew
from ragcore.response_synthesizers.synthesizer import Synthesizer
from ragcore.schema import ChatMessage, NodeWithScore, QueryBundle, Response, as_bundle
from ragcore.settings import services
from ragcore.tools import Tool, ToolOutput, as_json, as_tools, run_tool

logger = logging.getLogger(__name__)

MAX_ITERATIONS = 10
NO_ANSWER = "I could not find an answer with the tools I have."


class ToolRetriever(Protocol):
    def retrieve(self, query: str, /) -> Sequence[Tool]:
        """The tools that may help with a message."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool that the model wants, and with what. `problem`: why it cannot be called as it was asked for."""

    tool: str
    arguments: Any = None
    id: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Round:
    """A finished round: what the model said, what the tools gave, and the answer if it was the last.

    `messages` are how the model sees it in the next round, results of tools last.
    """

    messages: tuple[ChatMessage, ...]
    outputs: tuple[ToolOutput, ...] = ()
    observed: tuple[str, ...] = ()  # results as the model sees them
    answer: str | None = None
    end: End = End.ANSWERED


@dataclass(slots=True, eq=False)
class Task:
    """A message that is being worked on. `history` is what came before it."""

    message: str
    history: tuple[ChatMessage, ...]
    tools: Mapping[str, Tool]
    tool_choice: str = "auto"
    rounds: list[Round] = field(default_factory=list)

    @property
    def sources(self) -> tuple[ToolOutput, ...]:
        """All results of tools, in order."""
        return tuple(output for done in self.rounds for output in done.outputs)

    @property
    def source_nodes(self) -> tuple[NodeWithScore, ...]:
        """The passages that tools found, each once; the model cites them by their place here."""
        return tuple(_found(self.sources).values())

    @property
    def last(self) -> Round | None:
        return self.rounds[-1] if self.rounds and self.rounds[-1].answer is not None else None


class Agent(ChatEngine):
    """Subclasses say how the model is asked and how its reply is read. Threads may share one."""

    span_name = "agent"
    calls_functions: ClassVar[bool] = False  # whether the model must be able to

    def __init__(
        self,
        tools: Sequence[Tool | Callable[..., Any]] = (),
        llm: LLM | None = None,
        memory: ChatMemoryBuffer | None = None,
        *,
        max_iterations: int = MAX_ITERATIONS,
        system_prompt: str = "",
        prefix_messages: Sequence[ChatMessage] = (),
        tool_retriever: ToolRetriever | None = None,
        default_tool_choice: str = "auto",
        allow_parallel_tool_calls: bool = True,
        verbose: bool = False,
    ) -> None:
        """ConfigError for a model that cannot do what this agent needs. ValueError for tools and a retriever of tools together,
        two tools of one name, and less than one round."""
        if tools and tool_retriever is not None:
            raise ValueError("give tools or tool_retriever, not both")
        if max_iterations < 1:
            raise ValueError(f"max_iterations must be at least 1, not {max_iterations}")
        llm = services(llm).llm
        about = llm.metadata
        if self.calls_functions and not (about.is_function_calling_model or about.is_extractive):
            raise ConfigError(
                f"{about.model_name} cannot call functions.",
                hint="Use ReActAgent, which works with any model, or choose a model that can.",
            )
        super().__init__(memory_for(llm, memory, None), prefix_messages)
        self._tools = _by_name(as_tools(tools))
        self._llm = llm
        self._max_iterations = max_iterations
        self._system_prompt = system_prompt or DEFAULT_SYSTEM_PROMPT
        self._tool_retriever = tool_retriever
        self._default_tool_choice = default_tool_choice
        self._parallel = allow_parallel_tool_calls
        self._log_level = logging.INFO if verbose else logging.DEBUG

    @classmethod
    def from_tools(
        cls,
        tools: Sequence[Tool] = (),
        llm: LLM | None = None,
        chat_history: Sequence[ChatMessage] | None = None,
        memory: ChatMemoryBuffer | None = None,
        max_iterations: int = MAX_ITERATIONS,
        verbose: bool = False,
        system_prompt: str | None = None,
        context: str | None = None,
        prefix_messages: Sequence[ChatMessage] | None = None,
        tool_retriever: ToolRetriever | None = None,
        default_tool_choice: str = "auto",
        allow_parallel_tool_calls: bool = True,
    ) -> Self:
        """`context`, what the model is to know beside its tools, is put behind the system prompt. `verbose` logs each step.

        `default_tool_choice` holds for the first round of each message; the others are "auto". Without
        `allow_parallel_tool_calls` only the first of several calls in a round runs, and the others are told so.
        """
        system, prefix = system_and_prefix(system_prompt, prefix_messages)
        chosen = services(llm).llm
        return cls(
            tools,
            chosen,
            memory_for(chosen, memory, chat_history),
            max_iterations=max_iterations,
            system_prompt="\n\n".join(part for part in (system, context) if part),
            prefix_messages=prefix,
            tool_retriever=tool_retriever,
            default_tool_choice=default_tool_choice,
            allow_parallel_tool_calls=allow_parallel_tool_calls,
            verbose=verbose,
        )

    def run(self, user_msg: str | ChatMessage, **options: Any) -> Any:
        """The same agent as a workflow, which is awaited (extra: workflow): `await agent.run("...")`. It has a conversation of
        its own; options are those of `ragcore.agent.workflow.AgentWorkflow.run`."""
        from ragcore.agent import workflow

        kind = workflow.FunctionAgent if self.calls_functions else workflow.ReActAgent
        tools: list[Any] = list(self._tools.values())
        return kind(tools=tools, llm=self._llm, system_prompt=self._system_prompt).run(user_msg, **options)

    def chat(
        self, message: str | QueryBundle, chat_history: Sequence[ChatMessage] | None = None, tool_choice: str | None = None
    ) -> AgentChatResponse:
        """`tool_choice`, for the first round: "auto", "none", "required" or a tool's name. QuestionError, LLMErrors.

        `chat_history`, even an empty one, takes the place of the conversation so far. A tool that fails is no error.
        """
        return self.stream_chat(message, chat_history, tool_choice).whole_reply()

    def stream_chat(
        self, message: str | QueryBundle, chat_history: Sequence[ChatMessage] | None = None, tool_choice: str | None = None
    ) -> StreamingAgentChatResponse:
        """The answer in pieces; while tools are at work the pieces are "". Words before a call of a tool are pieces too, and
        no part of `response`. A stream closed early leaves no call of a tool in the conversation."""
        return self._turn(message, chat_history, lambda asked, history: self._working(self._task(asked, history, tool_choice)))

    def query(self, query: str | QueryBundle) -> Response:
        """The answer in a conversation of its own: it knows nothing of the one so far, and is not remembered. So an agent may
        stand behind a tool of another. QuestionError, LLMErrors."""
        message = as_bundle(query).query_str
        refuse_empty(message)
        with span(self.span_name, mode=self.mode, question=message) as step:
            task = self._task(message, (), None)
            with closing(self._working(task).pieces) as pieces:
                for _ in pieces:
                    continue
        answer = task.last.answer if task.last else None
        return Response(answer or "", task.source_nodes, step, {"sources": task.sources})

    aquery = awaitable(query)

    @abstractmethod
    def _call(self, task: Task, *, last: bool) -> LLMCall:
        """What the model is asked next; `last`: it must not act any more."""

    @abstractmethod
    def _read(self, task: Task, generation: Generation) -> str | Sequence[Call]:
        """The answer, or the tools to call."""

    @abstractmethod
    def _seen(self, generation: Generation, calls: Sequence[Call], results: Sequence[str]) -> tuple[ChatMessage, ...]:
        """How a round in which tools were called stands before the model in the next."""

    def _said(self, task: Task, pieces: Stream) -> Generator[str, None, tuple[Generation, str]]:
        """Of the model's words, those that belong to an answer, as they come. Gives the generation and all that was shown."""
        shown = ""
        with closing(pieces):
            while True:
                try:
                    piece = next(pieces)
                except StopIteration as stop:
                    return stop.value, shown
                shown += piece
                yield piece

    def _reply(self, message: str, history: list[ChatMessage]) -> Reply:
        return self._working(self._task(message, history, None))

    def _task(self, message: str, history: Sequence[ChatMessage], tool_choice: str | None) -> Task:
        tools = self._tools if self._tool_retriever is None else _by_name(as_tools(self._tool_retriever.retrieve(message)))
        return Task(message, tuple(history), tools, tool_choice or self._default_tool_choice)

    def _working(self, task: Task) -> Reply:
        def pieces() -> Generator[str, None, None]:
            while task.last is None:
                yield from self._round(task)
                self._tell(reply, task)

        reply = Reply(pieces())
        return reply

    def _tell(self, reply: Reply, task: Task) -> None:
        """Put into the reply what the task has come to."""
        reply.sources, reply.source_nodes = task.sources, task.source_nodes
        if task.last is not None:
            reply.answer, reply.end = task.last.answer, task.last.end
            reply.between = self._kept(task)
            reply.remembered = not _only_nothing_found(task)

    def _kept(self, task: Task) -> Sequence[ChatMessage]:
        """What is remembered between a message and its answer."""
        return ()

    def _round(self, task: Task) -> Generator[str, None, None]:
        """The next round of a task, which is put into it when it is finished."""
        number = len(task.rounds) + 1
        step = start("step", round=number, of=self._max_iterations)
        yield from stream_in(step, self._asked_and_done(task, last=number > self._max_iterations))

    def _asked_and_done(self, task: Task, *, last: bool) -> Generator[str, None, None]:
        try:
            generation, shown = yield from self._hear_with_retry(task, last=last)
        except EmptyAnswerError:
            if all(output.is_error for output in task.sources):
                raise
            answer = yield from self._answer_from_results(task)
            task.rounds.append(Round((), answer=answer, end=End.ANSWERED))
            return
        wanted = self._read(task, generation)
        if last and not isinstance(wanted, str):
            wanted = shown if shown.strip() else _last_result(task)
        if isinstance(wanted, str):
            yield wanted[len(shown) :] if wanted.startswith(shown) else f"\n\n{wanted}"
            end = End.LIMIT if last else End.ANSWERED
            task.rounds.append(Round((), answer=wanted, end=end))
            return
        yield "\n\n" if shown.strip() else ""
        done = self._done(task, generation, wanted)
        if done.answer is not None:
            yield done.answer
        task.rounds.append(done)

    def _answer_from_results(self, task: Task) -> Generator[str, None, str]:
        """Ask a model that says nothing after its tools have run once more, with their results as passages. If it still says
        nothing, the last result is the answer."""
        results: dict[str, None] = {}  # as an ordered set
        for done in task.rounds:
            for output, result in zip(done.outputs, done.observed, strict=False):  # what names no tool has no output
                if not output.is_error:
                    results[result] = None
        answer = ""
        try:
            for piece in Synthesizer(self._llm).answer_from(tuple(map(Passage, results)), task.message, {}):
                answer += piece
                yield piece
        except EmptyAnswerError:
            yield (answer := _last_result(task))
        return answer

    def _hear_with_retry(self, task: Task, *, last: bool) -> Generator[str, None, tuple[Generation, str]]:
        """As `_heard`, asked once more where the model says nothing."""
        try:
            return (yield from self._heard(task, last=last))
        except EmptyAnswerError:
            return (yield from self._heard(task, last=last))

    def _heard(self, task: Task, *, last: bool) -> Generator[str, None, tuple[Generation, str]]:
        """What the model says next, and what of it was shown. EmptyAnswerError, also from a model that allows it."""
        generation, shown = yield from self._said(task, self._llm.stream(self._call(task, last=last)))
        if not generation.text.strip() and not generation.tool_calls:
            raise EmptyAnswerError(
                f"{self._llm.metadata.model_name} gave an empty answer twice.", hint="Ask again, or choose another model."
            )
        return generation, shown

    def _done(self, task: Task, generation: Generation, calls: Sequence[Call]) -> Round:
        """The round in which these tools were called."""

        def output(call: Call) -> ToolOutput:
            return self._output(task, call)

        outputs = [output(calls[0])] if len(calls) == 1 else in_order(output, calls)
        places = {id_: place for place, id_ in enumerate(_found((*task.sources, *outputs)), 1)}
        observed = tuple(_observed(output, places) for output in outputs)
        for call, result in zip(calls, observed, strict=True):
            logger.log(self._log_level, "called %s with %s: %s", call.tool, call.arguments, result)
        messages = self._seen(generation, calls, observed)
        called = tuple(output for call, output in zip(calls, outputs, strict=True) if call.tool)
        only = task.tools.get(calls[0].tool) if len(calls) == 1 else None
        if only is not None and only.metadata.return_direct and not outputs[0].is_error:
            return Round(messages, called, observed, answer=observed[0], end=End.RETURNED)
        return Round(messages, called, observed)

    def _output(self, task: Task, call: Call) -> ToolOutput:
        tool = task.tools.get(call.tool)
        if tool is not None and not call.problem:
            return run_tool(tool, call.arguments)
        problem = call.problem or f"there is no tool called {call.tool!r}. The tools are: {', '.join(task.tools) or 'none'}."
        output = ToolOutput(f"Error: {problem}", call.tool, {"args": (), "kwargs": call.arguments}, is_error=True)
        if not call.tool:  # what could not be read names none
            return output
        with span("tool", tool=call.tool, arguments=as_json(call.arguments), result=output.content, is_error=True):
            return output

    def _fitted(self, call: LLMCall, task: Task, coda: str = "") -> LLMCall:
        rounds = [message for done in task.rounds for message in done.messages]
        return fitted(self._llm, call, (*self._prefix, *task.history), task.message, rounds, coda)


def _by_name(tools: Sequence[Tool]) -> dict[str, Tool]:
    named = {tool.metadata.name: tool for tool in tools}
    if len(named) < len(tools):
        names = [tool.metadata.name for tool in tools]
        raise ValueError(f"tools need different names, not {names}")
    return named


def _found(outputs: Sequence[ToolOutput]) -> dict[str, NodeWithScore]:
    """The passages of all outputs by their ids, in the order in which they were found."""
    found: dict[str, NodeWithScore] = {}
    for output in outputs:
        for hit in output.source_nodes or ():
            found.setdefault(hit.node.id_, hit)
    return found


def _observed(output: ToolOutput, places: Mapping[str, int]) -> str:
    """The content with its citations as they are among the passages of all tools."""
    nodes = output.source_nodes
    return cited_anew(Response(output.content, nodes), places, len(places)) if nodes else output.content


def _only_nothing_found(task: Task) -> bool:
    """Whether all that was done was to look for passages, none was found, and the answer says no more than that."""
    answer = task.last.answer if task.last else None
    outputs = task.sources
    return any(output.content == answer for output in outputs) and all(output.source_nodes == () for output in outputs)


def _last_result(task: Task) -> str:
    return next((output.content for output in reversed(task.sources) if not output.is_error), NO_ANSWER)
