"""The shape of a tree of summaries: the children of each summary, and which summaries a change makes stale.

This module calls no model. All passages are on one level. Levels are added above them until the roots are no
more than the children that a node may have. In a small or empty tree the passages are the roots.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Branch:
    """A summary and the ids of its children in order: branches or passages. The text is "" until it is
    written."""

    children: tuple[str, ...]
    text: str = ""


class Branches:
    """A mutable tree. `branches` are its inner nodes by id; the summaries of the ids in `stale` must be
    written again."""

    def __init__(
        self, most: int, roots: Sequence[str] = (), branches: Mapping[str, Branch] | None = None
    ) -> None:
        """No branch has more than `most` children."""
        self.most = most
        self.roots = list(roots)
        self.branches = dict(branches or {})
        self.stale: set[str] = set()
        self._parents = {child: id_ for id_, branch in self.branches.items() for child in branch.children}

    def parent(self, id_: str) -> str | None:
        """None for a root."""
        return self._parents.get(id_)

    def touch(self, id_: str) -> None:
        """Mark all branches above a passage or branch as stale."""
        above = self.parent(id_)
        while above is not None:
            self.stale.add(above)
            above = self.parent(above)

    def remove(self, id_: str) -> None:
        """Remove a passage or branch, and every branch without remaining children. KeyError for an unknown
        id."""
        above = self._parents.pop(id_, None)
        self.branches.pop(id_, None)
        self.stale.discard(id_)
        if above is None:
            if id_ not in self.roots:
                raise KeyError(id_)
            self.roots.remove(id_)
            return
        remaining = tuple(child for child in self.branches[above].children if child != id_)
        self.branches[above] = Branch(remaining, self.branches[above].text)
        if remaining:
            self.stale.add(above)
            self.touch(above)
        else:
            self.remove(above)

    def add(self, places: Iterable[tuple[str, str | None]]) -> None:
        """Add passages under branches of the lowest level, or with None to the roots; then divide the
        branches above `most`."""
        for id_, above in places:
            self._append(id_, above)
        level = [
            id_
            for id_ in self.branches
            if not any(child in self.branches for child in self.branches[id_].children)
        ]
        while level:
            parents = dict.fromkeys(self.parent(id_) for id_ in level)
            for id_ in level:
                self._divide(id_)
            level = [id_ for id_ in parents if id_ is not None]
        while len(self.roots) > self.most:
            groups = _groups(self.roots, self.most)
            self.roots = []
            for group in groups:
                self._new(group, None)

    def levels(self) -> list[list[str]]:
        """The stale branches by level, lowest first. The summaries of a level depend on those of the levels
        before it."""
        heights: dict[str, int] = {}

        def height(id_: str) -> int:
            if id_ not in self.branches:
                return 0
            if id_ not in heights:
                heights[id_] = 1 + max(height(child) for child in self.branches[id_].children)
            return heights[id_]

        ordered = sorted(id_ for id_ in self.stale if id_ in self.branches)
        return [
            [id_ for id_ in ordered if height(id_) == level]
            for level in sorted({height(id_) for id_ in ordered})
        ]

    def _append(self, id_: str, above: str | None) -> None:
        if above is None:
            self.roots.append(id_)
            return
        self.branches[above] = Branch((*self.branches[above].children, id_), self.branches[above].text)
        self._parents[id_] = above
        self.touch(id_)

    def _divide(self, id_: str) -> None:
        """Divide a branch that is too large into parts of similar size. The new parts follow it under the
        same parent."""
        children = self.branches[id_].children
        if len(children) <= self.most:
            return
        parts = -(-len(children) // self.most)
        first, *others = _groups(children, -(-len(children) // parts))
        self.branches[id_] = Branch(tuple(first), self.branches[id_].text)
        for part in reversed(others):
            self._new(part, id_)

    def _new(self, children: Sequence[str], sibling: str | None) -> None:
        """Add a branch with these children behind the branch `sibling`; if None, at the end of the roots."""
        id_ = hashlib.sha256("\n".join(children).encode("utf-8", "surrogatepass")).hexdigest()[:32]
        while id_ in self.branches:  # an older branch once had the same children
            id_ = hashlib.sha256(id_.encode()).hexdigest()[:32]
        self.branches[id_] = Branch(tuple(children))
        self.stale.add(id_)
        self._parents.update(dict.fromkeys(children, id_))
        above = None if sibling is None else self.parent(sibling)
        if sibling is None or above is None:
            self.roots.insert(self.roots.index(sibling) + 1 if sibling is not None else len(self.roots), id_)
        else:
            siblings = list(self.branches[above].children)
            siblings.insert(siblings.index(sibling) + 1, id_)
            self.branches[above] = Branch(tuple(siblings), self.branches[above].text)
            self._parents[id_] = above
        self.touch(id_)


def _groups(ids: Sequence[str], size: int) -> list[list[str]]:
    return [list(ids[first : first + size]) for first in range(0, len(ids), size)]
