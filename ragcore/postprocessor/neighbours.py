"""Small to retrieve, big to read: a passage with the text around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ragcore.errors import UnknownDocumentError
from ragcore.postprocessor.base import BaseNodePostprocessor
from ragcore.postprocessor.prev_next import walk
from ragcore.schema import NodeWithScore, QueryBundle, TextNode
from ragcore.vector_stores.base import Store


class NeighboursPostprocessor(BaseNodePostprocessor):
    """Extends every passage by up to `before` and `after` passages of its document.

    A passage keeps its id, score and place; its text and offsets become those of the whole stretch, white space between the
    passages included. No text comes twice: the extension ends where another found passage, or the extension of a better
    one, begins. A passage without exact offsets, or whose document no longer exists, stays as it is.
    """

    def __init__(self, store: Store, *, before: int = 1, after: int = 1) -> None:
        self._store = store
        self._before = before
        self._after = after

    def _postprocess_nodes(self, nodes: Sequence[NodeWithScore], query_bundle: QueryBundle | None) -> list[NodeWithScore]:
        seen = {hit.node.id_ for hit in nodes}
        texts: dict[str, str | None] = {}
        extended = []
        for hit in nodes:
            text = self._text_of(hit.node, texts)
            start, end = hit.node.start_char_idx, hit.node.end_char_idx
            if text is None or start is None or end is None or text[start:end] != hit.node.text:
                extended.append(hit)
                continue
            earlier = walk(hit.node, self._before, self._store.nodes, seen, forward=False)
            later = walk(hit.node, self._after, self._store.nodes, seen, forward=True)
            start = min([start, *(node.start_char_idx for node in earlier if node.start_char_idx is not None)])
            end = max([end, *(node.end_char_idx for node in later if node.end_char_idx is not None)])
            stretch = replace(hit.node, text=text[start:end], start_char_idx=start, end_char_idx=end)
            extended.append(NodeWithScore(stretch, hit.score))
        return extended

    def _text_of(self, node: TextNode, texts: dict[str, str | None]) -> str | None:
        """The text of the passage's document, remembered in `texts`."""
        id_ = node.ref_doc_id
        if id_ is not None and id_ not in texts:
            try:
                texts[id_] = self._store.document(id_).text
            except UnknownDocumentError:  # deleted since it was found: the passage itself can still be read
                texts[id_] = None
        return texts.get(id_ or "")
