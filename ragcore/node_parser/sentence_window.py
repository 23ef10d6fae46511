"""One passage per sentence, which is found by itself and read with the sentences around it."""

from __future__ import annotations

from ragcore.node_parser.base import NodeParser
from ragcore.node_parser.node_building import Cut, trimmed
from ragcore.schema import Document, TextNode
from ragcore.text.sentences import sentence_spans


class SentenceWindowNodeParser(NodeParser):
    """`window_metadata_key` names the stretch of the document from `window_size` sentences before to as many after.

    `original_text_metadata_key` names the sentence itself. Neither is seen by the embedder or the language model; a
    MetadataReplacementPostProcessor puts the window in place of the sentence. A sentence is one passage however long it is.
    """

    def __init__(
        self,
        window_size: int = 3,
        window_metadata_key: str = "window",
        original_text_metadata_key: str = "original_text",
        include_metadata: bool = True,
        include_prev_next_rel: bool = True,
    ) -> None:
        super().__init__(include_metadata=include_metadata, include_prev_next_rel=include_prev_next_rel)
        if window_size < 0:
            raise ValueError(f"window_size is {window_size}; it cannot be negative.")
        self.window_size = window_size
        self.window_metadata_key = window_metadata_key
        self.original_text_metadata_key = original_text_metadata_key

    def cuts(self, source: Document | TextNode) -> list[Cut]:
        text = source.text
        spans = [span for start, end in sentence_spans(text) if (span := trimmed(text, start, end))]
        keys = (self.window_metadata_key, self.original_text_metadata_key)
        found = []
        for i, (start, end) in enumerate(spans):
            first = spans[max(i - self.window_size, 0)]
            last = spans[min(i + self.window_size, len(spans) - 1)]
            values = (text[first[0] : last[1]], text[start:end])
            found.append(Cut(start, end, metadata=dict(zip(keys, values, strict=True)), hidden=keys))
        return found
