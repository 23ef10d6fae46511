"""Documents and nodes in the form of an index: grouped by document, with their passages in reading order."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from reprlib import repr as shortened

from ragcore.schema import Document, IndexNode, MetadataMode, TextNode


@dataclass(frozen=True, slots=True)
class Split:
    """A document with its passages in reading order; `inner` are their ancestors in a hierarchy, which are
    not indexed."""

    document: Document
    nodes: tuple[TextNode, ...]
    inner: tuple[TextNode, ...] = ()

    def without_empty_nodes(self) -> Split:
        return replace(self, nodes=tuple(node for node in self.nodes if _has_content(node)))


def check_items(items: Iterable[object]) -> None:
    """TypeError for anything but documents and nodes."""
    for item in items:
        if not isinstance(item, Document | TextNode):
            raise TypeError(f"an index takes documents and nodes, not {shortened(item)}")


def leaves(items: Sequence[Document | TextNode]) -> tuple[list[TextNode], list[TextNode]]:
    """The passages to index, and their ancestors, if `items` is a tree."""
    nodes = [item for item in items if isinstance(item, TextNode)]
    leaves_of = getattr(items, "leaves", None)
    if leaves_of is None:
        return nodes, []
    leaves = list(leaves_of())
    ids = {leaf.id_ for leaf in leaves}
    return leaves, [node for node in nodes if node.id_ not in ids]


def join_nodes(before: Split, split: Split) -> Split:
    """`before` with the nodes of `split`: a node replaces that with the same id, or follows at the end."""
    new = {node.id_: node for node in split.nodes}
    nodes = (*(new.pop(node.id_, node) for node in before.nodes), *new.values())
    fits = all(_stands_in(node, before.document) for node in split.nodes)
    above = {node.id_: node for node in (*before.inner, *split.inner)}
    return Split(
        before.document if fits else rebuilt(before.document.id_, nodes), nodes, tuple(above.values())
    )


def group_by_document(nodes: Sequence[TextNode], inner: Sequence[TextNode]) -> list[Split]:
    """The nodes with their documents, as far as nodes show them."""
    ancestors = _group(inner)
    splits = []
    for source, group in _group(nodes).items():
        members = _unique(group)
        splits.append(Split(rebuilt(source, members), members, tuple(ancestors.get(source, ()))))
    return splits


def _group(nodes: Iterable[TextNode]) -> dict[str, list[TextNode]]:
    """The nodes by the id of their document, or their own."""
    groups: dict[str, list[TextNode]] = {}
    for node in nodes:
        groups.setdefault(node.id_ if node.ref_doc_id is None else node.ref_doc_id, []).append(node)
    return groups


def _unique(nodes: Iterable[TextNode]) -> tuple[TextNode, ...]:
    """The nodes without repetitions: splitters of two sizes create the same passage of a short text, with the
    same id."""
    first: dict[Hashable, TextNode] = {}
    for node in nodes:
        stands_for = (node.index_id, id(node.obj)) if isinstance(node, IndexNode) else None
        first.setdefault((node.id_, node.hash, stands_for), node)
    return tuple(first.values())


def rebuilt(id_: str, nodes: Sequence[TextNode]) -> Document:
    """The document, as far as its nodes show it."""
    first = nodes[0]
    return Document(
        _text_of(nodes),
        id_,
        first.metadata,
        excluded_embed_metadata_keys=first.excluded_embed_metadata_keys,
        excluded_llm_metadata_keys=first.excluded_llm_metadata_keys,
        template=first.template,
    )


def _stands_in(node: TextNode, document: Document) -> bool:
    return (
        node.start_char_idx is not None
        and document.text[node.start_char_idx : node.end_char_idx] == node.text
    )


def _text_of(nodes: Sequence[TextNode]) -> str:
    """The texts of the nodes at their places, with spaces for unknown parts; joined by empty lines if places
    are unknown."""
    placed = [(node.start_char_idx, node.text) for node in nodes if node.start_char_idx is not None]
    if len(placed) < len(nodes):
        return "\n\n".join(node.text for node in nodes)
    pieces: list[str] = []
    end = 0
    for start, text in sorted(placed, key=lambda item: item[0]):
        pieces += [" " * (start - end), text[max(end - start, 0) :]]
        end = max(end, start + len(text))
    return "".join(pieces)


def _has_content(node: TextNode) -> bool:
    return node.embedding is not None or bool(node.get_content(MetadataMode.EMBED).strip())
