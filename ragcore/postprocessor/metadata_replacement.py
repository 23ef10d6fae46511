"""Small to retrieve, big to read: the text of a passage replaced by a larger one that a splitter stored in
its metadata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ragcore.postprocessor.base import BaseNodePostprocessor
from ragcore.schema import NodeWithScore, QueryBundle


class MetadataReplacementPostProcessor(BaseNodePostprocessor):
    """Replaces the text by the metadata under `target_metadata_key`, if there is any. The offsets stay those
    of the passage.

    >>> from ragcore.schema import TextNode
    >>> hit = NodeWithScore(TextNode("It sails.", metadata={"window": "A boat is red. It sails."}))
    >>> MetadataReplacementPostProcessor("window").postprocess_nodes([hit])[0].text
    'A boat is red. It sails.'
    """

    def __init__(self, target_metadata_key: str) -> None:
        self._key = target_metadata_key

    def _postprocess_nodes(
        self, nodes: Sequence[NodeWithScore], query_bundle: QueryBundle | None
    ) -> list[NodeWithScore]:
        return [self._replace_text(hit) for hit in nodes]

    def _replace_text(self, hit: NodeWithScore) -> NodeWithScore:
        text = hit.metadata.get(self._key)
        return hit if text is None else replace(hit, node=replace(hit.node, text=str(text)))
