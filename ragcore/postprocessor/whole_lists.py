"""Lists that are split from their introduction: "It covers:" at the end of a passage, and the list in the
next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ragcore.errors import UnknownDocumentError
from ragcore.postprocessor.base import BaseNodePostprocessor
from ragcore.schema import NodeWithScore, QueryBundle, TextNode
from ragcore.text.quotable_sentences import introduces_list
from ragcore.text.quote_places import list_at_start
from ragcore.text.sentences import sentence_spans
from ragcore.vector_stores.base import Store


class WholeLists(BaseNodePostprocessor):
    """Adds the list to a passage that ends with its introduction, and the introduction to a passage that
    begins with a list, unless that passage is among the results.

    A passage keeps its id, score and place; its text and offsets become those of the whole stretch. A passage
    without exact offsets, or whose document no longer exists, stays as it is.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def _postprocess_nodes(
        self, nodes: Sequence[NodeWithScore], query_bundle: QueryBundle | None
    ) -> list[NodeWithScore]:
        results = {hit.node.id_ for hit in nodes}
        return [replace(hit, node=self._whole(hit.node, results)) for hit in nodes]

    def _whole(self, node: TextNode, results: set[str]) -> TextNode:
        start, end = node.start_char_idx, node.end_char_idx
        if start is None or end is None:
            return node
        wider = (self._introduction(node, start, results), self._list_behind(node, end))
        if wider == (start, end):
            return node
        try:
            text = self._store.document(str(node.ref_doc_id)).text
        except UnknownDocumentError:  # deleted after the retrieval; the passage itself can still be read
            return node
        if text[start:end] != node.text:
            return node
        return replace(node, text=text[slice(*wider)], start_char_idx=wider[0], end_char_idx=wider[1])

    def _introduction(self, node: TextNode, start: int, results: set[str]) -> int:
        """The start of the introduction of the list at the beginning of this passage."""
        if not node.prev_id or node.prev_id in results or not list_at_start(node.text):
            return start
        before = self._neighbour(node.prev_id)
        if before is None or before.start_char_idx is None or not introduces_list(before.text):
            return start
        return before.start_char_idx + sentence_spans(before.text)[-1][0]

    def _list_behind(self, node: TextNode, end: int) -> int:
        """The end of the list that this passage introduces."""
        behind = self._neighbour(node.next_id) if node.next_id and introduces_list(node.text) else None
        if behind is None or behind.start_char_idx is None or not (length := list_at_start(behind.text)):
            return end
        return behind.start_char_idx + length

    def _neighbour(self, id_: str) -> TextNode | None:
        return next(iter(self._store.nodes([id_])), None)
