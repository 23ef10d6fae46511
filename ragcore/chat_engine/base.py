"""What all chat engines share: a turn reads the conversation when it begins and adds question and answer when it ends.

So two threads may use one engine at once: each turn sees the conversation as it was when it began, and the messages of one
turn stay together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from ragcore.concurrency import awaitable
from ragcore.errors import QuestionError
from ragcore.llms.base import LLM
from ragcore.memory import ChatMemoryBuffer
from ragcore.memory.chat_memory import limit_for
from ragcore.observe import Span, finish, span, start, stream_in, under
from ragcore.prompts.prompt import Prompt, Variables
from ragcore.prompts.wording import CONDENSE_QUESTION
from ragcore.query_engine.base import logged
from ragcore.response_synthesizers.answer import AnswerStream
from ragcore.response_synthesizers.packer import Packer
from ragcore.response_synthesizers.synthesizer import tallied
from ragcore.schema import ChatMessage, MessageRole, NodeWithScore, Outcome, QueryBundle, outcome_of
from ragcore.tools import ToolOutput

__all__ = ["AgentChatResponse", "ChatEngine", "End", "Reply", "StreamingAgentChatResponse", "condense"]

STOPPED = "stopped"  # marks, in additional_kwargs, an answer that was not finished


class End(str, Enum):
    """How a turn came to its answer."""

    ANSWERED = "answered"  # the model answered
    RETURNED = "returned"  # the result of a tool is the answer
    LIMIT = "limit"  # the rounds were used up, and the answer is made from what had been found by then


@dataclass(frozen=True, slots=True)
class AgentChatResponse:
    """An answer, what tools gave for it, in order, and the trace of how. Citation [n] is `source_nodes[n - 1]`."""

    response: str
    sources: tuple[ToolOutput, ...] = ()
    source_nodes: tuple[NodeWithScore, ...] = ()
    trace: Span | None = None
    end: End = End.ANSWERED

    @property
    def outcome(self) -> Outcome:
        return outcome_of(self.trace)

    def __str__(self) -> str:
        return self.response


@dataclass(slots=True, eq=False)
class Reply:
    """An answer that has not begun. What an agent finds on the way is put in as it comes.

    An answer that is not `remembered` leaves the conversation as it was. `answer` is the answer itself, where the pieces may
    hold more: words said before a tool was called. `between` are messages to remember between question and answer.
    """

    pieces: Generator[str, None, object]
    source_nodes: Sequence[NodeWithScore] = ()
    sources: Sequence[ToolOutput] = ()
    remembered: bool = True
    answer: str | None = None
    between: Sequence[ChatMessage] = ()
    end: End = End.ANSWERED


class StreamingAgentChatResponse(AnswerStream):
    """An AnswerStream in a conversation: when it ends, early or not, what was said is remembered.

    An agent's `sources` and `source_nodes` grow as it works, and are whole when the pieces are.
    """

    def __init__(self, pieces: Generator[str, None, object], reply: Reply, *, trace: Span | None = None) -> None:
        super().__init__(pieces, reply.source_nodes, trace=trace)
        self._reply = reply

    def __iter__(self) -> Generator[str, None, None]:
        try:
            yield from super().__iter__()
        finally:
            self.source_nodes = tuple(self._reply.source_nodes)

    @property
    def sources(self) -> tuple[ToolOutput, ...]:
        return tuple(self._reply.sources)

    @property
    def response(self) -> str:
        """The answer; what is still missing is waited for."""
        said = str(self)
        return said if self._reply.answer is None else self._reply.answer

    def whole_reply(self) -> AgentChatResponse:
        """The answer once it is finished."""
        answer = self.response
        return AgentChatResponse(answer, self.sources, self.source_nodes, self.trace, self._reply.end)


class ChatEngine(ABC):
    """Answers messages of one conversation. With `verbose` it logs the trace of each."""

    verbose: bool = False
    mode: ClassVar[str]
    span_name: ClassVar[str] = "chat"

    def __init__(self, memory: ChatMemoryBuffer, prefix_messages: Sequence[ChatMessage] = ()) -> None:
        """`prefix_messages` stand before the conversation whenever the model sees it; they are no part of it."""
        self._memory = memory
        self._prefix = tuple(prefix_messages)
        self._prefix_tokens = memory.cost(self._prefix)

    @abstractmethod
    def _reply(self, message: str, history: list[ChatMessage]) -> Reply:
        """Find the passages, and prepare the answer to `message`. `history` is what fits of the conversation before it."""

    def chat(self, message: str | QueryBundle, chat_history: Sequence[ChatMessage] | None = None) -> AgentChatResponse:
        """`chat_history`, even an empty one, takes the place of the conversation so far. QuestionError, LLMErrors."""
        return self.stream_chat(message, chat_history).whole_reply()

    def stream_chat(
        self, message: str | QueryBundle, chat_history: Sequence[ChatMessage] | None = None
    ) -> StreamingAgentChatResponse:
        """The passages are found before this returns; the answer comes in pieces.

        When the stream is closed early or breaks, what was said so far is remembered with the mark STOPPED; when nothing was
        said yet, nothing is remembered, not even the question.
        """
        return self._turn(message, chat_history, self._reply)

    achat = awaitable(chat)
    astream_chat = awaitable(stream_chat)  # iterate with `async for piece in response.async_response_gen()`

    @property
    def chat_history(self) -> list[ChatMessage]:
        return self._memory.get_all()

    def reset(self) -> None:
        """Forget the conversation."""
        self._memory.reset()

    def _turn(
        self,
        message: str | QueryBundle,
        chat_history: Sequence[ChatMessage] | None,
        prepare: Callable[[str, list[ChatMessage]], Reply],
    ) -> StreamingAgentChatResponse:
        message = str(message)
        refuse_empty(message)
        given = None if chat_history is None else tuple(chat_history)
        step = start(self.span_name, mode=self.mode, question=message)
        try:
            with under(step):
                history = self._history(given)
                step.note(history=len(history))
                reply = prepare(message, history)
        except BaseException as error:  # whatever it was, it is noted and goes on
            finish(step, error)
            raise
        pieces = stream_in(step, self._remembering(message, given, reply, tallied(step, reply.pieces)))
        if self.verbose:
            pieces = logged(step, pieces)
        return StreamingAgentChatResponse(pieces, reply, trace=step)

    def _history(self, given: Sequence[ChatMessage] | None) -> list[ChatMessage]:
        if given is None:
            return self._memory.get(self._prefix_tokens)
        return self._memory.fitting(given, self._prefix_tokens)

    def _remembering(
        self, message: str, given: Sequence[ChatMessage] | None, reply: Reply, pieces: Generator[str, None, None]
    ) -> Generator[str, None, None]:
        said: list[str] = []
        whole = False
        try:
            for piece in pieces:
                said.append(piece)
                yield piece
            whole = True
        finally:
            pieces.close()
            if whole and reply.answer is not None:
                self._remember(given, reply, as_turn(message, reply.answer, reply.between))
            elif answer := "".join(said):
                self._remember(given, reply, as_turn(message, answer, whole=whole))

    def _remember(self, given: Sequence[ChatMessage] | None, reply: Reply, turn: Sequence[ChatMessage]) -> None:
        if not reply.remembered:
            return
        if given is None:
            self._memory.put(*turn)
        else:
            self._memory.set((*given, *turn))


def refuse_empty(message: str) -> None:
    if not message.strip():
        raise QuestionError("There is no question.", hint="Type what you want to know.")


def as_turn(message: str, answer: str, between: Sequence[ChatMessage] = (), *, whole: bool = True) -> tuple[ChatMessage, ...]:
    mark = {} if whole else {STOPPED: True}
    return (
        ChatMessage(MessageRole.USER, message),
        *between,
        ChatMessage(MessageRole.ASSISTANT, answer, additional_kwargs=mark),
    )


def memory_for(
    llm: LLM,
    memory: ChatMemoryBuffer | None,
    chat_history: Sequence[ChatMessage] | None,
    token_limit: int | None = None,
) -> ChatMemoryBuffer:
    """The memory given, with the history given; where there is none, a new one of three quarters of the model's window."""
    if memory is None:
        return ChatMemoryBuffer(token_limit or limit_for(llm), chat_history)
    if chat_history is not None:
        memory.set(chat_history)
    return memory


def system_and_prefix(
    system_prompt: str | None, prefix_messages: Sequence[ChatMessage] | None
) -> tuple[str, tuple[ChatMessage, ...]]:
    """The system prompt, given as such or as the system messages among others, and those others. ValueError for both."""
    if system_prompt is not None and prefix_messages is not None:
        raise ValueError("give system_prompt or prefix_messages, not both")
    given = tuple(prefix_messages or ())
    system = "\n".join(message.content for message in given if message.role is MessageRole.SYSTEM)
    return system_prompt or system, tuple(message for message in given if message.role is not MessageRole.SYSTEM)


def condense(llm: LLM, question: str, history: Sequence[ChatMessage], prompt: Prompt = CONDENSE_QUESTION) -> str:
    """`question` so that it can be understood without the conversation: one call, none where nothing was said before."""
    talk = tuple(message for message in history if message.role is not MessageRole.TOOL and message.content)
    if not talk:
        return question
    with span("condense") as step:
        variables: Variables = {"chat_history": talk, "question": question}
        call = Packer(llm).take(prompt, variables, ()).calls[0]
        condensed = llm.generate(call).text.strip() or question
        step.note(question=condensed)
    return condensed
