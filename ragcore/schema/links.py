"""The links of a passage under LlamaIndex's names, as a view on the passage's ids."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from enum import Enum
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

NOTHING: Any = MappingProxyType({})  # read-only, so that an edit raises an error instead of getting lost


class NodeRelationship(str, Enum):
    """The relation of another node: the source document, the previous, next or parent node, or the children.

    >>> NodeRelationship.NEXT.name
    'NEXT'
    """

    SOURCE = "source"
    PREVIOUS = "previous"
    NEXT = "next"
    PARENT = "parent"
    CHILD = "child"


class ObjectType(str, Enum):
    """The kinds of objects that a `RelatedNodeInfo` may refer to.

    >>> ObjectType("document").name
    'DOCUMENT'
    """

    TEXT = "text"
    INDEX = "index"
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True)
class RelatedNodeInfo:
    """A reference to another node, by its id.

    >>> RelatedNodeInfo(node_id="n2").node_id
    'n2'
    """

    node_id: str
    node_type: ObjectType | str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    hash: str | None = None

    def copy(self) -> RelatedNodeInfo:
        """A copy with its own metadata."""
        return replace(self, metadata=deepcopy(dict(self.metadata)))

    def details(self) -> tuple[str | None, dict[str, Any], str | None]:
        """The fields without the id, as JSON values."""
        return self.node_type, dict(self.metadata), self.hash


Related: TypeAlias = RelatedNodeInfo | Sequence[RelatedNodeInfo]


class Linked(Protocol):
    """An object with links. `related` has their further fields by id."""

    ref_doc_id: str | None
    prev_id: str | None
    next_id: str | None
    parent_id: str | None
    child_ids: tuple[str, ...]
    related: dict[str, RelatedNodeInfo] | None


class Relationships(MutableMapping[NodeRelationship, Any]):
    """The links of one node. A change here changes the node's ids, and vice versa.

    NodeRelationship.CHILD has a tuple of references, the others have one each. KeyError for a missing link.
    """

    def __init__(self, node: Linked) -> None:
        self._node = node

    def __getitem__(self, kind: NodeRelationship | str) -> Any:
        infos = []
        for id_ in self._ids(NodeRelationship(kind)):
            info = (self._node.related or {}).get(id_)
            infos.append(info or RelatedNodeInfo(id_, metadata=NOTHING))
        if not infos:
            raise KeyError(kind)
        return tuple(infos) if kind == NodeRelationship.CHILD else infos[0]

    def __setitem__(self, kind: NodeRelationship | str, related: Related) -> None:
        """TypeError for another type than RelatedNodeInfo; for children, than a list of them."""
        kind = NodeRelationship(kind)
        if kind is not NodeRelationship.CHILD:
            if not isinstance(related, RelatedNodeInfo):
                raise TypeError(f"relationships[{kind}] must be a RelatedNodeInfo, not {related!r}")
            self._set(kind, [related])
            return
        message = f"relationships[{kind}] must be a list of RelatedNodeInfo, not {related!r}"
        if isinstance(related, RelatedNodeInfo):
            raise TypeError(message)
        children = list(related)
        if not all(isinstance(child, RelatedNodeInfo) for child in children):
            raise TypeError(message)
        self._set(kind, children)

    def __delitem__(self, kind: NodeRelationship | str) -> None:
        if kind not in self:
            raise KeyError(kind)
        self._set(NodeRelationship(kind), [])

    def __iter__(self) -> Iterator[NodeRelationship]:
        for kind in NodeRelationship:
            if self._ids(kind):
                yield kind

    def __len__(self) -> int:
        return len(list(self))

    def __repr__(self) -> str:
        return repr(dict(self))

    def _ids(self, kind: NodeRelationship) -> tuple[str, ...]:
        node = self._node
        id_: str | None
        match kind:
            case NodeRelationship.SOURCE:
                id_ = node.ref_doc_id
            case NodeRelationship.PREVIOUS:
                id_ = node.prev_id
            case NodeRelationship.NEXT:
                id_ = node.next_id
            case NodeRelationship.PARENT:
                id_ = node.parent_id
            case NodeRelationship.CHILD:
                return node.child_ids
        return () if id_ is None else (id_,)

    def _set(self, kind: NodeRelationship, infos: Sequence[RelatedNodeInfo]) -> None:
        node = self._node
        related = dict(node.related or {})
        for id_ in self._ids(kind):
            related.pop(id_, None)
        for info in infos:
            if info != RelatedNodeInfo(info.node_id):  # it has more than an id
                related[info.node_id] = info.copy()
        node.related = related or None
        linked_id = infos[0].node_id if infos else None
        match kind:
            case NodeRelationship.SOURCE:
                node.ref_doc_id = linked_id
            case NodeRelationship.PREVIOUS:
                node.prev_id = linked_id
            case NodeRelationship.NEXT:
                node.next_id = linked_id
            case NodeRelationship.PARENT:
                node.parent_id = linked_id
            case NodeRelationship.CHILD:
                node.child_ids = tuple(info.node_id for info in infos)
