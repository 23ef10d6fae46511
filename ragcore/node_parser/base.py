"""What every splitter is: a transformation, called with documents or nodes, that gives nodes and edits nothing it is given."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence

from ragcore.aliases import SameAsConstructor
from ragcore.concurrency import awaitable
from ragcore.node_parser.node_building import Cut, IdFunction, nodes_from_cuts
from ragcore.schema import Document, TextNode

logger = logging.getLogger(__name__)


class NodeParser(ABC):
    """A splitter says where to cut; ids, offsets, metadata and links are the same for all.

    With `include_metadata` each node has its document's metadata beside its own, which wins. With `include_prev_next_rel`
    it has the ids of its neighbours in the same document. `id_func` makes the ids, in place of the rule for all.
    """

    from_defaults = SameAsConstructor()

    def __init__(
        self, *, include_metadata: bool = True, include_prev_next_rel: bool = True, id_func: IdFunction | None = None
    ) -> None:
        self.include_metadata = include_metadata
        self.include_prev_next_rel = include_prev_next_rel
        self.id_func = id_func

    @abstractmethod
    def cuts(self, source: Document | TextNode) -> Sequence[Cut]:
        """The passages of `source`, in order; none where it has no text."""

    def get_nodes_from_documents(self, documents: Sequence[Document | TextNode], show_progress: bool = False) -> list[TextNode]:
        """The nodes of every document, in order; a document without text has none. `show_progress` logs each document."""
        nodes: list[TextNode] = []
        for document in documents:
            found = nodes_from_cuts(
                document,
                self.cuts(document),
                include_metadata=self.include_metadata,
                include_prev_next_rel=self.include_prev_next_rel,
                id_func=self.id_func,
            )
            nodes += found
            if show_progress:
                logger.info("split %s: %d passages", document.id_, len(found))
        return nodes

    aget_nodes_from_documents = awaitable(get_nodes_from_documents)

    def __call__(self, nodes: Sequence[Document | TextNode]) -> list[TextNode]:
        return self.get_nodes_from_documents(nodes)
