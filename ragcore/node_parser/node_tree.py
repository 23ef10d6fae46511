"""Passages of several sizes over the same text: large ones, and below each the smaller ones it was divided into.

The helper functions take such a tree or any list of nodes, in time linear in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

from ragcore.schema import TextNode


class NodeTree(Sequence[TextNode]):
    """The nodes of all levels, the largest first, as a sequence; and by their place in the tree.

    An index that is given one holds its leaves alone, so that no text is embedded more than once.
    """

    def __init__(self, levels: Iterable[Iterable[TextNode]]) -> None:
        """Each level in the order of the documents, the roots first."""
        self._levels = tuple(tuple(level) for level in levels)
        self._nodes = tuple(node for level in self._levels for node in level)
        self._by_id = {node.id_: node for node in self._nodes}

    @property
    def depth(self) -> int:
        """How many levels there are."""
        return len(self._levels)

    def level(self, k: int) -> list[TextNode]:
        """The nodes of level `k`, where 0 is the roots; ValueError when there is no such level."""
        if not 0 <= k < self.depth:
            raise ValueError(f"There is no level {k}; this tree has the levels 0 to {self.depth - 1}.")
        return list(self._levels[k])

    def roots(self) -> list[TextNode]:
        return get_root_nodes(self)

    def leaves(self) -> list[TextNode]:
        return get_leaf_nodes(self)

    def node(self, node_id: str) -> TextNode:
        """KeyError when it is not in this tree."""
        return self._by_id[node_id]

    def parent(self, node_id: str) -> TextNode | None:
        """None for a root; KeyError when the node is not in this tree."""
        parent_id = self._by_id[node_id].parent_id
        return None if parent_id is None else self._by_id[parent_id]

    def children(self, node_id: str) -> list[TextNode]:
        """In order; [] for a leaf; KeyError when the node is not in this tree."""
        return [self._by_id[child_id] for child_id in self._by_id[node_id].child_ids]

    @overload
    def __getitem__(self, index: int) -> TextNode: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[TextNode]: ...
    def __getitem__(self, index: int | slice) -> TextNode | Sequence[TextNode]:
        return self._nodes[index]

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[TextNode]:
        return iter(self._nodes)


def get_leaf_nodes(nodes: Sequence[TextNode]) -> list[TextNode]:
    """Those without children."""
    return [node for node in nodes if not node.child_ids]


def get_root_nodes(nodes: Sequence[TextNode]) -> list[TextNode]:
    """Those without a parent."""
    return [node for node in nodes if node.parent_id is None]


def get_child_nodes(nodes: Sequence[TextNode], all_nodes: Sequence[TextNode]) -> list[TextNode]:
    """The children of `nodes` that are among `all_nodes`, in the order they have there."""
    wanted = {child_id for node in nodes for child_id in node.child_ids}
    return [node for node in all_nodes if node.id_ in wanted]


def get_deeper_nodes(nodes: Sequence[TextNode], depth: int = 1) -> list[TextNode]:
    """The nodes `depth` levels below the roots, which are depth 0; [] below the last level.

    ValueError for a negative depth, and when `nodes` have no root among them.
    """
    if depth < 0:
        raise ValueError(f"depth is {depth}; it cannot be negative.")
    found = get_root_nodes(nodes)
    if not found:
        raise ValueError("There is no root among these nodes: every one has a parent.")
    for _ in range(depth):
        found = get_child_nodes(found, nodes)
    return found
