"""The loop of every agent: ask the model, run the tools it calls, show it their results, until it answers.

In each round the model is called once and may call tools. After the last round the model must answer with
what it has. A task stores only its finished rounds: its answer, sources and passages are computed from them.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, Self

from ragcore.agent.context_window import fit_call
from ragcore.chat_engine.base import (
    AgentChatResponse,
    ChatEngine,
    End,
    Reply,
    StreamingAgentChatResponse,
    get_memory,
    refuse_empty,
    system_and_prefix,
)
from ragcore.concurrency import awaitable, in_order
from ragcore.errors import ConfigError
from ragcore.extractive.answerer import ExtractiveLLM
from ragcore.llms.base import LLM, Generation, LLMCall, Pieces, Stream
from ragcore.llms.http_errors import EmptyAnswerError
from ragcore.memory import ChatMemoryBuffer
from ragcore.observe import span, start, stream_in
from ragcore.prompts.prompt import Passage
from ragcore.prompts.wording import DEFAULT_SYSTEM_PROMPT
from ragcore.query_engine.base import renumber_citations
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
    """A model's call of a tool. `problem` is the reason why the tool cannot run with this call, in words for
    the model."""

    tool: str
    arguments: Any = None
    id: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Round:
    """A finished round: the model's message, the tools' results, and the answer if it was the last round.

    The next call of the model includes `messages`; the results of tools come last.
    """

    messages: tuple[ChatMessage, ...]
    outputs: tuple[ToolOutput, ...] = ()
    observations: tuple[str, ...] = ()  # results as the model sees them
    answer: str | None = None
    end: End = End.ANSWERED


@dataclass(slots=True, eq=False)
class Task:
    """An unanswered message. `history` is the part of the conversation before it that fits. `was_sent_back`:
    the agent has rejected an answer because nothing was looked up."""

    message: str
    history: tuple[ChatMessage, ...]
    tools: Mapping[str, Tool]
    tool_choice: str = "auto"
    rounds: list[Round] = field(default_factory=list)
    was_sent_back: bool = False

    @property
    def sources(self) -> tuple[ToolOutput, ...]:
        """All results of tools, in order."""
        return tuple(output for done in self.rounds for output in done.outputs)

    @property
    def source_nodes(self) -> tuple[NodeWithScore, ...]:
        """The distinct passages that tools returned; citation [n] is `source_nodes[n - 1]`."""
        return tuple(_passages_by_id(self.sources).values())

    @property
    def last(self) -> Round | None:
        return self.rounds[-1] if self.rounds and self.rounds[-1].answer is not None else None


class Agent(ChatEngine):
    """Subclasses build the model's prompt and parse its reply. Threads may share an agent.

    >>> from ragcore.agent import ReActAgent
    >>> from ragcore.llms import ScriptedLLM
    >>> str(ReActAgent.from_tools(llm=ScriptedLLM(["Answer: It is 3."])).chat("1 + 2?"))
    'It is 3.'
    """

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
        """ConfigError for a model that cannot do what this agent needs. ValueError for tools and a retriever
        of tools together, two tools of one name, and less than one round."""
        if tools and tool_retriever is not None:
            raise ValueError("give tools or tool_retriever, not both")
        if max_iterations < 1:
            raise ValueError(f"max_iterations must be at least 1, not {max_iterations}")
        llm = services(llm).llm
        about = llm.metadata
        if self.calls_functions and not (about.is_function_calling_model or isinstance(llm, ExtractiveLLM)):
            raise ConfigError(
                f"{about.model_name} cannot call functions.",
                hint="Use ReActAgent, which works with any model, or choose a model that can.",
            )
        super().__init__(get_memory(llm, memory, None), prefix_messages)
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
        """`context`, background for the model, is appended to the system prompt. `verbose` logs each step.

        `default_tool_choice` applies to the first round of each message; later rounds use "auto". Without
        `allow_parallel_tool_calls` only the first of several calls in a round runs; each other call returns
        an error.
        """
        system, prefix = system_and_prefix(system_prompt, prefix_messages)
        chosen = services(llm).llm
        return cls(
            tools,
            chosen,
            get_memory(chosen, memory, chat_history),
            max_iterations=max_iterations,
            system_prompt="\n\n".join(part for part in (system, context) if part),
            prefix_messages=prefix,
            tool_retriever=tool_retriever,
            default_tool_choice=default_tool_choice,
            allow_parallel_tool_calls=allow_parallel_tool_calls,
            verbose=verbose,
        )

    def chat(
        self,
        message: str | QueryBundle,
        chat_history: Sequence[ChatMessage] | None = None,
        tool_choice: str | None = None,
    ) -> AgentChatResponse:
        """`tool_choice`, for the first round: "auto", "none", "required" or a tool's name. QuestionError,
        LLMErrors.

        `chat_history`, even an empty one, takes the place of the conversation so far. A tool that fails is no
        error.
        """
        return self.stream_chat(message, chat_history, tool_choice).whole_reply()

    def stream_chat(
        self,
        message: str | QueryBundle,
        chat_history: Sequence[ChatMessage] | None = None,
        tool_choice: str | None = None,
    ) -> StreamingAgentChatResponse:
        """The answer in pieces; while tools are at work the pieces are "". Words before a call of a tool are
        pieces too, and no part of `response`. A stream closed early leaves no call of a tool in the
        conversation."""
        return self._turn(
            message,
            chat_history,
            lambda text, history: self._reply_of(self._task(text, history, tool_choice)),
        )

    def query(self, query: str | QueryBundle) -> Response:
        """The answer in a conversation of its own: it knows nothing of the one so far, and is not remembered.
        So an agent may stand behind a tool of another. QuestionError, LLMErrors."""
        message = as_bundle(query).query_str
        refuse_empty(message)
        with span(self.span_name, mode=self.mode, question=message) as step:
            task = self._task(message, (), None)
            for _ in self._reply_of(task).pieces:
                continue
        answer = task.last.answer if task.last else None
        return Response(answer or "", task.source_nodes, step, {"sources": task.sources})

    aquery = awaitable(query)

    @abstractmethod
    def _call(self, task: Task, *, last: bool) -> LLMCall:
        """The next call of the model. If it is the `last`, the model must answer without tools."""

    @abstractmethod
    def _read(self, task: Task, generation: Generation) -> str | Sequence[Call]:
        """The answer, or the tools to call."""

    @abstractmethod
    def _messages(
        self, generation: Generation, calls: Sequence[Call], results: Sequence[str]
    ) -> tuple[ChatMessage, ...]:
        """The messages by which the model sees a round with tool calls in its next call."""

    def _stream_answer(self, task: Task, pieces: Stream) -> Generator[str, None, tuple[Generation, str]]:
        """Yields the pieces that belong to an answer. Returns the generation and the text that was
        yielded."""
        streamed = ""
        with closing(Pieces(pieces)) as stream:
            for piece in stream:
                streamed += piece
                yield piece
            return stream.result, streamed

    def _reply(self, message: str, history: list[ChatMessage]) -> Reply:
        return self._reply_of(self._task(message, history, None))

    def _task(self, message: str, history: Sequence[ChatMessage], tool_choice: str | None) -> Task:
        tools = (
            self._tools
            if self._tool_retriever is None
            else _by_name(as_tools(self._tool_retriever.retrieve(message)))
        )
        return Task(message, tuple(history), tools, tool_choice or self._default_tool_choice)

    def _reply_of(self, task: Task) -> Reply:
        def pieces() -> Generator[str, None, None]:
            while task.last is None:
                yield from self._round(task)
                self._update(reply, task)

        reply = Reply(pieces())
        return reply

    def _update(self, reply: Reply, task: Task) -> None:
        """Copy the task's sources and answer into the reply."""
        reply.sources, reply.source_nodes = task.sources, task.source_nodes
        if task.last is not None:
            reply.answer, reply.end = task.last.answer, task.last.end
            reply.between = self._messages_between(task)
            reply.remembered = not _only_nothing_found(task)

    def _messages_between(self, task: Task) -> Sequence[ChatMessage]:
        """The messages that the conversation stores between the user's message and the answer."""
        return ()

    def _round(self, task: Task) -> Generator[str, None, None]:
        """Run the next round and append it to the task when it finishes."""
        number = len(task.rounds) + 1
        step = start("step", round=number, of=self._max_iterations)
        yield from stream_in(step, self._ask_and_act(task, last=number > self._max_iterations))

    def _ask_and_act(self, task: Task, *, last: bool) -> Generator[str, None, None]:
        try:
            generation, streamed = yield from self._ask_with_retry(task, last=last)
        except EmptyAnswerError:
            if all(output.is_error for output in task.sources):
                raise
            answer = yield from self._answer_from_results(task)
            task.rounds.append(Round((), answer=answer, end=End.ANSWERED))
            return
        decision = self._read(task, generation)
        if last and not isinstance(decision, str):
            decision = streamed if streamed.strip() else _last_result(task)
        if isinstance(decision, str):
            yield decision[len(streamed) :] if decision.startswith(streamed) else f"\n\n{decision}"
            end = End.LIMIT if last else End.ANSWERED
            task.rounds.append(Round((), answer=decision, end=end))
            return
        yield "\n\n" if streamed.strip() else ""
        done = self._run_tools(task, generation, decision)
        if done.answer is not None:
            yield done.answer
        task.rounds.append(done)

    def _answer_from_results(self, task: Task) -> Generator[str, None, str]:
        """Ask a model that answers nothing after its tools have run once more, with their results as
        passages. If it still answers nothing, the last result is the answer."""
        results: dict[str, None] = {}  # as an ordered set
        for done in task.rounds:
            # a call without a tool has no output
            for output, result in zip(done.outputs, done.observations, strict=False):
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

    def _ask_with_retry(self, task: Task, *, last: bool) -> Generator[str, None, tuple[Generation, str]]:
        """Calls `_ask` a second time if the model answers nothing."""
        try:
            return (yield from self._ask(task, last=last))
        except EmptyAnswerError:
            return (yield from self._ask(task, last=last))

    def _ask(self, task: Task, *, last: bool) -> Generator[str, None, tuple[Generation, str]]:
        """The model's next generation and the text that was yielded. EmptyAnswerError, even if the model
        allows it."""
        generation, streamed = yield from self._stream_answer(
            task, self._llm.stream(self._call(task, last=last))
        )
        if not generation.text.strip() and not generation.tool_calls:
            raise EmptyAnswerError(
                f"{self._llm.metadata.model_name} gave an empty answer twice.",
                hint="Ask again, or choose another model.",
            )
        return generation, streamed

    def _run_tools(self, task: Task, generation: Generation, calls: Sequence[Call]) -> Round:
        """Call the tools and return the finished round."""

        def output(call: Call) -> ToolOutput:
            return self._output(task, call)

        outputs = [output(calls[0])] if len(calls) == 1 else in_order(output, calls)
        places = {id_: place for place, id_ in enumerate(_passages_by_id((*task.sources, *outputs)), 1)}
        observations = tuple(_observation(output, places) for output in outputs)
        for call, result in zip(calls, observations, strict=True):
            logger.log(self._log_level, "called %s with %s: %s", call.tool, call.arguments, result)
        messages = self._messages(generation, calls, observations)
        called = tuple(output for call, output in zip(calls, outputs, strict=True) if call.tool)
        only = task.tools.get(calls[0].tool) if len(calls) == 1 else None
        if only is not None and only.metadata.return_direct and not outputs[0].is_error:
            return Round(messages, called, observations, answer=observations[0], end=End.RETURNED)
        return Round(messages, called, observations)

    def _output(self, task: Task, call: Call) -> ToolOutput:
        tool = task.tools.get(call.tool)
        if tool is not None and not call.problem:
            return run_tool(tool, call.arguments)
        problem = (
            call.problem
            or f"there is no tool called {call.tool!r}. The tools are: {', '.join(task.tools) or 'none'}."
        )
        output = ToolOutput(
            f"Error: {problem}", call.tool, {"args": (), "kwargs": call.arguments}, is_error=True
        )
        if not call.tool:  # the reply was unreadable
            return output
        with span(
            "tool", tool=call.tool, arguments=as_json(call.arguments), result=output.content, is_error=True
        ):
            return output

    def _fit(self, call: LLMCall, task: Task, coda: str = "") -> LLMCall:
        rounds = [message for done in task.rounds for message in done.messages]
        return fit_call(self._llm, call, (*self._prefix, *task.history), task.message, rounds, coda)


def _by_name(tools: Sequence[Tool]) -> dict[str, Tool]:
    named = {tool.metadata.name: tool for tool in tools}
    if len(named) < len(tools):
        names = [tool.metadata.name for tool in tools]
        raise ValueError(f"tools need different names, not {names}")
    return named


def _passages_by_id(outputs: Sequence[ToolOutput]) -> dict[str, NodeWithScore]:
    """The distinct passages of all outputs, in the order of the outputs."""
    passages: dict[str, NodeWithScore] = {}
    for output in outputs:
        for hit in output.source_nodes or ():
            passages.setdefault(hit.node.id_, hit)
    return passages


def _observation(output: ToolOutput, places: Mapping[str, int]) -> str:
    """The content with its citations renumbered to the passages of all tools."""
    nodes = output.source_nodes
    return (
        renumber_citations(Response(output.content, nodes), places, len(places)) if nodes else output.content
    )


def _only_nothing_found(task: Task) -> bool:
    """Whether the tools only searched for passages, returned none, and the answer repeats that."""
    answer = task.last.answer if task.last else None
    outputs = task.sources
    return any(output.content == answer for output in outputs) and all(
        output.source_nodes == () for output in outputs
    )


def _last_result(task: Task) -> str:
    return next((output.content for output in reversed(task.sources) if not output.is_error), NO_ANSWER)
