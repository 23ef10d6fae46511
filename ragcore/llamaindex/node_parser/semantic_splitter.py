"""Passages that end where the subject changes: where neighbouring sentences are least alike."""

from __future__ import annotations

from typing import Unpack

from ragcore.embeddings.base import Embedder
from ragcore.node_parser.base import NodeOptions, NodeParser
from ragcore.node_parser.node_building import Cut, trim_span
from ragcore.schema import Document, TextNode
from ragcore.settings import embedder
from ragcore.text.sentences import sentence_spans


class SemanticSplitterNodeParser(NodeParser):
    """Embeds each sentence with `buffer_size` neighbours on both sides, and cuts after a sentence whose
    cosine distance to the next is above the `breakpoint_percentile_threshold` percentile (0 to 100) of all
    distances in the document.

    >>> from ragcore.embeddings import HashEmbedding
    >>> splitter = SemanticSplitterNodeParser(
    ...     buffer_size=0, breakpoint_percentile_threshold=50, embed_model=HashEmbedding()
    ... )
    >>> [node.text for node in splitter([Document("The boat is red. A red boat is fast. Gulls eat fish.")])]
    ['The boat is red. A red boat is fast.', 'Gulls eat fish.']

    One embedding per sentence, by the default embedder if `embed_model` is None. A passage has no maximum
    size. After Kamradt, 5 Levels of Text Splitting (2024), level 4.
    """

    def __init__(
        self,
        buffer_size: int = 1,
        breakpoint_percentile_threshold: float = 95,
        *,
        embed_model: Embedder | str | None = None,
        **options: Unpack[NodeOptions],
    ) -> None:
        super().__init__(**options)
        if buffer_size < 0:
            raise ValueError(f"buffer_size is {buffer_size}; it cannot be negative.")
        if not 0 <= breakpoint_percentile_threshold <= 100:
            raise ValueError(
                f"breakpoint_percentile_threshold is {breakpoint_percentile_threshold}; it is from 0 to 100."
            )
        self.buffer_size = buffer_size
        self.breakpoint_percentile_threshold = breakpoint_percentile_threshold
        self.embed_model = embedder(embed_model)

    def cuts(self, source: Document | TextNode) -> list[Cut]:
        text = source.text
        spans = [span for start, end in sentence_spans(text) if (span := trim_span(text, start, end))]
        if not spans:
            return []
        lasts = [*self._breaks(text, spans), len(spans) - 1]
        firsts = [0, *(last + 1 for last in lasts)]
        return [Cut(spans[first][0], spans[last][1]) for first, last in zip(firsts, lasts, strict=False)]

    def _breaks(self, text: str, spans: list[tuple[int, int]]) -> list[int]:
        """The sentences after which to cut; never the last."""
        import numpy as np

        if len(spans) < 2:
            return []
        around = self.buffer_size
        windows = [
            text[spans[max(i - around, 0)][0] : spans[min(i + around, len(spans) - 1)][1]]
            for i in range(len(spans))
        ]
        vectors = self.embed_model.embed_passages(windows)  # (n, d), of length 1
        distances = 1 - np.sum(vectors[:-1] * vectors[1:], axis=1)  # (n - 1,)
        threshold = np.percentile(distances, self.breakpoint_percentile_threshold)
        return [int(i) for i in np.flatnonzero(distances > threshold)]
