"""Questions, messages and answers. All are frozen, except an answer that is still being written."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from ragcore.schema.content_blocks import Block, TextBlock, text_of
from ragcore.schema.nodes import NodeWithScore, Vector
from ragcore.schema.pydantic_support import AcceptedByPydantic

if TYPE_CHECKING:
    from ragcore.observe import Span


@dataclass(frozen=True, slots=True, eq=False)
class QueryBundle(AcceptedByPydantic):
    """A question, the texts to embed for it (by default the question itself), and its vector if that is
    known.

    >>> QueryBundle("Who wrote the notes?", ("Ada wrote notes.",)).embedding_strs
    ('Ada wrote notes.',)
    """

    query_str: str
    custom_embedding_strs: tuple[str, ...] = ()
    embedding: Vector | None = None

    def __str__(self) -> str:
        return self.query_str

    @property
    def embedding_strs(self) -> tuple[str, ...]:
        if self.custom_embedding_strs:
            return self.custom_embedding_strs
        return (self.query_str,) if self.query_str else ()


QueryType: TypeAlias = str | QueryBundle


def as_bundle(query: QueryType) -> QueryBundle:
    if not isinstance(query, str | QueryBundle):
        raise TypeError(f"a question is a text or a QueryBundle, not {query!r}")
    return QueryBundle(query) if isinstance(query, str) else query


Outcome: TypeAlias = Literal["answer", "closest", "nothing"]
"""Of a response: "answer" answers the question; "closest" quotes the passages closest to it, which may not
answer it; "nothing" states that no passage is about it."""


class MessageRole(str, Enum):
    """The sender of a message. Text is accepted where a role is expected.

    >>> ChatMessage("user", "Hello").role is MessageRole.USER
    True
    """

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    FUNCTION = "function"  # the former name of TOOL
    CHATBOT = "chatbot"
    MODEL = "model"


@dataclass(frozen=True, slots=True, init=False)
class ChatMessage(AcceptedByPydantic):
    """A message to or from a language model: a text, or `blocks` of text, images and files, whose text is its
    `content`.

    `additional_kwargs` has tool calls and ids in OpenAI's wire format. ValueError for an unknown role.

    >>> ChatMessage(role="user", content="Hello").role
    <MessageRole.USER: 'user'>
    """

    role: MessageRole
    content: str
    name: str | None
    additional_kwargs: Mapping[str, Any]
    blocks: tuple[Block, ...]

    def __init__(
        self,
        role: MessageRole | str = MessageRole.USER,
        content: str | Sequence[Block] | None = None,
        name: str | None = None,
        additional_kwargs: Mapping[str, Any] | None = None,
        blocks: Sequence[Block] | None = None,
    ) -> None:
        parts = tuple(blocks or ())
        if content is not None and not isinstance(content, str):
            parts = tuple(content)
        text = content if isinstance(content, str) else text_of(parts)
        if text != text_of(parts):  # the text replaces the texts of the blocks
            others = [block for block in parts if not isinstance(block, TextBlock)]
            parts = (TextBlock(text), *others)
        assign = object.__setattr__  # the message is frozen from here on
        assign(self, "role", MessageRole(role))  # scripts may pass its text
        assign(self, "content", text)
        assign(self, "name", name)
        assign(self, "additional_kwargs", {} if additional_kwargs is None else additional_kwargs)
        assign(self, "blocks", parts)

    @classmethod
    def from_str(cls, content: str, role: MessageRole | str = MessageRole.USER, **kwargs: Any) -> ChatMessage:
        """A message of one text."""
        return cls(role, content, **kwargs)

    def __str__(self) -> str:
        return f"{self.role.value}: {self.content}"


@dataclass(frozen=True, slots=True)
class ChatResponse(AcceptedByPydantic):
    """A model's reply to messages. While it is streamed, `delta` is the newest piece; None for a whole
    reply.

    >>> str(ChatResponse(ChatMessage("assistant", "Hello!")))
    'assistant: Hello!'
    """

    message: ChatMessage
    delta: str | None = None
    raw: Any = None  # the generation behind it
    additional_kwargs: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return str(self.message)


@dataclass(frozen=True, slots=True)
class CompletionResponse(AcceptedByPydantic):
    """A model's reply to a text; `delta` as in ChatResponse.

    >>> str(CompletionResponse("Hello!"))
    'Hello!'
    """

    text: str
    delta: str | None = None
    raw: Any = None
    additional_kwargs: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Response(AcceptedByPydantic):
    """An answer, its passages (citation [n] is `source_nodes[n - 1]`), and the trace.

    `metadata` has the metadata of each passage under its id, and entries of the engine, such as
    "selector_result". With `output_cls`, `response` is the object, and `str(answer)` is its JSON.

    >>> from ragcore.schema import NodeWithScore, TextNode
    >>> hit = NodeWithScore(TextNode("Ada wrote notes.", "n1"), 0.5)
    >>> print(Response("Ada did [1].", (hit,)).get_formatted_sources())
    > Source (Doc id: n1): Ada wrote notes.
    """

    response: Any  # a text, or an object of the engine's `output_cls`
    source_nodes: tuple[NodeWithScore, ...] = ()
    trace: Span | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def metadata(self) -> dict[str, Any]:
        return {**{hit.node.id_: dict(hit.node.metadata) for hit in self.source_nodes}, **self.extra}

    @property
    def outcome(self) -> Outcome:
        return outcome_of(self.trace)

    def get_formatted_sources(self, length: int = 100) -> str:
        """The passages' ids, each with the first `length` characters of its text."""
        return "\n\n".join(
            f"> Source (Doc id: {hit.node.id_}): "
            f"{hit.text if len(hit.text) <= length else hit.text[: length - 3] + '...'}"
            for hit in self.source_nodes
        )

    def __str__(self) -> str:
        return self.response if isinstance(self.response, str) else str(self.response.model_dump_json())


def outcome_of(trace: Span | None) -> Outcome:
    """The best outcome that a span of the trace notes, because one of several calls with an answer is enough.
    "answer" if no span notes an outcome, as with most language models."""
    noted = {step.facts.get("outcome") for step in trace.walk()} if trace else set()
    return next((outcome for outcome in get_args(Outcome) if outcome in noted), "answer")


class StreamingResponse:
    """An answer that is still being written: iterate for its pieces; afterwards `response` is the finished
    answer.

    `source_nodes` is known before the first piece. If it is closed early, `text` has the pieces so far.

    >>> [piece for piece in StreamingResponse(iter(["It ", "sails."]))]
    ['It ', 'sails.']
    """

    def __init__(self, pieces: Iterator[str], source_nodes: Sequence[NodeWithScore] = ()) -> None:
        self._pieces = pieces
        self.source_nodes = tuple(source_nodes)
        self.text = ""

    def __iter__(self) -> Iterator[str]:
        for piece in self._pieces:
            self.text += piece
            yield piece

    @property
    def response_gen(self) -> Iterator[str]:
        return iter(self)

    def print_response_stream(self) -> None:
        """Write the pieces to the terminal as they come."""
        for piece in self:
            sys.stdout.write(piece)
            sys.stdout.flush()

    def __str__(self) -> str:
        for _ in self:
            continue
        return self.text


PydanticResponse = Response
AsyncStreamingResponse = StreamingResponse
RESPONSE_TYPE: TypeAlias = Response | StreamingResponse
