"""The data that walks through ragcore: documents, passages, questions, messages, answers. With no behaviour beyond describing
itself.

Documents, nodes and hits (`ragcore.nodes`) belong to whoever has them, and can be edited. No function of ragcore edits what it
is given. What a store, an index or a cache holds is a copy, and so is what it gives back. Everything else here is frozen.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from ragcore.components import TransformComponent as TransformComponent
from ragcore.content_blocks import Block, TextBlock, text_of
from ragcore.node_links import NodeRelationship as NodeRelationship
from ragcore.node_links import ObjectType as ObjectType
from ragcore.node_links import RelatedNodeInfo as RelatedNodeInfo
from ragcore.node_text import PLAIN as PLAIN
from ragcore.node_text import Metadata as Metadata
from ragcore.node_text import MetadataMode as MetadataMode
from ragcore.node_text import Scalar as Scalar
from ragcore.node_text import Template as Template
from ragcore.node_text import Value as Value
from ragcore.node_text import content_hash as content_hash
from ragcore.node_text import metadata_text as metadata_text
from ragcore.nodes import BaseNode as BaseNode
from ragcore.nodes import Document as Document
from ragcore.nodes import IndexNode as IndexNode
from ragcore.nodes import Node as Node
from ragcore.nodes import NodeWithScore as NodeWithScore
from ragcore.nodes import Page as Page
from ragcore.nodes import TextNode as TextNode
from ragcore.nodes import new_id as new_id

if TYPE_CHECKING:
    from ragcore.nodes import Vector as Vector
    from ragcore.nodes import Vectors as Vectors
    from ragcore.observe import Span


@dataclass(frozen=True, slots=True, eq=False)
class QueryBundle:
    """A question, the texts to embed for it (itself unless others are given), and a ready vector if there is one."""

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
"""Of a response: "answer" answers the question; "closest" quotes the passages closest to it, which may or may not answer;
"nothing" says that no passage is about it."""


class MessageRole(str, Enum):
    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    FUNCTION = "function"  # what tools were called before
    CHATBOT = "chatbot"
    MODEL = "model"


@dataclass(frozen=True, slots=True, init=False)
class ChatMessage:
    """A message to or from a language model: a text, or `blocks` of text, images and files, whose text is its `content`.

    `additional_kwargs` has tool calls and ids as in OpenAI's wire format. ValueError for a role that there is not.

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
        given = tuple(blocks or ()) if content is None or isinstance(content, str) else tuple(content)
        text = content if isinstance(content, str) else text_of(given)
        if text != text_of(given):
            given = (TextBlock(text), *(block for block in given if not isinstance(block, TextBlock)))
        put = object.__setattr__
        put(self, "role", MessageRole(role))  # may be given as its text
        put(self, "content", text)
        put(self, "name", name)
        put(self, "additional_kwargs", {} if additional_kwargs is None else additional_kwargs)
        put(self, "blocks", given)

    @classmethod
    def from_str(cls, content: str, role: MessageRole | str = MessageRole.USER, **kwargs: Any) -> ChatMessage:
        """A message of one text."""
        return cls(role, content, **kwargs)

    def __str__(self) -> str:
        return f"{self.role.value}: {self.content}"


@dataclass(frozen=True, slots=True)
class ChatResponse:
    """What a model said to messages; `delta` is the newest piece while it is being said, None when it is whole."""

    message: ChatMessage
    delta: str | None = None
    raw: Any = None  # the generation behind it
    additional_kwargs: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return str(self.message)


@dataclass(frozen=True, slots=True)
class CompletionResponse:
    """What a model said to a text; `delta` as in ChatResponse."""

    text: str
    delta: str | None = None
    raw: Any = None
    additional_kwargs: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Response:
    """An answer, the passages it was made from (citation [n] is `source_nodes[n - 1]`), and the trace of how.

    `metadata` has the metadata of each passage under its id, and what an engine adds, such as "selector_result". Of an engine
    with `output_cls`, `response` is the object, and `str` of this its JSON.
    """

    response: Any  # a text, or an object of the `output_cls` that was asked for
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
            f"> Source (Doc id: {hit.node.id_}): {hit.text if len(hit.text) <= length else hit.text[: length - 3] + '...'}"
            for hit in self.source_nodes
        )

    def __str__(self) -> str:
        return self.response if isinstance(self.response, str) else str(self.response.model_dump_json())


def outcome_of(trace: Span | None) -> Outcome:
    """Of the response with this trace: the best that a step notes, as one of several calls that finds an answer is enough; an
    answer where none notes any, as language models do not."""
    noted = {step.facts.get("outcome") for step in trace.walk()} if trace else set()
    return next((outcome for outcome in get_args(Outcome) if outcome in noted), "answer")


class StreamingResponse:
    """An answer that is still being written: iterate for its pieces; afterwards `response` is the finished answer.

    `source_nodes` is known before the first piece. Closing early keeps what was said so far in `text`.
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


def _as_it_is(cls: type, source: type, handler: object) -> Any:
    """In a pydantic model an instance is taken as it is: events of a workflow hold passages and messages."""
    from pydantic_core import core_schema

    return core_schema.is_instance_schema(source)


def __getattr__(name: str) -> Any:
    if name == "BaseComponent":  # imported when it is used, as pydantic takes time
        from ragcore.base_component import BaseComponent

        return BaseComponent
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


for _kind in (Document, TextNode, NodeWithScore, QueryBundle, ChatMessage, ChatResponse, CompletionResponse, Response):
    setattr(_kind, "__get_pydantic_core_schema__", classmethod(_as_it_is))  # noqa: B010 - a type checker objects to the plain way
