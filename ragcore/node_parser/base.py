"""The base of every splitter: a transformation from documents or nodes to new nodes that never edits its
input."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypedDict, TypeVar

from ragcore.concurrency import awaitable
from ragcore.node_parser.node_building import Cut, IdFunction, nodes_from_cuts
from ragcore.schema import Document, TextNode

logger = logging.getLogger(__name__)

Class = TypeVar("Class")


class SameAsConstructor:
    """A `from_defaults` with the arguments of the constructor."""

    def __get__(self, instance: object, owner: type[Class]) -> type[Class]:
        return owner


class NodeOptions(TypedDict, total=False):
    """The options of every splitter, see `NodeParser`."""

    include_metadata: bool
    include_prev_next_rel: bool
    id_func: IdFunction | None


class NodeParser(ABC):
    """A splitter decides where to cut. Ids, offsets, metadata and links follow one rule for all splitters.

    >>> class Halves(NodeParser):
    ...     def cuts(self, source):
    ...         middle = len(source.text) // 2
    ...         return [Cut(0, middle), Cut(middle, len(source.text))]
    >>> [node.text for node in Halves()([Document("abcdef")])]
    ['abc', 'def']

    With `include_metadata` each node has its document's metadata; its own wins where both have a key. With
    `include_prev_next_rel` it has the ids of its neighbours in the same document. `id_func` replaces the rule
    for ids.
    """

    from_defaults = SameAsConstructor()

    def __init__(
        self,
        *,
        include_metadata: bool = True,
        include_prev_next_rel: bool = True,
        id_func: IdFunction | None = None,
    ) -> None:
        self.include_metadata = include_metadata
        self.include_prev_next_rel = include_prev_next_rel
        self.id_func = id_func

    @abstractmethod
    def cuts(self, source: Document | TextNode) -> Sequence[Cut]:
        """The passages of `source`, in order; none if it has no text."""

    def get_nodes_from_documents(
        self, documents: Sequence[Document | TextNode], show_progress: bool = False
    ) -> list[TextNode]:
        """The nodes of every document, in order; a document without text has none. `show_progress` logs each
        document."""
        nodes: list[TextNode] = []
        for document in documents:
            new = nodes_from_cuts(
                document,
                self.cuts(document),
                include_metadata=self.include_metadata,
                include_prev_next_rel=self.include_prev_next_rel,
                id_func=self.id_func,
            )
            nodes += new
            if show_progress:
                logger.info("split %s: %d passages", document.id_, len(new))
        return nodes

    aget_nodes_from_documents = awaitable(get_nodes_from_documents)

    def __call__(self, nodes: Sequence[Document | TextNode]) -> list[TextNode]:
        return self.get_nodes_from_documents(nodes)
