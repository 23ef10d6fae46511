"""A tree of summaries over the passages: a question finds its way down from the roots."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Unpack

from ragcore.concurrency import in_order
from ragcore.errors import UnknownDocumentError
from ragcore.indices.llm_summary import summary_of
from ragcore.indices.node_index import NodeIndex
from ragcore.indices.options import IndexOptions
from ragcore.indices.tree.shape import Branch, Branches
from ragcore.ingestion.document_splits import Split
from ragcore.observe import span
from ragcore.schema import TextNode

if TYPE_CHECKING:
    from ragcore.retrievers.base import BaseRetriever
    from ragcore.schema import Document

ROOTS = "roots"  # the entry with the roots' ids
BRANCH = "branch:"  # an entry for each summary


class TreeRetrieverMode(str, Enum):
    SELECT_LEAF = "select_leaf"  # a language model chooses the way down
    SELECT_LEAF_EMBEDDING = "select_leaf_embedding"  # the nearest summaries are the way down
    ALL_LEAF = "all_leaf"  # all passages
    ROOT = "root"  # the summaries at the top


class TreeIndex(NodeIndex):
    """Each summary is over at most `num_children` passages or summaries, and there are at most so many roots.

    Making it takes one call for each summary, those of a level at the same time. Adding a document asks which of the lowest
    summaries each of its passages belongs to, one call a level, and writes the summaries above them anew; so does deleting
    one. With `build_tree=False` there are no summaries and no calls, and passages can be retrieved in the mode "all_leaf".
    """

    kind = "tree"
    whole = True

    def __init__(
        self,
        nodes: Sequence[TextNode | Document] | None = None,
        *,
        num_children: int = 10,
        build_tree: bool = True,
        **options: Unpack[IndexOptions],
    ) -> None:
        if num_children < 2:
            raise ValueError(f"num_children is {num_children}; a summary is of at least 2.")
        record = options.get("record")
        given = {"num_children": num_children, "build_tree": build_tree} if record is None else self._of_this_kind(record).data
        self.num_children, self.build_tree = int(given["num_children"]), bool(given["build_tree"])
        super().__init__(nodes, **options)

    def as_retriever(
        self, retriever_mode: TreeRetrieverMode | str = TreeRetrieverMode.SELECT_LEAF, *, child_branch_factor: int = 1
    ) -> BaseRetriever:
        """`child_branch_factor` is how many ways in all are followed on each level.

        ValueError for a mode that needs summaries where none were made.
        """
        from ragcore.indices.tree import retrievers as tree

        mode = TreeRetrieverMode(retriever_mode)
        if mode is TreeRetrieverMode.ALL_LEAF:
            return tree.TreeAllLeafRetriever(self)
        if not self.build_tree:
            raise ValueError(f'this index was made with build_tree=False; the mode "{mode.value}" needs the tree')
        if mode is TreeRetrieverMode.ROOT:
            return tree.TreeRootRetriever(self)
        if mode is TreeRetrieverMode.SELECT_LEAF:
            return tree.TreeSelectLeafRetriever(self, child_branch_factor)
        return tree.TreeSelectLeafEmbeddingRetriever(self, child_branch_factor)

    def delete_ref_doc(self, ref_doc_id: str, delete_from_docstore: bool = True) -> int:
        delete = super().delete_ref_doc

        def work_out() -> Callable[[], int]:
            if not self.nodes.has_ref_doc(ref_doc_id):
                raise UnknownDocumentError(ref_doc_id)
            write = self._changed(gone=self._passage_ids(ref_doc_id), new=[])

            def store() -> int:
                passages = delete(ref_doc_id, delete_from_docstore)
                write()
                return passages

            return store

        return self._change(work_out, rests_on_old=True)

    @property
    def root_ids(self) -> list[str]:
        """Of summaries, or of passages where these are so few that none was made."""
        found = self.storage_context.index_store.entries(self._record.place, [ROOTS])
        return [str(id_) for id_ in found.get(ROOTS, ())]

    def items(self, ids: Sequence[str]) -> list[tuple[TextNode, tuple[str, ...]]]:
        """Summaries and passages, each with the ids of what is below it, in the order of their ids."""
        entries = self.storage_context.index_store.entries(self._record.place, [BRANCH + id_ for id_ in ids])
        passages = {node.id_: node for node in self.nodes.get_nodes([id_ for id_ in ids if BRANCH + id_ not in entries])}
        found: list[tuple[TextNode, tuple[str, ...]]] = []
        for id_ in ids:
            entry = entries.get(BRANCH + id_)
            below = tuple(entry["children"]) if entry else ()
            found.append((TextNode(entry["text"], id_, child_ids=below), below) if entry else (passages[id_], ()))
        return found

    def _new_data(self) -> Mapping[str, Any]:
        return {"num_children": self.num_children, "build_tree": self.build_tree}

    def _learned(self, splits: Sequence[Split]) -> Callable[[], None]:
        return self._changed(
            gone=[id_ for split in splits for id_ in self._passage_ids(split.document.id_)],
            new=[node for split in splits for node in split.nodes],
        )

    def _changed(self, gone: Sequence[str], new: Sequence[TextNode]) -> Callable[[], None]:
        """Work out the tree without the passages `gone` and with those of `new`, and give what writes it down."""
        if not self.build_tree:
            return lambda: None
        tree = self._tree()
        before = dict(tree.branches)
        staying = {node.id_ for node in new} & set(gone)
        hashes = {node.id_: node.hash for node in self.nodes.get_nodes(list(staying))}
        for id_ in gone:
            if id_ not in staying:
                tree.remove(id_)
        for node in new:
            if node.id_ in staying and hashes[node.id_] != node.hash:
                tree.touch(node.id_)
        added = [node for node in new if node.id_ not in staying]
        tree.add(zip([node.id_ for node in added], self._places(tree, added), strict=True))
        self._summarize(tree, {node.id_: node.text for node in new})

        def write() -> None:
            self.delete_entries([BRANCH + id_ for id_ in before if id_ not in tree.branches])
            changed = {id_: branch for id_, branch in tree.branches.items() if before.get(id_) != branch}
            self.put_entries(
                {BRANCH + id_: {"children": branch.children, "text": branch.text} for id_, branch in changed.items()}
            )
            self.put_entries({ROOTS: tree.roots})

        return write

    def _tree(self) -> Branches:
        entries = self.entries()
        branches = {
            key.removeprefix(BRANCH): Branch(tuple(entry["children"]), entry["text"])
            for key, entry in entries.items()
            if key.startswith(BRANCH)
        }
        return Branches(self.num_children, entries.get(ROOTS, ()), branches)

    def _places(self, tree: Branches, added: Sequence[TextNode]) -> list[str | None]:
        """For each new passage the lowest summary it belongs to; None where there are no summaries."""
        if not tree.branches:
            return [None] * len(added)
        from ragcore.indices.tree.retrievers import selected

        def descend(node: TextNode) -> str:
            ids: Sequence[str] = tree.roots
            while True:
                chosen = 0
                if len(ids) > 1:
                    with span("place", passage=node.id_, choices=len(ids)):
                        texts = [tree.branches[id_].text for id_ in ids]
                        chosen = selected(self.llm, self.embed_model, node.text, texts, 1)[0]
                below = tree.branches[ids[chosen]].children
                if below[0] not in tree.branches:
                    return ids[chosen]
                ids = below

        return list(in_order(descend, added))

    def _summarize(self, tree: Branches, texts: Mapping[str, str]) -> None:
        """Write the summaries that are stale, from below; `texts` are those of new passages by id."""

        def text(id_: str) -> str:
            return tree.branches[id_].text if id_ in tree.branches else texts[id_] if id_ in texts else held[id_]

        levels = tree.levels()
        below = [child for id_ in tree.stale if id_ in tree.branches for child in tree.branches[id_].children]
        held = {
            node.id_: node.text
            for node in self.nodes.get_nodes([id_ for id_ in below if id_ not in tree.branches and id_ not in texts])
        }
        with span("summaries", count=sum(map(len, levels))):
            for level in levels:
                children = [[text(child) for child in tree.branches[id_].children] for id_ in level]
                for id_, summary in zip(level, in_order(lambda texts: summary_of(self.llm, texts), children), strict=True):
                    tree.branches[id_] = replace(tree.branches[id_], text=summary)
