"""The retrievers of a tree of summaries: down to a passage, the top summaries, or all passages."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragcore.embeddings.base import Embedder
from ragcore.llms.base import LLM
from ragcore.observe import Span
from ragcore.retrievers.base import BaseRetriever
from ragcore.schema import NodeWithScore, QueryBundle
from ragcore.selectors import BaseSelector, LLMMultiSelector, LLMSingleSelector

if TYPE_CHECKING:
    from ragcore.indices.tree.index import TreeIndex


def select_texts(llm: LLM, embedder: Embedder, question: str, texts: Sequence[str], most: int) -> list[int]:
    """The places of the `most` texts, at least one, that the model selects for the question in one call."""
    selector: BaseSelector = (
        LLMSingleSelector(llm, embed_model=embedder)
        if most == 1
        else LLMMultiSelector(llm, most, embed_model=embedder)
    )
    return selector.select(texts, question).inds


class TreeAllLeafRetriever(BaseRetriever):
    """All passages in the order of the index, without a score.

    >>> from ragcore.indices import TreeIndex
    >>> from ragcore.schema import TextNode
    >>> index = TreeIndex([TextNode("First."), TextNode("Second.")], build_tree=False)
    >>> [hit.text for hit in TreeAllLeafRetriever(index).retrieve("What is it about?")]
    ['First.', 'Second.']
    """

    name = "tree_all_leaf"

    def __init__(self, index: TreeIndex) -> None:
        self._index = index

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        return [NodeWithScore(node) for node in self._index.nodes.nodes()]


class TreeRootRetriever(TreeAllLeafRetriever):
    """The top summaries as passages, without a score; the passages themselves if they are too few for a
    summary.

    >>> from ragcore.indices import TreeIndex
    >>> from ragcore.llms import ScriptedLLM
    >>> from ragcore.schema import TextNode
    >>> nodes = [TextNode("A tower."), TextNode("A bridge."), TextNode("A well.")]
    >>> index = TreeIndex(nodes, num_children=2, llm=ScriptedLLM(["About a town.", "About a town."]))
    >>> [hit.text for hit in TreeRootRetriever(index).retrieve("What is it about?")]
    ['About a town.', 'About a town.']
    """

    name = "tree_root"

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        return [NodeWithScore(node) for node, _ in self._index.items(self._index.root_ids)]


class _Descending(BaseRetriever):
    """Descends from the roots to passages, along at most `child_branch_factor` branches of each level.

    The span notes `path`, the chosen ids of each level.
    """

    def __init__(self, index: TreeIndex, child_branch_factor: int = 1) -> None:
        if child_branch_factor < 1:
            raise ValueError(
                f"child_branch_factor is {child_branch_factor}; at least 1 branch must be followed."
            )
        self._index = index
        self._most = child_branch_factor

    @abstractmethod
    def _select(self, query: QueryBundle, texts: Sequence[str], step: Span) -> list[tuple[int, float | None]]:
        """The places of the branches to follow with their scores, best first."""

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        path: list[list[str]] = []
        step.note(path=path)
        ids: Sequence[str] = self._index.root_ids
        while ids:
            items = self._index.items(ids)
            places = self._select(query, [node.text for node, _ in items], step)
            path.append([ids[place] for place, _ in places])
            below = [child for place, _ in places for child in items[place][1]]
            if not below:
                return [NodeWithScore(items[place][0], score) for place, score in places]
            ids = below
        return []


class TreeSelectLeafRetriever(_Descending):
    """The index's model chooses the branches, with one call per level that has too many. Without a score.

    >>> from ragcore.indices import TreeIndex
    >>> from ragcore.llms import ScriptedLLM
    >>> from ragcore.schema import TextNode
    >>> index = TreeIndex([TextNode("A tower."), TextNode("A bridge.")], llm=ScriptedLLM(["Choice 2"]))
    >>> TreeSelectLeafRetriever(index).retrieve("Which one spans water?")[0].text
    'A bridge.'
    """

    name = "tree_select_leaf"

    def _select(self, query: QueryBundle, texts: Sequence[str], step: Span) -> list[tuple[int, float | None]]:
        places = list(range(len(texts)))
        if len(texts) > self._most:
            places = select_texts(
                self._index.llm, self._index.embed_model, query.query_str, texts, self._most
            )
        return [(place, None) for place in places]


class TreeSelectLeafEmbeddingRetriever(_Descending):
    """The nearest to the question on each level; the score is the cosine, -1 to 1.

    >>> from ragcore.embeddings import HashEmbedding
    >>> from ragcore.indices import TreeIndex
    >>> from ragcore.schema import TextNode
    >>> index = TreeIndex([TextNode("A tower."), TextNode("A well.")], embed_model=HashEmbedding())
    >>> TreeSelectLeafEmbeddingRetriever(index).retrieve("Which well?")[0].text
    'A well.'
    """

    name = "tree_select_leaf_embedding"

    def _select(self, query: QueryBundle, texts: Sequence[str], step: Span) -> list[tuple[int, float | None]]:
        return list(self._index.nearest.best(query, texts, self._most))
