"""Documents and passages: mutable texts with metadata. Import them from `ragcore.schema`.

A document is a whole file; `pages` are the stretches of its text that are a page, slide or sheet. A node (a
*passage* on the screens) is a stretch of one document: `document.text[node.start_char_idx :
node.end_char_idx] == node.text`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from ragcore.schema.links import NodeRelationship, ObjectType, Related, RelatedNodeInfo, Relationships
from ragcore.schema.pydantic_support import AcceptedByPydantic
from ragcore.text.braces import fill_template

if TYPE_CHECKING:
    import numpy as np

Scalar: TypeAlias = str | int | float | bool | None
Value: TypeAlias = Scalar | Sequence[Scalar]
Metadata: TypeAlias = Mapping[str, Value]

Vector: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.float32]]"  # (d,)
Vectors: TypeAlias = "np.ndarray[tuple[int, int], np.dtype[np.float32]]"  # (n, d)

_SCALARS = frozenset({str, int, float, bool, type(None)})
PRINTED_LENGTH = 80  # characters of a passage in `str(node)`


def new_id() -> str:
    """A random id, for objects without a content from which to derive one."""
    return os.urandom(16).hex()


class MetadataMode(str, Enum):
    """Which metadata is rendered above a text: that for the embedder, that for the language model, all or
    none.

    >>> from ragcore.schema import TextNode
    >>> node = TextNode("A boat is red.", metadata={"title": "Boats"})
    >>> node.get_content(MetadataMode.LLM)
    'title: Boats\\n\\nA boat is red.'
    """

    ALL = "all"
    EMBED = "embed"
    LLM = "llm"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Template:
    """Renders a text with its metadata: `text` has {metadata_str} and {content}, `entry` has {key} and
    {value}.

    >>> from ragcore.schema import MetadataMode, TextNode
    >>> node = TextNode("Ada wrote notes.", metadata={"page": 3}, template=Template(entry="({key} {value})"))
    >>> node.get_content(MetadataMode.ALL)
    '(page 3)\\n\\nAda wrote notes.'
    """

    text: str = "{metadata_str}\n\n{content}"
    entry: str = "{key}: {value}"
    separator: str = "\n"  # between entries

    def with_parts(self, text: str | None, entry: str | None, separator: str | None) -> Template:
        """The template with those parts replaced that are not None."""
        template = self
        if text is not None:
            template = replace(template, text=text)
        if entry is not None:
            template = replace(template, entry=entry)
        if separator is not None:
            template = replace(template, separator=separator)
        return template

    def render_metadata(self, metadata: Metadata, hidden_keys: Sequence[str]) -> str:
        """The entries whose keys are not hidden; "" for none."""
        entries = []
        for key, value in metadata.items():
            if key not in hidden_keys:
                entries.append(fill_template(self.entry, {"key": key, "value": str(value)}))
        return self.separator.join(entries)

    def render(self, metadata_str: str, content: str) -> str:
        """The content with its rendered metadata; unchanged if that is empty."""
        if not metadata_str:
            return content
        return fill_template(self.text, {"metadata_str": metadata_str, "content": content}).strip()


PLAIN = Template()


class BaseNode(AcceptedByPydantic):
    """A text with metadata: a Document or a TextNode.

    It is mutable, and `hash` belongs to its current content. It copies the metadata and the lists of keys
    that are passed or assigned to it, so that two nodes never share them.

    >>> from ragcore.schema import TextNode
    >>> node = TextNode("Gulls eat fish.", metadata={"folder": "birds"})
    >>> node.text = "Gulls eat anything."
    >>> node.excluded_llm_metadata_keys.append("folder")
    >>> node.get_content(MetadataMode.LLM)
    'Gulls eat anything.'
    """

    __slots__ = ("_excluded_embed_keys", "_excluded_llm_keys", "_metadata", "id_", "template", "text")

    def __init__(
        self,
        text: str,
        id_: str,
        metadata: Metadata,
        excluded_embed_metadata_keys: Sequence[str],
        excluded_llm_metadata_keys: Sequence[str],
        template: Template,
    ) -> None:
        self.text = text
        self.id_ = id_
        self.template = template
        self._metadata = copy_metadata(metadata)
        self._excluded_embed_keys = list(excluded_embed_metadata_keys)
        self._excluded_llm_keys = list(excluded_llm_metadata_keys)

    @property
    def metadata(self) -> dict[str, Value]:
        return self._metadata

    @metadata.setter
    def metadata(self, metadata: dict[str, Value]) -> None:
        self._metadata = copy_metadata(metadata)

    @property
    def excluded_embed_metadata_keys(self) -> list[str]:
        """The keys that the embedder does not see."""
        return self._excluded_embed_keys

    @excluded_embed_metadata_keys.setter
    def excluded_embed_metadata_keys(self, keys: list[str]) -> None:
        self._excluded_embed_keys = list(keys)

    @property
    def excluded_llm_metadata_keys(self) -> list[str]:
        """The keys that the language model does not see."""
        return self._excluded_llm_keys

    @excluded_llm_metadata_keys.setter
    def excluded_llm_metadata_keys(self, keys: list[str]) -> None:
        self._excluded_llm_keys = list(keys)

    @property
    def node_id(self) -> str:
        return self.id_

    @node_id.setter
    def node_id(self, id_: str) -> None:
        self.id_ = id_

    @property
    def text_template(self) -> str:
        return self.template.text

    @text_template.setter
    def text_template(self, text: str) -> None:
        self.template = replace(self.template, text=text)

    @property
    def metadata_template(self) -> str:
        return self.template.entry

    @metadata_template.setter
    def metadata_template(self, entry: str) -> None:
        self.template = replace(self.template, entry=entry)

    @property
    def metadata_separator(self) -> str:
        return self.template.separator

    @metadata_separator.setter
    def metadata_separator(self, separator: str) -> None:
        self.template = replace(self.template, separator=separator)

    extra_info = metadata
    metadata_seperator = metadata_separator

    @property
    def hash(self) -> str:
        """SHA-256 of text and metadata, independent of the order of the metadata's keys."""
        return content_hash(self.text, self._metadata)

    @classmethod
    def class_name(cls) -> str:
        return cls.__name__

    @classmethod
    def get_type(cls) -> ObjectType:
        return ObjectType.TEXT

    def as_related_node_info(self) -> RelatedNodeInfo:
        """A reference to this node, for the relationships of others."""
        return RelatedNodeInfo(self.id_, self.get_type(), copy_metadata(self._metadata), self.hash)

    def get_text(self) -> str:
        """The text without metadata."""
        return self.text

    def set_content(self, value: str) -> None:
        """Sets `text`."""
        self.text = value

    def get_metadata_str(self, mode: MetadataMode = MetadataMode.ALL) -> str:
        """One `key: value` line per visible metadata entry; "" in mode NONE."""
        match MetadataMode(mode):  # scripts may pass its text
            case MetadataMode.ALL:
                hidden_keys: list[str] = []
            case MetadataMode.EMBED:
                hidden_keys = self._excluded_embed_keys
            case MetadataMode.LLM:
                hidden_keys = self._excluded_llm_keys
            case MetadataMode.NONE:
                return ""
        return self.template.render_metadata(self._metadata, hidden_keys)

    def get_content(self, metadata_mode: MetadataMode = MetadataMode.NONE) -> str:
        """The text, below the metadata that this mode shows."""
        return self.template.render(self.get_metadata_str(metadata_mode), self.text)

    def copy(self) -> Self:
        """An independent copy with the same id."""
        clone = object.__new__(type(self))
        clone.text = self.text
        clone.id_ = self.id_
        clone.template = self.template
        clone._metadata = copy_metadata(self._metadata)
        clone._excluded_embed_keys = self._excluded_embed_keys.copy()
        clone._excluded_llm_keys = self._excluded_llm_keys.copy()
        if hasattr(self, "__dict__"):  # a script's subclass
            clone.__dict__.update(deepcopy(self.__dict__))
        return clone

    def __copy__(self) -> Self:
        return self.copy()


def content_hash(text: str, metadata: Metadata) -> str:
    """SHA-256 of both, independent of the order of the metadata's keys."""
    from hashlib import sha256  # loads OpenSSL

    canonical = json.dumps(
        dict(metadata), sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str
    )
    # The length distinguishes ("ab", "c") from ("a", "bc").
    return sha256(f"{len(text)}:{text}{canonical}".encode("utf-8", "surrogatepass")).hexdigest()


def copy_metadata(metadata: Metadata) -> dict[str, Value]:
    """A copy of the metadata, with copies of its lists."""
    copied = dict(metadata)
    for key, value in copied.items():
        if type(value) in _SCALARS:
            continue
        if type(value) is list and _SCALARS.issuperset(map(type, value)):
            copied[key] = value.copy()  # much faster than deepcopy
        else:
            copied[key] = deepcopy(value)
    return copied


@dataclass(frozen=True, slots=True)
class Page:
    """A page, slide or sheet: its printed label, and its stretch of the document's text, in characters."""

    label: str
    start: int
    end: int


@dataclass(init=False)
class Document(BaseNode):
    """The text of one file, in reading order.

    `pages` are ascending and do not overlap; a format without pages has none. `page_word` is the format's
    word for a page.

    >>> document = Document("A boat is red.", metadata={"title": "Boats"})
    >>> document.metadata = {"title": "Ships"}
    >>> document.metadata["title"]
    'Ships'
    """

    __slots__ = ("page_word", "pages")

    # The fields, which `dataclasses.replace` passes to the constructor. Those of both kinds are in BaseNode.
    text: str
    id_: str
    metadata: dict[str, Value]
    pages: tuple[Page, ...]
    page_word: str  # "page", "slide", "sheet", "chapter", "message"
    excluded_embed_metadata_keys: list[str]
    excluded_llm_metadata_keys: list[str]
    template: Template

    def __init__(
        self,
        text: str = "",
        id_: str | None = None,
        metadata: Metadata | None = None,
        pages: tuple[Page, ...] = (),
        page_word: str = "page",
        excluded_embed_metadata_keys: Sequence[str] = (),
        excluded_llm_metadata_keys: Sequence[str] = (),
        template: Template = PLAIN,
        *,
        doc_id: str | None = None,
        extra_info: Metadata | None = None,
        text_template: str | None = None,
        metadata_template: str | None = None,
        metadata_separator: str | None = None,
        metadata_seperator: str | None = None,
    ) -> None:
        """`doc_id` is another name of `id_`; the default is a random id. ValueError if they differ.

        `extra_info` is another name of `metadata`. `text_template`, `metadata_template` and
        `metadata_separator`, also spelt `metadata_seperator`, replace the three parts of `template`.
        """
        if id_ is not None and doc_id is not None and id_ != doc_id:
            raise ValueError(f"id_ is {id_!r} and doc_id is {doc_id!r}; a document has one id")
        separator = metadata_seperator if metadata_separator is None else metadata_separator
        super().__init__(
            text,
            id_ or doc_id or new_id(),
            metadata or extra_info or {},
            excluded_embed_metadata_keys,
            excluded_llm_metadata_keys,
            template.with_parts(text_template, metadata_template, separator),
        )
        self.pages = pages
        self.page_word = page_word

    doc_id = BaseNode.node_id

    @classmethod
    def example(cls) -> Document:
        """A short document for experiments."""
        return cls(
            "A lectern is a stand with a slanting top. A speaker lays the notes on it and reads from "
            "them.\n\n\n"
            "In libraries of the Middle Ages books were chained to lecterns, so that everybody could "
            "read them there.",
            metadata={"file_name": "lectern.txt", "category": "furniture"},
        )

    @classmethod
    def get_type(cls) -> ObjectType:
        return ObjectType.DOCUMENT

    def get_doc_id(self) -> str:
        return self.id_

    @property
    def ref_doc_id(self) -> str:
        """The document's own id, to which its nodes refer."""
        return self.id_

    def copy(self) -> Self:
        clone = super().copy()
        clone.pages = self.pages
        clone.page_word = self.page_word
        return clone

    def page_at(self, char: int) -> Page | None:
        """The page with the character at `char`, or the nearest page before it; None if no page begins before
        it."""
        nearest = None
        for page in self.pages:
            if page.start > char:
                break
            nearest = page
        return nearest


@dataclass(init=False, eq=False)
class TextNode(BaseNode):
    """A passage: a stretch of one document's text, its neighbours, and its vector once it has one (float32,
    (d,)).

    >>> first, second = TextNode("A boat is red.", "n1"), TextNode("It sails.", "n2")
    >>> first.relationships[NodeRelationship.NEXT] = RelatedNodeInfo(node_id=second.node_id)
    >>> first.next_id
    'n2'
    """

    __slots__ = (
        "child_ids",
        "embedding",
        "end_char_idx",
        "next_id",
        "parent_id",
        "prev_id",
        "ref_doc_id",
        "related",
        "start_char_idx",
    )

    # The fields, as in Document.
    text: str
    id_: str
    metadata: dict[str, Value]
    ref_doc_id: str | None  # the document it was cut from
    start_char_idx: int | None
    end_char_idx: int | None
    prev_id: str | None
    next_id: str | None
    parent_id: str | None
    child_ids: tuple[str, ...]
    embedding: Vector | None
    excluded_embed_metadata_keys: list[str]
    excluded_llm_metadata_keys: list[str]
    template: Template
    related: dict[str, RelatedNodeInfo] | None  # the further fields of links, by id

    def __init__(
        self,
        text: str = "",
        id_: str | None = None,
        metadata: Metadata | None = None,
        ref_doc_id: str | None = None,
        start_char_idx: int | None = None,
        end_char_idx: int | None = None,
        prev_id: str | None = None,
        next_id: str | None = None,
        parent_id: str | None = None,
        child_ids: Sequence[str] = (),
        embedding: Vector | Sequence[float] | None = None,
        excluded_embed_metadata_keys: Sequence[str] = (),
        excluded_llm_metadata_keys: Sequence[str] = (),
        template: Template = PLAIN,
        related: Mapping[str, RelatedNodeInfo] | None = None,
        *,
        relationships: Mapping[NodeRelationship, Related] | None = None,
        extra_info: Metadata | None = None,
        text_template: str | None = None,
        metadata_template: str | None = None,
        metadata_separator: str | None = None,
        metadata_seperator: str | None = None,
    ) -> None:
        """The default id is random. `relationships` overrides the ids of the same links; `extra_info` and the
        parts of the template are as in Document."""
        separator = metadata_seperator if metadata_separator is None else metadata_separator
        super().__init__(
            text,
            new_id() if id_ is None else id_,
            metadata or extra_info or {},
            excluded_embed_metadata_keys,
            excluded_llm_metadata_keys,
            template.with_parts(text_template, metadata_template, separator),
        )
        self.ref_doc_id = ref_doc_id
        self.start_char_idx = start_char_idx
        self.end_char_idx = end_char_idx
        self.prev_id = prev_id
        self.next_id = next_id
        self.parent_id = parent_id
        self.child_ids = tuple(child_ids)
        self.embedding = embedding  # type: ignore[assignment]
        self.related = _copy_related(related)
        if relationships is not None:
            self.relationships.update(relationships)

    @property
    def relationships(self) -> Relationships:
        """The links to other nodes, which can be edited."""
        return Relationships(self)

    @relationships.setter
    def relationships(self, relationships: Mapping[NodeRelationship, Related]) -> None:
        links_by_kind = dict(relationships)
        links = Relationships(self)
        links.clear()
        links.update(links_by_kind)

    @property
    def source_node(self) -> RelatedNodeInfo | None:
        return self.relationships.get(NodeRelationship.SOURCE)

    @property
    def prev_node(self) -> RelatedNodeInfo | None:
        return self.relationships.get(NodeRelationship.PREVIOUS)

    @property
    def next_node(self) -> RelatedNodeInfo | None:
        return self.relationships.get(NodeRelationship.NEXT)

    @property
    def parent_node(self) -> RelatedNodeInfo | None:
        return self.relationships.get(NodeRelationship.PARENT)

    @property
    def child_nodes(self) -> list[RelatedNodeInfo] | None:
        children = self.relationships.get(NodeRelationship.CHILD)
        return None if children is None else list(children)

    def __str__(self) -> str:
        from textwrap import shorten

        return f"Node ID: {self.id_}\nText: {shorten(self.text, PRINTED_LENGTH)}"

    def get_embedding(self) -> Vector:
        """The vector. ValueError if there is none."""
        if self.embedding is None:
            raise ValueError(f"passage {self.id_!r} has no embedding")
        return self.embedding

    def with_embedding(self, embedding: Vector) -> Self:
        """A copy with this vector."""
        clone = self.copy()
        clone.embedding = embedding
        return clone

    def copy(self) -> Self:
        clone = super().copy()
        clone.ref_doc_id = self.ref_doc_id
        clone.start_char_idx = self.start_char_idx
        clone.end_char_idx = self.end_char_idx
        clone.prev_id = self.prev_id
        clone.next_id = self.next_id
        clone.parent_id = self.parent_id
        clone.child_ids = self.child_ids
        clone.embedding = None if self.embedding is None else copy(self.embedding)
        clone.related = _copy_related(self.related)
        return clone

    def __eq__(self, other: object) -> bool:
        """Whether all fields are equal."""
        if not isinstance(other, TextNode) or type(other) is not type(self):
            return NotImplemented
        if other is self:
            return True
        for field in fields(self):
            name = field.name
            if name != "embedding" and getattr(self, name) != getattr(other, name):
                return False
        return _is_same_vector(self.embedding, other.embedding)


def _copy_related(related: Mapping[str, RelatedNodeInfo] | None) -> dict[str, RelatedNodeInfo] | None:
    if not related:
        return None
    return {id_: info.copy() for id_, info in related.items()}


def _is_same_vector(vector: Vector | None, other: Vector | None) -> bool:
    if vector is None or other is None:
        return vector is other
    from numpy import array_equal

    return array_equal(vector, other)


@dataclass(init=False, eq=False)
class IndexNode(TextNode):
    """A passage that refers to a node, retriever or query engine: `obj`, or that of `index_id` in a
    RecursiveRetriever.

    >>> IndexNode("All about boats", obj=TextNode("A boat is red.")).obj.text
    'A boat is red.'
    """

    __slots__ = ("index_id", "obj")

    index_id: str
    obj: Any

    def __init__(
        self, text: str = "", *args: Any, index_id: str = "", obj: Any = None, **fields: Any
    ) -> None:
        """The other arguments are those of TextNode."""
        super().__init__(text, *args, **fields)
        self.index_id = index_id
        self.obj = obj

    @classmethod
    def get_type(cls) -> ObjectType:
        return ObjectType.INDEX

    @classmethod
    def from_text_node(cls, node: TextNode, index_id: str) -> IndexNode:
        """The same passage with a reference to `index_id`."""
        values = {field.name: getattr(node, field.name) for field in fields(TextNode)}
        return cls(**values, index_id=index_id)

    def copy(self, copied: dict[int, IndexNode] | None = None) -> Self:
        """The copy refers to the same object, unless that is a node: then to a copy of it.

        `copied` are the copies of enclosing nodes by `id(original)`, because nodes may refer to each other in
        a circle.
        """
        copied = copied or {}
        clone = super().copy()
        copied[id(self)] = clone
        clone.index_id = self.index_id
        if isinstance(self.obj, IndexNode):
            clone.obj = copied.get(id(self.obj)) or self.obj.copy(copied)
        elif isinstance(self.obj, BaseNode | NodeWithScore):
            clone.obj = self.obj.copy()
        else:
            clone.obj = self.obj
        return clone


Node = TextNode
"""The name of TextNode in older scripts."""


@dataclass(slots=True)
class NodeWithScore(AcceptedByPydantic):
    """A node and its score, higher is better; None if the retriever does not score.

    >>> hit = NodeWithScore(TextNode("A boat is red."), 0.75)
    >>> hit.score -= 0.25
    >>> hit.score
    0.5
    """

    node: TextNode
    score: float | None = None

    @property
    def text(self) -> str:
        return self.node.text

    @property
    def id_(self) -> str:
        return self.node.id_

    node_id = id_

    @property
    def metadata(self) -> dict[str, Value]:
        return self.node.metadata

    def get_content(self, metadata_mode: MetadataMode = MetadataMode.NONE) -> str:
        return self.node.get_content(metadata_mode)

    @property
    def embedding(self) -> Vector | None:
        return self.node.embedding

    def get_text(self) -> str:
        """The text without metadata."""
        return self.node.text

    def get_embedding(self) -> Vector:
        return self.node.get_embedding()

    def copy(self) -> NodeWithScore:
        """A copy with a copy of the node."""
        return NodeWithScore(self.node.copy(), self.score)

    def __str__(self) -> str:
        return f"{self.node}\nScore: {'none' if self.score is None else f'{self.score:.3f}'}"

    def get_score(self, raise_error: bool = False) -> float:
        """The score; without one 0.0, or with `raise_error` a ValueError."""
        if self.score is None and raise_error:
            raise ValueError(f"passage {self.node.id_!r} has no score")
        return 0.0 if self.score is None else self.score
