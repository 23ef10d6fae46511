"""The data that walks through ragcore: documents, passages, questions, messages, answers. Frozen, and with no behaviour
beyond describing itself.

`Document` and `TextNode` keep LlamaIndex's names. A document is a whole file; its `pages` say which stretch of the text
each page, slide or sheet is. A node (a *passage* on the screens) is a stretch of one document:
`document.text[node.start_char_idx : node.end_char_idx] == node.text`.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, get_args

from ragcore.content_blocks import Block, TextBlock, text_of

if TYPE_CHECKING:
    import numpy as np

    from ragcore.observe import Span

    Vector: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float32]]  # (d,)
    Vectors: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float32]]  # (n, d)

Scalar: TypeAlias = str | int | float | bool | None
Value: TypeAlias = Scalar | Sequence[Scalar]
Metadata: TypeAlias = Mapping[str, Value]
Frozen = TypeVar("Frozen")
SHOWN = 80  # characters of a passage, printed


def new_id() -> str:
    """A random id, for things that have no content to derive one from."""
    return os.urandom(16).hex()


def _changed_by_replace(cls: type[Frozen]) -> type[Frozen]:
    """A frozen class that says, when one of its fields is set, what to do instead."""

    def refuse(self: Frozen, name: str, value: object) -> None:
        raise FrozenInstanceError(
            f"a {cls.__name__} does not change, so its {name} cannot be set; "
            f"make a changed one: dataclasses.replace(it, {name}=...)"
        )

    cls.__setattr__ = refuse  # type: ignore[method-assign, assignment]
    return cls


class MetadataMode(Enum):
    """Which metadata is written above a text: for the embedder, for the language model, all of it or none."""

    ALL = "all"
    EMBED = "embed"
    LLM = "llm"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Page:
    """A page, slide or sheet: its printed label, and which characters of the document's text it is."""

    label: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Template:
    """How a text is shown with its metadata: `text` names {metadata_str} and {content}, `entry` names {key} and {value}."""

    text: str = "{metadata_str}\n\n{content}"
    entry: str = "{key}: {value}"
    separator: str = "\n"  # between entries


PLAIN = Template()


class _Content:
    """A text with metadata."""

    __slots__ = ()
    text: str
    metadata: Metadata
    excluded_embed_metadata_keys: tuple[str, ...]
    excluded_llm_metadata_keys: tuple[str, ...]
    template: Template

    @property
    def hash(self) -> str:
        """SHA-256 of text and metadata, the same whatever the order of the metadata's keys."""
        return content_hash(self.text, self.metadata)

    def get_content(self, metadata_mode: MetadataMode = MetadataMode.NONE) -> str:
        return _with_metadata(self, metadata_mode)

    def get_metadata_str(self, mode: MetadataMode = MetadataMode.ALL) -> str:
        return metadata_text(self, mode)

    def get_text(self) -> str:
        """The text without metadata."""
        return self.text


@_changed_by_replace
@dataclass(frozen=True, slots=True, eq=False, init=False)
class Document(_Content):
    """The text of one file, in reading order.

    `pages` are ascending and do not overlap; a format without pages has none. `page_word` is what a page is called there.
    """

    text: str
    id_: str
    metadata: Metadata
    pages: tuple[Page, ...]
    page_word: str  # "page", "slide", "sheet", "chapter", "message"
    excluded_embed_metadata_keys: tuple[str, ...]
    excluded_llm_metadata_keys: tuple[str, ...]
    template: Template

    def __init__(
        self,
        text: str,
        id_: str | None = None,
        metadata: Metadata | None = None,
        pages: tuple[Page, ...] = (),
        page_word: str = "page",
        excluded_embed_metadata_keys: Sequence[str] = (),
        excluded_llm_metadata_keys: Sequence[str] = (),
        template: Template = PLAIN,
        *,
        doc_id: str | None = None,
        text_template: str | None = None,
        metadata_template: str | None = None,
        metadata_separator: str | None = None,
        metadata_seperator: str | None = None,
    ) -> None:
        """`doc_id` is another name of `id_`; a random id where neither is given. ValueError when they differ.

        `text_template`, `metadata_template` and `metadata_separator`, also spelt `metadata_seperator`, take the place of the
        three parts of `template`.
        """
        if id_ is not None and doc_id is not None and id_ != doc_id:
            raise ValueError(f"id_ is {id_!r} and doc_id is {doc_id!r}; a document has one id")
        put = object.__setattr__
        put(self, "text", text)
        put(self, "id_", id_ or doc_id or new_id())
        put(self, "metadata", {} if metadata is None else metadata)
        put(self, "pages", pages)
        put(self, "page_word", page_word)
        put(self, "excluded_embed_metadata_keys", tuple(excluded_embed_metadata_keys))
        put(self, "excluded_llm_metadata_keys", tuple(excluded_llm_metadata_keys))
        if metadata_separator is None:
            metadata_separator = metadata_seperator
        parts = {"text": text_template, "entry": metadata_template, "separator": metadata_separator}
        put(self, "template", replace(template, **{name: part for name, part in parts.items() if part is not None}))

    @classmethod
    def example(cls) -> Document:
        """A short document to try things with."""
        return cls(
            "A lectern is a stand with a slanting top. A speaker lays the notes on it and reads from them.\n\n\n"
            "In libraries of the Middle Ages books were chained to lecterns, so that everybody could read them there.",
            metadata={"file_name": "lectern.txt", "category": "furniture"},
        )

    @property
    def doc_id(self) -> str:
        return self.id_

    def page_at(self, char: int) -> Page | None:
        """The page that holds the character at `char`, or the nearest before it; None where none begins before it."""
        found = None
        for page in self.pages:
            if page.start > char:
                break
            found = page
        return found


@_changed_by_replace
@dataclass(frozen=True, slots=True, eq=False)
class TextNode(_Content):
    """A passage: a stretch of one document's text, its neighbours, and its vector once it has one (float32, (d,))."""

    text: str
    id_: str = field(default_factory=new_id)
    metadata: Metadata = field(default_factory=dict)
    ref_doc_id: str | None = None  # the document it was cut from
    start_char_idx: int | None = None
    end_char_idx: int | None = None
    prev_id: str | None = None
    next_id: str | None = None
    parent_id: str | None = None
    child_ids: tuple[str, ...] = ()
    embedding: Vector | None = None
    excluded_embed_metadata_keys: tuple[str, ...] = ()
    excluded_llm_metadata_keys: tuple[str, ...] = ()
    template: Template = PLAIN

    @property
    def node_id(self) -> str:
        return self.id_

    def __str__(self) -> str:
        from textwrap import shorten

        return f"Node ID: {self.id_}\nText: {shorten(self.text, SHOWN)}"

    def with_embedding(self, embedding: Vector) -> TextNode:
        return replace(self, embedding=embedding)


@_changed_by_replace
@dataclass(frozen=True, slots=True, eq=False)
class IndexNode(TextNode):
    """A passage that stands for something else: a node, a retriever or a query engine, given as `obj` or found by `index_id`.

    A retriever that finds it follows it.
    """

    index_id: str = ""
    obj: Any = None

    @classmethod
    def from_text_node(cls, node: TextNode, index_id: str) -> IndexNode:
        """The same passage, which now stands for what has `index_id`."""
        return cls(**{each.name: getattr(node, each.name) for each in fields(TextNode)}, index_id=index_id)


def content_hash(text: str, metadata: Metadata) -> str:
    from hashlib import sha256

    canonical = json.dumps(dict(metadata), sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
    # The length keeps ("ab", "c") and ("a", "bc") apart.
    return sha256(f"{len(text)}:{text}{canonical}".encode("utf-8", "surrogatepass")).hexdigest()


def metadata_text(item: _Content, mode: MetadataMode) -> str:
    """One `key: value` line per visible metadata entry; "" in mode NONE."""
    if mode is MetadataMode.NONE:
        return ""
    hidden: tuple[str, ...] = ()
    if mode is MetadataMode.EMBED:
        hidden = item.excluded_embed_metadata_keys
    elif mode is MetadataMode.LLM:
        hidden = item.excluded_llm_metadata_keys
    entries = ((key, str(value)) for key, value in item.metadata.items() if key not in hidden)
    return item.template.separator.join(_filled(item.template.entry, {"key": key, "value": value}) for key, value in entries)


def _with_metadata(item: _Content, mode: MetadataMode) -> str:
    head = metadata_text(item, mode)
    return _filled(item.template.text, {"metadata_str": head, "content": item.text}).strip() if head else item.text


def _filled(template: str, values: Mapping[str, str]) -> str:
    """Each {name} once, in one pass: braces in a value are only text."""
    return re.sub("|".join(rf"\{{{name}\}}" for name in values), lambda match: values[match.group()[1:-1]], template)


@_changed_by_replace
@dataclass(frozen=True, slots=True)
class NodeWithScore:
    """A node and how well it answers, higher is better; None where the retriever does not score."""

    node: TextNode
    score: float | None = None

    @property
    def text(self) -> str:
        return self.node.text

    @property
    def id_(self) -> str:
        return self.node.id_

    @property
    def node_id(self) -> str:
        return self.node.id_

    @property
    def metadata(self) -> Metadata:
        return self.node.metadata

    def get_content(self, metadata_mode: MetadataMode = MetadataMode.NONE) -> str:
        return self.node.get_content(metadata_mode)

    def get_text(self) -> str:
        """The text without metadata."""
        return self.node.text

    def __str__(self) -> str:
        return f"{self.node}\nScore: {'none' if self.score is None else f'{self.score:.3f}'}"

    def get_score(self, raise_error: bool = False) -> float:
        """The score; where there is none 0.0, or with `raise_error` a ValueError."""
        if self.score is None and raise_error:
            raise ValueError(f"passage {self.node.id_!r} has no score")
        return 0.0 if self.score is None else self.score


@dataclass(frozen=True, slots=True, eq=False)
class QueryBundle:
    """A question, the texts to embed for it (itself unless others are given), and a ready vector if there is one."""

    query_str: str
    custom_embedding_strs: tuple[str, ...] = ()
    embedding: Vector | None = None

    @property
    def embedding_strs(self) -> tuple[str, ...]:
        if self.custom_embedding_strs:
            return self.custom_embedding_strs
        return (self.query_str,) if self.query_str else ()


def as_bundle(query: str | QueryBundle) -> QueryBundle:
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
        if content is not None and not isinstance(content, str):
            content, blocks = None, tuple(content)
        given = tuple(blocks or ())
        if content is None:
            content = text_of(given)
        elif content != text_of(given):
            given = (TextBlock(content), *(block for block in given if not isinstance(block, TextBlock)))
        put = object.__setattr__
        put(self, "role", MessageRole(role))  # may be given as its text
        put(self, "content", content)
        put(self, "name", name)
        put(self, "additional_kwargs", {} if additional_kwargs is None else additional_kwargs)
        put(self, "blocks", given)

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


def _as_it_is(cls: type, source: type, handler: object) -> Any:
    """In a pydantic model an instance is taken as it is: events of a workflow hold passages and messages."""
    from pydantic_core import core_schema

    return core_schema.is_instance_schema(source)


for _kind in (Document, TextNode, NodeWithScore, QueryBundle, ChatMessage, ChatResponse, CompletionResponse, Response):
    _kind.__get_pydantic_core_schema__ = classmethod(_as_it_is)  # type: ignore[attr-defined]
