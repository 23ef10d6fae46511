"""Retrieves objects by their texts, such as the tools of an agent that has too many for a model to choose
from.

index = ObjectIndex.from_objects(tools)
agent = ReActAgent.from_tools(tool_retriever=index.as_retriever(similarity_top_k=3))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, Self, TypeVar

from ragcore.concurrency import awaitable
from ragcore.indices.base import BaseIndex
from ragcore.indices.vector import VectorStoreIndex
from ragcore.retrievers.base import BaseRetriever
from ragcore.schema import QueryBundle, TextNode
from ragcore.tools import BaseTool

T = TypeVar("T")


class SimpleObjectNodeMapping(Generic[T]):
    """Maps nodes to objects. `to_node_fn` creates the node of an object, by default from its text.

    >>> mapping = SimpleObjectNodeMapping.from_objects(["a", "b"])
    >>> mapping.from_node(mapping.to_node("b"))
    'b'
    """

    def __init__(self, objects: Sequence[T] = (), to_node_fn: Callable[[T], TextNode] | None = None) -> None:
        self._to_node = to_node_fn or (lambda obj: TextNode(_text_of(obj)))
        self.obj_node_mapping: dict[str, T] = {}
        self._nodes: dict[int, TextNode] = {}
        for obj in objects:
            self.add_object(obj)

    @classmethod
    def from_objects(cls, objs: Sequence[T]) -> Self:
        return cls(objs)

    def add_object(self, obj: T) -> None:
        self.to_node(obj)

    def to_node(self, obj: T) -> TextNode:
        """The object's node, the same at each call."""
        if id(obj) not in self._nodes:
            node = self._nodes[id(obj)] = self._to_node(obj)
            self.obj_node_mapping[node.id_] = obj
        return self._nodes[id(obj)]

    def to_nodes(self, objs: Sequence[T]) -> list[TextNode]:
        return [self.to_node(obj) for obj in objs]

    def from_node(self, node: TextNode) -> T:
        """KeyError for an unknown node."""
        return self.obj_node_mapping[node.id_]


SimpleToolNodeMapping = SimpleObjectNodeMapping
"""The name of a mapping of tools."""


class ObjectRetriever(Generic[T]):
    """Retrieves objects instead of passages. See `ObjectIndex.as_retriever`.

    >>> from ragcore.indices import SummaryIndex
    >>> retriever = SummaryIndex([TextNode("boat")]).as_retriever()
    >>> ObjectRetriever(retriever, lambda node: node.text.upper()).retrieve("a boat")
    ['BOAT']
    """

    def __init__(self, retriever: BaseRetriever, from_node: Callable[[TextNode], T]) -> None:
        self.retriever = retriever
        self._from_node = from_node

    def retrieve(self, query: str | QueryBundle) -> list[T]:
        """The objects whose texts are nearest to the query, best first."""
        return [self._from_node(hit.node) for hit in self.retriever.retrieve(query)]

    aretrieve = awaitable(retrieve)


class ObjectIndex(Generic[T]):
    """Indexes objects by their texts, which `index` has. The objects themselves are not persisted.

    A text is not split. If it is too long for the embedder, its vector is the mean of the vectors of its
    parts.

    >>> from ragcore.embeddings import HashEmbedding
    >>> index = ObjectIndex.from_objects(["red boat", "green tree"], embed_model=HashEmbedding())
    >>> index.as_retriever(similarity_top_k=1).retrieve("a boat")
    ['red boat']
    """

    def __init__(
        self, index: BaseIndex, mapping: SimpleObjectNodeMapping[T], from_node: Callable[[TextNode], T]
    ) -> None:
        self.index = index
        self._mapping = mapping
        self._from_node = from_node

    @classmethod
    def from_objects(
        cls,
        objects: Sequence[T],
        object_mapping: SimpleObjectNodeMapping[T] | None = None,
        index_cls: type[BaseIndex] = VectorStoreIndex,
        *,
        from_node_fn: Callable[[TextNode], T] | None = None,
        to_node_fn: Callable[[T], TextNode] | None = None,
        **options: Any,
    ) -> ObjectIndex[T]:
        """`to_node_fn` creates the node of an object, by default from the name and description of a tool, and
        from the text of any other object. `options` go to the index."""
        mapping = object_mapping or SimpleObjectNodeMapping((), to_node_fn)
        return cls(
            index_cls(mapping.to_nodes(objects), **options), mapping, from_node_fn or mapping.from_node
        )

    def insert_object(self, obj: T) -> None:
        self.index.insert_nodes([self._mapping.to_node(obj)])

    def as_retriever(self, *args: Any, **options: Any) -> ObjectRetriever[T]:
        """The arguments go to the index's retriever, such as `similarity_top_k`."""
        return ObjectRetriever(self.index.as_retriever(*args, **options), self._from_node)


def _text_of(obj: object) -> str:
    if isinstance(obj, BaseTool):
        return f"Tool name: {obj.metadata.name}\nTool description: {obj.metadata.description}\n"
    return str(obj)
