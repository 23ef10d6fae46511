"""Documents and passages: mutable texts with metadata. Import them from `ragcore.schema`.

A document is a whole file; `pages` are the stretches of its text that are a page, slide or sheet. A node (a
*passage* on the screens) is a stretch of one document: `document.text[node.start_char_idx :
node.end_char_idx] == node.text`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self, TypeAlias, cast

from ragcore.node_links import NodeRelationship, ObjectType, Related, RelatedNodeInfo, Relationships
from ragcore.node_properties import (
    copy_on_assignment,
    link,
    other_name,
    own_copy,
    same_value,
    slots_of,
    template_part,
)
from ragcore.node_text import (
    PLAIN,
    Metadata,
    MetadataMode,
    Template,
    Value,
    content_hash,
    metadata_text,
    with_metadata,
    with_parts,
)

if TYPE_CHECKING:
    import numpy as np

Vector: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.float32]]"  # (d,)
Vectors: TypeAlias = "np.ndarray[tuple[int, int], np.dtype[np.float32]]"  # (n, d)

PRINTED_LENGTH = 80  # characters of a passage in `str(node)`


def new_id() -> str:
    """A random id, for objects without a content from which to derive one."""
    return os.urandom(16).hex()


@dataclass(frozen=True, slots=True)
class Page:
    """A page, slide or sheet: its printed label, and its stretch of the document's text, in characters."""

    label: str
    start: int
    end: int


class BaseNode:
    """A text with metadata: a Document or a TextNode.

    It is mutable. A store copies nodes when it stores and returns them, so that an edit does not change the
    stored node. `hash` belongs to the current content.

    >>> node = TextNode("Gulls eat fish.", metadata={"folder": "birds"})
    >>> node.text = "Gulls eat anything."
    >>> node.excluded_llm_metadata_keys.append("folder")
    >>> node.get_content(MetadataMode.LLM)
    'Gulls eat anything.'
    """

    if not TYPE_CHECKING:  # mypy does not see that the fields below are slots of the subclasses
        __slots__ = ()
    text: str
    id_: str
    metadata: dict[str, Value]
    excluded_embed_metadata_keys: list[str]
    excluded_llm_metadata_keys: list[str]
    template: Template

    @property
    def hash(self) -> str:
        """SHA-256 of text and metadata, independent of the order of the metadata's keys."""
        return content_hash(self.text, self.metadata)

    @classmethod
    def class_name(cls) -> str:
        return cls.__name__

    @classmethod
    def get_type(cls) -> ObjectType:
        return ObjectType.TEXT

    def as_related_node_info(self) -> RelatedNodeInfo:
        """A reference to this node, for the relationships of others."""
        return RelatedNodeInfo(self.id_, self.get_type(), own_copy(self.metadata), self.hash)

    node_id = other_name("id_")
    extra_info = other_name("metadata")
    text_template = template_part("text")
    metadata_template = template_part("entry")
    metadata_separator = metadata_seperator = template_part("separator")

    def get_content(self, metadata_mode: MetadataMode = MetadataMode.NONE) -> str:
        return with_metadata(self, metadata_mode)

    def set_content(self, value: str) -> None:
        """Sets `text`."""
        self.text = value

    def get_metadata_str(self, mode: MetadataMode = MetadataMode.ALL) -> str:
        return metadata_text(self, mode)

    def get_text(self) -> str:
        """The text without metadata."""
        return self.text

    def __eq__(self, other: object) -> bool:
        """Whether all fields are equal."""
        if type(other) is not type(self):
            return NotImplemented
        return self is other or all(
            same_value(getattr(self, name), getattr(other, name))
            for name in slots_of(type(self))  # type: ignore[arg-type]
        )

    def copy(self) -> Self:
        """An independent copy with the same id."""
        clone = object.__new__(type(self))
        for name in slots_of(type(self)):  # type: ignore[arg-type]
            setattr(clone, name, getattr(self, name))
        if hasattr(self, "__dict__"):  # only a subclass has one
            clone.__dict__.update(deepcopy(self.__dict__))
        return clone


@copy_on_assignment
@dataclass(slots=True, eq=False, init=False)
class Document(BaseNode):
    """The text of one file, in reading order.

    `pages` are ascending and do not overlap; a format without pages has none. `page_word` is the format's
    word for a page.

    >>> document = Document("A boat is red.", metadata={"title": "Boats"})
    >>> document.metadata = {"title": "Ships"}
    >>> document.metadata["title"]
    'Ships'
    """

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
        self.text = text
        self.id_ = id_ or doc_id or new_id()
        self.metadata = cast(dict[str, Value], metadata or extra_info or {})
        self.pages = pages
        self.page_word = page_word
        self.excluded_embed_metadata_keys = cast(list[str], excluded_embed_metadata_keys)
        self.excluded_llm_metadata_keys = cast(list[str], excluded_llm_metadata_keys)
        separator = metadata_seperator if metadata_separator is None else metadata_separator
        self.template = with_parts(template, text_template, metadata_template, separator)

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

    doc_id = other_name("id_")

    @classmethod
    def get_type(cls) -> ObjectType:
        return ObjectType.DOCUMENT

    def get_doc_id(self) -> str:
        return self.id_

    @property
    def ref_doc_id(self) -> str:
        """The document's own id, to which its nodes refer."""
        return self.id_

    def page_at(self, char: int) -> Page | None:
        """The page with the character at `char`, or the nearest page before it; None if no page begins before
        it."""
        nearest = None
        for page in self.pages:
            if page.start > char:
                break
            nearest = page
        return nearest


@copy_on_assignment
@dataclass(slots=True, eq=False, init=False)
class TextNode(BaseNode):
    """A passage: a stretch of one document's text, its neighbours, and its vector once it has one (float32,
    (d,)).

    >>> first, second = TextNode("A boat is red.", "n1"), TextNode("It sails.", "n2")
    >>> first.relationships[NodeRelationship.NEXT] = RelatedNodeInfo(node_id=second.node_id)
    >>> first.next_id
    'n2'
    """

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
        self.text = text
        self.id_ = new_id() if id_ is None else id_
        self.metadata = cast(dict[str, Value], metadata or extra_info or {})
        self.ref_doc_id = ref_doc_id
        self.start_char_idx = start_char_idx
        self.end_char_idx = end_char_idx
        self.prev_id = prev_id
        self.next_id = next_id
        self.parent_id = parent_id
        self.child_ids = tuple(child_ids)
        self.embedding = embedding  # type: ignore[assignment]
        self.excluded_embed_metadata_keys = cast(list[str], excluded_embed_metadata_keys)
        self.excluded_llm_metadata_keys = cast(list[str], excluded_llm_metadata_keys)
        separator = metadata_seperator if metadata_separator is None else metadata_separator
        self.template = with_parts(template, text_template, metadata_template, separator)
        self.related = {id_: info.copy() for id_, info in related.items()} if related else None
        if relationships is not None:
            Relationships(self).update(relationships)

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

    # A RelatedNodeInfo or None.
    source_node = link(NodeRelationship.SOURCE)
    prev_node = link(NodeRelationship.PREVIOUS)
    next_node = link(NodeRelationship.NEXT)
    parent_node = link(NodeRelationship.PARENT)

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
        """See BaseNode. The copy of an IndexNode refers to the same object, unless that is a node."""
        if type(self) is not TextNode:
            clone = BaseNode.copy(self)
        else:  # written out because a store copies each retrieved node, and a loop is slower
            clone = cast(Self, object.__new__(TextNode))
            clone.text, clone.id_, clone.metadata, clone.template = (
                self.text,
                self.id_,
                self.metadata,
                self.template,
            )
            clone.ref_doc_id, clone.start_char_idx, clone.end_char_idx = (
                self.ref_doc_id,
                self.start_char_idx,
                self.end_char_idx,
            )
            clone.prev_id, clone.next_id, clone.parent_id = self.prev_id, self.next_id, self.parent_id
            clone.child_ids, clone.embedding, clone.related = self.child_ids, self.embedding, self.related
            clone.excluded_embed_metadata_keys = self.excluded_embed_metadata_keys
            clone.excluded_llm_metadata_keys = self.excluded_llm_metadata_keys
        if self.embedding is not None:
            clone.embedding = copy(self.embedding)
        if self.related is not None:
            clone.related = {id_: info.copy() for id_, info in self.related.items()}
        return clone


@dataclass(slots=True, eq=False, init=False)
class IndexNode(TextNode):
    """A passage that refers to a node, retriever or query engine: `obj`, or that of `index_id` in a
    RecursiveRetriever.

    >>> IndexNode("All about boats", obj=TextNode("A boat is red.")).obj.text
    'A boat is red.'
    """

    index_id: str
    obj: Any

    def __init__(
        self, text: str = "", *args: Any, index_id: str = "", obj: Any = None, **fields: Any
    ) -> None:
        TextNode.__init__(self, text, *args, **fields)
        self.index_id = index_id
        self.obj = obj

    @classmethod
    def get_type(cls) -> ObjectType:
        return ObjectType.INDEX

    @classmethod
    def from_text_node(cls, node: TextNode, index_id: str) -> IndexNode:
        """The same passage with a reference to `index_id`."""
        return cls(**{each.name: getattr(node, each.name) for each in fields(TextNode)}, index_id=index_id)

    def copy(self, copied: dict[int, IndexNode] | None = None) -> Self:
        """`copied` are the copies of enclosing nodes by `id(original)`, because nodes may refer to each other
        in a circle."""
        clone, way = TextNode.copy(self), copied or {}
        way[id(self)] = clone
        if isinstance(self.obj, IndexNode):
            clone.obj = way.get(id(self.obj)) or self.obj.copy(way)
        elif isinstance(self.obj, BaseNode | NodeWithScore):
            clone.obj = self.obj.copy()
        return clone


Node = TextNode
"""The name of TextNode in older scripts."""


@dataclass(slots=True)
class NodeWithScore:
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
