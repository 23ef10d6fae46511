"""Chunks of several sizes: each document is divided into large ones, each of those into smaller ones, and so
on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence, Sized
from itertools import pairwise

from ragcore.concurrency import awaitable
from ragcore.node_parser.base import SameAsConstructor
from ragcore.node_parser.node_building import link_neighbours, nodes_from_cuts
from ragcore.node_parser.node_tree import NodeTree
from ragcore.node_parser.sentence import SentenceSplitter
from ragcore.node_parser.text_splitter import TokenSplitter
from ragcore.schema import Document, TextNode
from ragcore.text.tokens import Tokenizer

logger = logging.getLogger(__name__)

CHUNK_SIZES = (2048, 512, 128)  # tokens


class HierarchicalNodeParser:
    """Returns a tree with levels of 2048, 512 and 128 tokens by default. Its leaves are what is embedded.

    >>> parser = HierarchicalNodeParser(chunk_sizes=[4, 2], chunk_overlap=0, tokenizer=str.split)
    >>> tree = parser([Document("The boat sails. It is red.")])
    >>> [node.text for node in tree.roots()], len(tree.leaves())
    (['The boat sails.', 'It is red.'], 4)

    `node_parser_map` has a splitter for each level, in place of `chunk_sizes`; `node_parser_ids` changes
    their order. With `include_prev_next_rel` every node is linked to its neighbours of the same level and
    document, even those with another parent. ValueError if a size is not smaller than the one above it, and
    if a level has no splitter.
    """

    from_defaults = SameAsConstructor()

    def __init__(
        self,
        chunk_sizes: Sequence[int] | None = None,
        chunk_overlap: int = 20,
        node_parser_ids: Sequence[str] | None = None,
        node_parser_map: Mapping[str, TokenSplitter] | None = None,
        include_metadata: bool = True,
        include_prev_next_rel: bool = True,
        tokenizer: Tokenizer | Callable[[str], Sized] | None = None,
    ) -> None:
        if node_parser_map is None:
            chunk_sizes = CHUNK_SIZES if chunk_sizes is None else chunk_sizes
            if node_parser_ids and len(node_parser_ids) != len(chunk_sizes):
                raise ValueError(
                    f"node_parser_ids are {list(node_parser_ids)}, for {len(chunk_sizes)} chunk_sizes; "
                    "give one each."
                )
            if any(below >= size for size, below in pairwise(chunk_sizes)):
                raise ValueError(
                    f"chunk_sizes are {list(chunk_sizes)}; each must be smaller than the one before."
                )
            splitters = [
                SentenceSplitter(size, chunk_overlap, tokenizer=tokenizer, include_metadata=include_metadata)
                for size in chunk_sizes
            ]
            names = node_parser_ids or [f"chunk_size_{splitter.chunk_size}" for splitter in splitters]
            node_parser_map = dict(zip(names, splitters, strict=True))
        elif chunk_sizes is not None:
            raise ValueError("Give either chunk_sizes or node_parser_map, not both.")
        self.node_parser_map = dict(node_parser_map)
        self.node_parser_ids = list(node_parser_ids or node_parser_map)
        if not self.node_parser_ids:
            raise ValueError("A tree needs one level at least: give chunk_sizes, or a node_parser_map.")
        if unknown := [name for name in self.node_parser_ids if name not in node_parser_map]:
            raise ValueError(f"node_parser_map has no {unknown[0]!r}; it has {', '.join(node_parser_map)}.")
        self.include_metadata = include_metadata
        self.include_prev_next_rel = include_prev_next_rel

    def get_nodes_from_documents(
        self, documents: Sequence[Document | TextNode], show_progress: bool = False
    ) -> NodeTree:
        """The nodes of every document, all levels; a document without text has none. `show_progress` logs
        each document."""
        tree: list[list[TextNode]] = [[] for _ in self.node_parser_ids]
        for document in documents:
            levels = self._levels(document)
            for level, nodes in zip(tree, levels, strict=True):
                level += nodes
            if show_progress:
                logger.info("split %s: %d passages", document.id_, sum(map(len, levels)))
        return NodeTree(tree)

    aget_nodes_from_documents = awaitable(get_nodes_from_documents)

    def __call__(self, nodes: Sequence[Document | TextNode]) -> NodeTree:
        return self.get_nodes_from_documents(nodes)

    def _levels(self, document: Document | TextNode) -> list[list[TextNode]]:
        levels: list[list[TextNode]] = []
        parents: Sequence[Document | TextNode] = [document]
        for name in self.node_parser_ids:
            level: list[TextNode] = []
            for parent in parents:
                cuts = self.node_parser_map[name].cuts(parent)
                children = nodes_from_cuts(
                    parent, cuts, include_metadata=self.include_metadata, include_prev_next_rel=False
                )
                if isinstance(parent, TextNode) and levels:
                    parent.child_ids = tuple(child.id_ for child in children)
                    for child in children:
                        child.parent_id = parent.id_
                level += children
            if self.include_prev_next_rel:
                link_neighbours(level)
            levels.append(level)
            parents = level
        return levels
