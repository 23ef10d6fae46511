"""A tree of summaries over the passages. Retrieval descends from the roots."""

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
from ragcore.schema import Document, TextNode

if TYPE_CHECKING:
    from ragcore.retrievers.base import BaseRetriever

ROOTS = "roots"  # the entry with the roots' ids
BRANCH = "branch:"  # an entry for each summary


class TreeRetrieverMode(str, Enum):
    SELECT_LEAF = "select_leaf"  # a language model chooses a child at each level
    SELECT_LEAF_EMBEDDING = "select_leaf_embedding"  # the nearest child at each level
    ALL_LEAF = "all_leaf"  # all passages
    ROOT = "root"  # the summaries at the top


class TreeIndex(NodeIndex):
    """Each summary covers at most `num_children` passages or summaries, and there are at most `num_children`
    roots.

    Building it takes one call per summary; those of a level run in parallel. For each passage of a new
    document, one call per level chooses the summary to which it belongs, and the summaries above it are
    rewritten. So are those above deleted passages. With `build_tree=False` there are no summaries and no
    calls; retrieval then supports only the mode "all_leaf".

    >>> from ragcore.llms import ScriptedLLM
    >>> nodes = [
    ...     TextNode("The tower is 40 m high."),
    ...     TextNode("The bridge is 90 m long."),
    ...     TextNode("The well is dry."),
    ... ]
    >>> index = TreeIndex(nodes, num_children=2, llm=ScriptedLLM(["About two structures.", "About a well."]))
    >>> len(index.root_ids)
    2
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
        data = (
            {"num_children": num_children, "build_tree": build_tree}
            if record is None
            else self._of_this_kind(record).data
        )
        self.num_children, self.build_tree = int(data["num_children"]), bool(data["build_tree"])
        super().__init__(nodes, **options)

    def as_retriever(
        self,
        retriever_mode: TreeRetrieverMode | str = TreeRetrieverMode.SELECT_LEAF,
        *,
        child_branch_factor: int = 1,
    ) -> BaseRetriever:
        """`child_branch_factor` is the number of branches followed on each level.

        ValueError for a mode that needs summaries if there are none.
        """
        from ragcore.indices.tree import retrievers as tree

        mode = TreeRetrieverMode(retriever_mode)
        if mode is TreeRetrieverMode.ALL_LEAF:
            return tree.TreeAllLeafRetriever(self)
        if not self.build_tree:
            raise ValueError(
                f'this index was made with build_tree=False; the mode "{mode.value}" needs the tree'
            )
        if mode is TreeRetrieverMode.ROOT:
            return tree.TreeRootRetriever(self)
        if mode is TreeRetrieverMode.SELECT_LEAF:
            return tree.TreeSelectLeafRetriever(self, child_branch_factor)
        return tree.TreeSelectLeafEmbeddingRetriever(self, child_branch_factor)

    def delete_ref_doc(self, ref_doc_id: str, delete_from_docstore: bool = True) -> int:
        delete = super().delete_ref_doc

        def compute() -> Callable[[], int]:
            if not self.nodes.has_ref_doc(ref_doc_id):
                raise UnknownDocumentError(ref_doc_id)
            write = self._plan_change(gone=self._passage_ids(ref_doc_id), new=[])

            def store() -> int:
                passages = delete(ref_doc_id, delete_from_docstore)
                write()
                return passages

            return store

        return self._change(compute, needs_current=True)

    @property
    def root_ids(self) -> list[str]:
        """The ids of the top summaries; of the passages if they are too few for a summary."""
        entries = self.storage_context.index_store.entries(self._record.place, [ROOTS])
        return [str(id_) for id_ in entries.get(ROOTS, ())]

    def items(self, ids: Sequence[str]) -> list[tuple[TextNode, tuple[str, ...]]]:
        """Summaries and passages in the order of `ids`, each with the ids of its children."""
        entries = self.storage_context.index_store.entries(self._record.place, [BRANCH + id_ for id_ in ids])
        passages = {
            node.id_: node
            for node in self.nodes.get_nodes([id_ for id_ in ids if BRANCH + id_ not in entries])
        }
        items: list[tuple[TextNode, tuple[str, ...]]] = []
        for id_ in ids:
            entry = entries.get(BRANCH + id_)
            below = tuple(entry["children"]) if entry else ()
            items.append(
                (TextNode(entry["text"], id_, child_ids=below), below) if entry else (passages[id_], ())
            )
        return items

    def _new_data(self) -> Mapping[str, Any]:
        return {"num_children": self.num_children, "build_tree": self.build_tree}

    def _prepare_entries(self, splits: Sequence[Split]) -> Callable[[], None]:
        return self._plan_change(
            gone=[id_ for split in splits for id_ in self._passage_ids(split.document.id_)],
            new=[node for split in splits for node in split.nodes],
        )

    def _plan_change(self, gone: Sequence[str], new: Sequence[TextNode]) -> Callable[[], None]:
        """Compute the tree without the passages `gone` and with `new`, and return a function that stores
        it."""
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
                {
                    BRANCH + id_: {"children": branch.children, "text": branch.text}
                    for id_, branch in changed.items()
                }
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
        """The lowest summary to which each new passage belongs; None if there are no summaries."""
        if not tree.branches:
            return [None] * len(added)
        from ragcore.indices.tree.retrievers import select_texts

        def descend(node: TextNode) -> str:
            ids: Sequence[str] = tree.roots
            while True:
                chosen = 0
                if len(ids) > 1:
                    with span("place", passage=node.id_, choices=len(ids)):
                        texts = [tree.branches[id_].text for id_ in ids]
                        chosen = select_texts(self.llm, self.embed_model, node.text, texts, 1)[0]
                below = tree.branches[ids[chosen]].children
                if below[0] not in tree.branches:
                    return ids[chosen]
                ids = below

        return list(in_order(descend, added))

    def _summarize(self, tree: Branches, texts: Mapping[str, str]) -> None:
        """Write the stale summaries from the lowest level up; `texts` has the texts of new passages by id."""
        levels = tree.levels()
        below = [child for id_ in tree.stale if id_ in tree.branches for child in tree.branches[id_].children]
        stored = self.nodes.get_nodes([id_ for id_ in below if id_ not in tree.branches and id_ not in texts])
        passages = {**{node.id_: node.text for node in stored}, **texts}

        def text(id_: str) -> str:
            return tree.branches[id_].text if id_ in tree.branches else passages[id_]

        with span("summaries", count=sum(map(len, levels))):
            for level in levels:
                children = [[text(child) for child in tree.branches[id_].children] for id_ in level]
                for id_, summary in zip(
                    level, in_order(lambda texts: summary_of(self.llm, texts), children), strict=True
                ):
                    tree.branches[id_] = replace(tree.branches[id_], text=summary)
