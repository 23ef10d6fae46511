"""The base of all chat engines: a turn reads the conversation when it begins and adds question and answer
when it ends.

So two threads may use one engine at once: the messages of one turn stay together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from ragcore.concurrency import awaitable
from ragcore.errors import QuestionError
from ragcore.extractive.answerer import Writer, writer_of
from ragcore.extractive.quoter import Quoter
from ragcore.memory import ChatMemoryBuffer
from ragcore.memory.chat_memory import limit_for
from ragcore.observe import Span, finish, span, start, stream_in, under
from ragcore.prompts.mixin import PromptMixin
from ragcore.prompts.prompt import Prompt, Variables
from ragcore.prompts.wording import CONDENSE_QUESTION
from ragcore.response_synthesizers.answer import AnswerStream, log_trace
from ragcore.response_synthesizers.base import count_calls
from ragcore.response_synthesizers.packer import Packer
from ragcore.schema import ChatMessage, MessageRole, NodeWithScore, Outcome, QueryBundle, outcome_of
from ragcore.tools import ToolOutput

__all__ = ["AgentChatResponse", "ChatEngine", "End", "Reply", "StreamingAgentChatResponse", "condense"]

QUOTER_CHARS = 100_000  # of a conversation, in which the quoter looks for the topic of a follow-up
STOPPED = "stopped"  # marks, in additional_kwargs, an answer that was not finished


class End(str, Enum):
    """The origin of a turn's answer."""

    ANSWERED = "answered"  # the model answered
    RETURNED = "returned"  # the result of a tool is the answer
    LIMIT = "limit"  # the last round ended, and the answer is from the results so far


@dataclass(frozen=True, slots=True)
class AgentChatResponse:
    """An answer, the results of tools in order, and the trace. Citation [n] is `source_nodes[n - 1]`.

    >>> from ragcore.schema import TextNode
    >>> answer = AgentChatResponse("Ada [1].", source_nodes=(NodeWithScore(TextNode("Ada wrote notes.")),))
    >>> str(answer), answer.source_nodes[0].text
    ('Ada [1].', 'Ada wrote notes.')
    """

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
    """An answer that has not begun. An agent adds its results as it works.

    An answer that is not `remembered` leaves the conversation as it was. `answer` is the answer itself, if
    the pieces also include words before a call of a tool. `between` are messages to remember between question
    and answer.
    """

    pieces: Generator[str, None, object]
    source_nodes: Sequence[NodeWithScore] = ()
    sources: Sequence[ToolOutput] = ()
    remembered: bool = True
    answer: str | None = None
    between: Sequence[ChatMessage] = ()
    end: End = End.ANSWERED


class StreamingAgentChatResponse(AnswerStream):
    """An AnswerStream in a conversation: when it ends, early or not, the text so far is remembered.

    An agent's `sources` and `source_nodes` grow as it works.

    >>> from ragcore.chat_engine import SimpleChatEngine
    >>> from ragcore.llms import ScriptedLLM
    >>> engine = SimpleChatEngine.from_defaults(llm=ScriptedLLM(["Hello, Ada!"]))
    >>> "".join(engine.stream_chat("I am Ada."))
    'Hello, Ada!'
    """

    def __init__(
        self, pieces: Generator[str, None, object], reply: Reply, *, trace: Span | None = None
    ) -> None:
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
        """The answer; waits for its end."""
        text = str(self)
        return text if self._reply.answer is None else self._reply.answer

    def whole_reply(self) -> AgentChatResponse:
        """The answer once it is finished."""
        answer = self.response
        return AgentChatResponse(answer, self.sources, self.source_nodes, self.trace, self._reply.end)


class ChatEngine(PromptMixin, ABC):
    """Answers messages of one conversation. With `verbose` it logs the trace of each.

    >>> from ragcore.chat_engine import SimpleChatEngine
    >>> from ragcore.llms import ScriptedLLM
    >>> engine = SimpleChatEngine.from_defaults(llm=ScriptedLLM(["Hello!"]))
    >>> str(engine.chat("Hi")), len(engine.chat_history)
    ('Hello!', 2)
    """

    verbose: bool = False
    mode: ClassVar[str]
    span_name: ClassVar[str] = "chat"

    def __init__(self, memory: ChatMemoryBuffer, prefix_messages: Sequence[ChatMessage] = ()) -> None:
        """The model reads `prefix_messages` before the conversation, of which they are no part."""
        self._memory = memory
        self._prefix = tuple(prefix_messages)
        self._prefix_tokens = memory.cost(self._prefix)

    @abstractmethod
    def _reply(self, message: str, history: list[ChatMessage]) -> Reply:
        """Finds the passages, and prepares the answer to `message`. `history` is the part of the conversation
        that fits."""

    def chat(
        self, message: str | QueryBundle, chat_history: Sequence[ChatMessage] | None = None
    ) -> AgentChatResponse:
        """`chat_history`, even an empty one, replaces the conversation so far. QuestionError, LLMErrors."""
        return self.stream_chat(message, chat_history).whole_reply()

    def stream_chat(
        self, message: str | QueryBundle, chat_history: Sequence[ChatMessage] | None = None
    ) -> StreamingAgentChatResponse:
        """Returns after the retrieval; the answer comes in pieces.

        When the stream is closed early or fails, the text so far is remembered with the mark STOPPED; without
        any text nothing is remembered, not even the question.
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
        chat_history = None if chat_history is None else tuple(chat_history)
        step = start(self.span_name, mode=self.mode, question=message)
        try:
            with under(step):
                history = self._history(chat_history)
                step.note(history=len(history))
                reply = prepare(message, history)
        except BaseException as error:  # noted, whatever it is, and raised again
            finish(step, error)
            raise
        pieces = stream_in(
            step, self._remember_pieces(message, chat_history, reply, count_calls(step, reply.pieces))
        )
        return StreamingAgentChatResponse(log_trace(step, pieces, self.verbose), reply, trace=step)

    def _history(self, chat_history: Sequence[ChatMessage] | None) -> list[ChatMessage]:
        if chat_history is None:
            return self._memory.get(self._prefix_tokens)
        return self._memory.fit(chat_history, self._prefix_tokens)

    def _remember_pieces(
        self,
        message: str,
        chat_history: Sequence[ChatMessage] | None,
        reply: Reply,
        pieces: Generator[str, None, None],
    ) -> Generator[str, None, None]:
        text = ""
        whole = False
        try:
            for piece in pieces:
                text += piece
                yield piece
            whole = True
        finally:
            pieces.close()
            if whole and reply.answer is not None:
                self._remember(chat_history, reply, as_turn(message, reply.answer, reply.between))
            elif text:
                self._remember(chat_history, reply, as_turn(message, text, whole=whole))

    def _remember(
        self, chat_history: Sequence[ChatMessage] | None, reply: Reply, turn: Sequence[ChatMessage]
    ) -> None:
        if reply.remembered and chat_history is None:
            self._memory.put(*turn)
        elif reply.remembered:
            self._memory.set((*(chat_history or ()), *turn))


def refuse_empty(message: str) -> None:
    if not message.strip():
        raise QuestionError("There is no question.", hint="Type what you want to know.")


def as_turn(
    message: str, answer: str, between: Sequence[ChatMessage] = (), *, whole: bool = True
) -> tuple[ChatMessage, ...]:
    mark = {} if whole else {STOPPED: True}
    return (
        ChatMessage(MessageRole.USER, message),
        *between,
        ChatMessage(MessageRole.ASSISTANT, answer, additional_kwargs=mark),
    )


def get_memory(
    writer: Writer,
    memory: ChatMemoryBuffer | None,
    chat_history: Sequence[ChatMessage] | None,
    token_limit: int | None = None,
) -> ChatMemoryBuffer:
    """`memory` with `chat_history`; without a memory, a new one of three quarters of the model's window."""
    writer = writer_of(writer)
    if memory is None:
        if isinstance(writer, Quoter):
            return ChatMemoryBuffer(QUOTER_CHARS, chat_history, len)
        return ChatMemoryBuffer(token_limit or limit_for(writer), chat_history)
    if chat_history is not None:
        memory.set(chat_history)
    return memory


def system_and_prefix(
    system_prompt: str | None, prefix_messages: Sequence[ChatMessage] | None
) -> tuple[str, tuple[ChatMessage, ...]]:
    """The system prompt, or that of the system messages, and the other messages. ValueError for both
    arguments."""
    if system_prompt is not None and prefix_messages is not None:
        raise ValueError("give system_prompt or prefix_messages, not both")
    messages = tuple(prefix_messages or ())
    system = "\n".join(message.content for message in messages if message.role is MessageRole.SYSTEM)
    return system_prompt or system, tuple(
        message for message in messages if message.role is not MessageRole.SYSTEM
    )


def condense(
    writer: Writer, question: str, history: Sequence[ChatMessage], prompt: Prompt = CONDENSE_QUESTION
) -> str:
    """`question` as one that can be understood without the conversation: one call of a model, none for an
    empty conversation."""
    talk = tuple(message for message in history if message.role is not MessageRole.TOOL and message.content)
    if not talk:
        return question
    writer = writer_of(writer)
    with span("condense") as step:
        if isinstance(writer, Quoter):
            condensed = writer.condense(prompt.name, question, talk)
        else:
            variables: Variables = {"chat_history": talk, "question": question}
            call = Packer(writer).take(prompt, variables, ()).calls[0]
            condensed = writer.generate(call).text.strip() or question
        step.note(question=condensed)
    return condensed
