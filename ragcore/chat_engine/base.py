"""What all chat engines share: a turn reads the conversation when it begins and adds question and answer when it ends.

So two threads may use one engine at once: each turn sees the conversation as it was when it began, and the messages of one
turn stay together.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ragcore.errors import QuestionError
from ragcore.llms.base import LLM
from ragcore.memory import ChatMemoryBuffer
from ragcore.observe import Span, finish, span, start, stream_in, under
from ragcore.prompts import CONDENSE_QUESTION, Variables
from ragcore.response_synthesizers.answer import AnswerStream
from ragcore.response_synthesizers.pack import Packer
from ragcore.response_synthesizers.synthesizer import tallied
from ragcore.schema import ChatMessage, MessageRole, NodeWithScore

STOPPED = "stopped"  # marks, in additional_kwargs, an answer that was not finished


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool was asked and what it gave; here the tool is the retriever or the query engine."""

    content: str
    tool_name: str
    raw_input: Mapping[str, Any] = field(default_factory=dict)
    raw_output: Any = None

    def __str__(self) -> str:
        return self.content


@dataclass(frozen=True, slots=True)
class AgentChatResponse:
    """An answer, the passages it was made from (citation [n] is `source_nodes[n - 1]`), and the trace of how."""

    response: str
    sources: tuple[ToolOutput, ...] = ()
    source_nodes: tuple[NodeWithScore, ...] = ()
    trace: Span | None = None

    def __str__(self) -> str:
        return self.response


class StreamingAgentChatResponse(AnswerStream):
    """An AnswerStream in a conversation: when it ends, early or not, what was said is remembered."""

    def __init__(
        self,
        pieces: Generator[str, None, object],
        source_nodes: Sequence[NodeWithScore] = (),
        *,
        sources: Sequence[ToolOutput] = (),
        trace: Span | None = None,
    ) -> None:
        super().__init__(pieces, source_nodes, trace=trace)
        self.sources = tuple(sources)

    def whole_reply(self) -> AgentChatResponse:
        """The answer once it is finished."""
        return AgentChatResponse(str(self), self.sources, self.source_nodes, self.trace)


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that has not begun. An answer that is not `remembered` leaves the conversation as it was."""

    pieces: Generator[str, None, object]
    source_nodes: Sequence[NodeWithScore] = ()
    sources: Sequence[ToolOutput] = ()
    remembered: bool = True


class ChatEngine(ABC):
    """Answers messages of one conversation."""

    mode: ClassVar[str]

    def __init__(self, memory: ChatMemoryBuffer) -> None:
        self._memory = memory

    @abstractmethod
    def _reply(self, message: str, history: list[ChatMessage]) -> Reply:
        """Find the passages, and prepare the answer to `message`. `history` is what fits of the conversation before it."""

    def chat(self, message: str, chat_history: Sequence[ChatMessage] | None = None) -> AgentChatResponse:
        """`chat_history`, even an empty one, takes the place of the conversation so far. QuestionError, LLMErrors."""
        return self.stream_chat(message, chat_history).whole_reply()

    def stream_chat(self, message: str, chat_history: Sequence[ChatMessage] | None = None) -> StreamingAgentChatResponse:
        """The passages are found before this returns; the answer comes in pieces.

        When the stream is closed early or breaks, what was said so far is remembered with the mark STOPPED; when nothing was
        said yet, nothing is remembered, not even the question.
        """
        if not message.strip():
            raise QuestionError("There is no question.", hint="Type what you want to know.")
        given = None if chat_history is None else tuple(chat_history)
        history = self._memory.get() if given is None else self._memory.fitting(given)
        step = start("chat", mode=self.mode, question=message, history=len(history))
        try:
            with under(step):
                reply = self._reply(message, history)
        except BaseException as error:  # whatever it was, it is noted and goes on
            finish(step, error)
            raise
        pieces = tallied(step, reply.pieces)
        if reply.remembered:
            pieces = self._remembering(message, given, pieces)
        return StreamingAgentChatResponse(stream_in(step, pieces), reply.source_nodes, sources=reply.sources, trace=step)

    async def achat(self, message: str, chat_history: Sequence[ChatMessage] | None = None) -> AgentChatResponse:
        return await asyncio.to_thread(self.chat, message, chat_history)

    async def astream_chat(self, message: str, chat_history: Sequence[ChatMessage] | None = None) -> StreamingAgentChatResponse:
        """Iterate with `async for piece in response.async_response_gen()`."""
        return await asyncio.to_thread(self.stream_chat, message, chat_history)

    @property
    def chat_history(self) -> list[ChatMessage]:
        return self._memory.get_all()

    def reset(self) -> None:
        """Forget the conversation."""
        self._memory.reset()

    def _remembering(
        self, message: str, given: Sequence[ChatMessage] | None, pieces: Generator[str, None, None]
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
            answer = "".join(said)
            if answer:
                mark = {} if whole else {STOPPED: True}
                turn = (
                    ChatMessage(MessageRole.USER, message),
                    ChatMessage(MessageRole.ASSISTANT, answer, additional_kwargs=mark),
                )
                if given is None:
                    self._memory.put(*turn)
                else:
                    self._memory.set((*given, *turn))


def condense(llm: LLM, question: str, history: Sequence[ChatMessage]) -> str:
    """`question` so that it can be understood without the conversation: one call, none where nothing was said before."""
    talk = tuple(message for message in history if message.role is not MessageRole.TOOL and message.content)
    if not talk:
        return question
    with span("condense") as step:
        variables: Variables = {"chat_history": talk, "question": question}
        call = Packer(llm).take(CONDENSE_QUESTION, variables, ()).calls[0]
        condensed = llm.generate(call).text.strip() or question
        step.note(question=condensed)
    return condensed
