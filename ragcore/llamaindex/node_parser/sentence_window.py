"""One passage per sentence: retrieval compares the sentence, and the language model reads it with its
neighbours."""

from __future__ import annotations

from typing import Unpack

from ragcore.node_parser.base import NodeOptions, NodeParser
from ragcore.node_parser.node_building import Cut, trim_span
from ragcore.schema import Document, TextNode
from ragcore.text.sentences import sentence_spans


class SentenceWindowNodeParser(NodeParser):
    """The metadata `window_metadata_key` has the sentence with `window_size` sentences on each side.

    >>> nodes = SentenceWindowNodeParser(window_size=1)([Document("One. Two. Three. Four.")])
    >>> nodes[1].text, nodes[1].metadata["window"]
    ('Two.', 'One. Two. Three.')

    `original_text_metadata_key` has the sentence itself. Neither embedder nor language model sees the two
    keys; a MetadataReplacementPostProcessor replaces the sentence by its window. A sentence is one passage
    even if it is long.
    """

    def __init__(
        self,
        window_size: int = 3,
        window_metadata_key: str = "window",
        original_text_metadata_key: str = "original_text",
        **options: Unpack[NodeOptions],
    ) -> None:
        super().__init__(**options)
        if window_size < 0:
            raise ValueError(f"window_size is {window_size}; it cannot be negative.")
        self.window_size = window_size
        self.window_metadata_key = window_metadata_key
        self.original_text_metadata_key = original_text_metadata_key

    def cuts(self, source: Document | TextNode) -> list[Cut]:
        text = source.text
        spans = [span for start, end in sentence_spans(text) if (span := trim_span(text, start, end))]
        keys = (self.window_metadata_key, self.original_text_metadata_key)
        cuts = []
        for i, (start, end) in enumerate(spans):
            first = spans[max(i - self.window_size, 0)]
            last = spans[min(i + self.window_size, len(spans) - 1)]
            values = (text[first[0] : last[1]], text[start:end])
            cuts.append(Cut(start, end, metadata=dict(zip(keys, values, strict=True)), hidden=keys))
        return cuts
