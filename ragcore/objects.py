"""Any objects, found by what a text says of each: for an agent with more tools than a model can choose from.

index = ObjectIndex.from_objects(tools)
agent = ReActAgent.from_tools(tool_retriever=index.as_retriever(similarity_top_k=3))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

from ragcore.concurrency import awaitable
from ragcore.embeddings.base import Embedder
from ragcore.indices.vector import VectorStoreIndex
from ragcore.retrievers.base import BaseRetriever
from ragcore.schema import QueryBundle, TextNode
from ragcore.tools import BaseTool

__path__: list[str] = []  # inner paths are looked up in `ragcore.inner_paths`

T = TypeVar("T")


class ObjectRetriever(Generic[T]):
    def __init__(self, retriever: BaseRetriever, objects: Mapping[str, T]) -> None:
        self.retriever = retriever
        self._objects = objects

    def retrieve(self, query: str | QueryBundle) -> list[T]:
        """The objects whose texts are nearest, the best first."""
        return [self._objects[found.node_id] for found in self.retriever.retrieve(query)]

    aretrieve = awaitable(retrieve)


class ObjectIndex(Generic[T]):
    """The objects live as long as this does and are not persisted; `index` has their texts."""

    def __init__(
        self, objects: Sequence[T], *, text_of: Callable[[T], str] | None = None, embed_model: Embedder | None = None
    ) -> None:
        """`text_of` says what an object is found by: of a tool its name and description, else what `str` makes of it.

        A text is not split: what is too long for the embedder stands for its mean.
        """
        self._text_of = text_of or _told
        self._objects: dict[str, T] = {}
        self.index = VectorStoreIndex(self._nodes(objects), embed_model=embed_model)

    @classmethod
    def from_objects(
        cls, objects: Sequence[T], *, text_of: Callable[[T], str] | None = None, embed_model: Embedder | None = None
    ) -> ObjectIndex[T]:
        return cls(objects, text_of=text_of, embed_model=embed_model)

    def insert_object(self, obj: T) -> None:
        self.index.insert_nodes(self._nodes([obj]))

    def as_retriever(self, similarity_top_k: int = 2) -> ObjectRetriever[T]:
        return ObjectRetriever(self.index.as_retriever(similarity_top_k), self._objects)

    def _nodes(self, objects: Sequence[T]) -> list[TextNode]:
        nodes = [TextNode(self._text_of(obj)) for obj in objects]
        self._objects.update(zip((node.id_ for node in nodes), objects, strict=True))
        return nodes


def _told(obj: object) -> str:
    if isinstance(obj, BaseTool):
        return f"Tool name: {obj.metadata.name}\nTool description: {obj.metadata.description}"
    return str(obj)
