"""Passages of several sizes over the same text: large passages, each with the smaller ones that it is divided
into.

The functions accept a tree or any list of nodes, and take time linear in its length.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

from ragcore.schema import TextNode


class NodeTree(Sequence[TextNode]):
    """A sequence of the nodes of all levels, the largest first, with access by level, parent and child.

    >>> tree = NodeTree(
    ...     [
    ...         [TextNode("A boat. A gull.", "all", child_ids=("a",))],
    ...         [TextNode("A boat.", "a", parent_id="all")],
    ...     ]
    ... )
    >>> [node.id_ for node in tree.children("all")]
    ['a']

    An index of a tree has only the leaves, so that no text is embedded twice.
    """

    def __init__(self, levels: Iterable[Iterable[TextNode]]) -> None:
        """`levels` begin with the roots. Each level has the order of the documents."""
        self._levels = tuple(tuple(level) for level in levels)
        self._nodes = tuple(node for level in self._levels for node in level)
        self._by_id = {node.id_: node for node in self._nodes}

    @property
    def depth(self) -> int:
        """How many levels there are."""
        return len(self._levels)

    def level(self, k: int) -> list[TextNode]:
        """The nodes of level `k`; level 0 has the roots. ValueError if there is no such level."""
        if not 0 <= k < self.depth:
            raise ValueError(f"There is no level {k}; this tree has the levels 0 to {self.depth - 1}.")
        return list(self._levels[k])

    def roots(self) -> list[TextNode]:
        return get_root_nodes(self)

    def leaves(self) -> list[TextNode]:
        return get_leaf_nodes(self)

    def node(self, node_id: str) -> TextNode:
        """KeyError if it is not in this tree."""
        return self._by_id[node_id]

    def parent(self, node_id: str) -> TextNode | None:
        """None for a root. KeyError if the node is not in this tree."""
        parent_id = self._by_id[node_id].parent_id
        return None if parent_id is None else self._by_id[parent_id]

    def children(self, node_id: str) -> list[TextNode]:
        """The children in order; [] for a leaf. KeyError if the node is not in this tree."""
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
    """The nodes without children.

    >>> nodes = [TextNode("A. B.", "all", child_ids=("a",)), TextNode("A.", "a", parent_id="all")]
    >>> [node.id_ for node in get_leaf_nodes(nodes)]
    ['a']
    """
    return [node for node in nodes if not node.child_ids]


def get_root_nodes(nodes: Sequence[TextNode]) -> list[TextNode]:
    """The nodes without a parent.

    >>> nodes = [TextNode("A. B.", "all", child_ids=("a",)), TextNode("A.", "a", parent_id="all")]
    >>> [node.id_ for node in get_root_nodes(nodes)]
    ['all']
    """
    return [node for node in nodes if node.parent_id is None]


def get_child_nodes(nodes: Sequence[TextNode], all_nodes: Sequence[TextNode]) -> list[TextNode]:
    """The children of `nodes` that are in `all_nodes`, in the order of `all_nodes`.

    >>> nodes = [TextNode("A. B.", "all", child_ids=("a",)), TextNode("A.", "a", parent_id="all")]
    >>> [node.id_ for node in get_child_nodes(nodes[:1], nodes)]
    ['a']
    """
    child_ids = {child_id for node in nodes for child_id in node.child_ids}
    return [node for node in all_nodes if node.id_ in child_ids]


def get_deeper_nodes(nodes: Sequence[TextNode], depth: int = 1) -> list[TextNode]:
    """The nodes `depth` levels below the roots, which are depth 0; [] below the last level.

    ValueError for a negative depth, and if `nodes` contain no root.

    >>> nodes = [TextNode("A. B.", "all", child_ids=("a",)), TextNode("A.", "a", parent_id="all")]
    >>> [node.id_ for node in get_deeper_nodes(nodes, depth=1)]
    ['a']
    """
    if depth < 0:
        raise ValueError(f"depth is {depth}; it cannot be negative.")
    level = get_root_nodes(nodes)
    if not level:
        raise ValueError("There is no root among these nodes: every one has a parent.")
    for _ in range(depth):
        level = get_child_nodes(level, nodes)
    return level
