"""Only the sentences of the passages that are near the question, to save tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ragcore.embeddings.base import Embedder
from ragcore.postprocessor.base import BaseNodePostprocessor, question_of
from ragcore.schema import NodeWithScore, QueryBundle
from ragcore.settings import embedder
from ragcore.text.sentences import sentences


class SentenceEmbeddingOptimizer(BaseNodePostprocessor):
    """Shortens each passage to its nearest sentences, in reading order.

    `percentile_cutoff`, 0 to 1, is the share of a passage's sentences that stays, at least one.
    `threshold_cutoff` is the least cosine of a sentence; a passage without such a sentence is dropped. All
    sentences are embedded in one call.

    >>> from ragcore.embeddings import HashEmbedding
    >>> from ragcore.schema import TextNode
    >>> hit = NodeWithScore(TextNode("The boat is red. The tree is green."))
    >>> optimizer = SentenceEmbeddingOptimizer(HashEmbedding(), percentile_cutoff=0.5)
    >>> optimizer.postprocess_nodes([hit], query_str="a green tree")[0].text
    'The tree is green.'
    """

    def __init__(
        self,
        embed_model: Embedder | None = None,
        percentile_cutoff: float | None = None,
        threshold_cutoff: float | None = None,
    ) -> None:
        if percentile_cutoff is not None and not 0 <= percentile_cutoff <= 1:
            raise ValueError(f"percentile_cutoff must be from 0 to 1, not {percentile_cutoff}")
        self._embedder = embedder(embed_model)
        self._percentile = percentile_cutoff
        self._threshold = threshold_cutoff

    def _postprocess_nodes(
        self, nodes: Sequence[NodeWithScore], query_bundle: QueryBundle | None
    ) -> list[NodeWithScore]:
        question = question_of(query_bundle)
        if self._percentile is None and self._threshold is None:
            return list(nodes)
        divided = [sentences(hit.text) for hit in nodes]
        vectors = self._embedder.embed_passages([sentence for parts in divided for sentence in parts])
        cosines = vectors @ self._embedder.embed_query(question)
        shortened = []
        start = 0
        for hit, parts in zip(nodes, divided, strict=True):
            stay = self._stay(cosines[start : start + len(parts)])
            start += len(parts)
            if len(stay):
                node = replace(hit.node, text=" ".join(parts[place] for place in stay))
                shortened.append(NodeWithScore(node, hit.score))
        return shortened

    def _stay(self, cosines: np.ndarray[tuple[int], np.dtype[np.float32]]) -> list[int]:
        count = len(cosines) if self._percentile is None else max(int(len(cosines) * self._percentile), 1)
        nearest = np.argsort(-cosines, kind="stable")[:count]
        return [
            int(place)
            for place in sorted(nearest)
            if self._threshold is None or cosines[place] >= self._threshold
        ]
