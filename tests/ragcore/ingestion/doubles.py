"""Steps that keep what they were given, and an embedder that refuses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import EmbeddingError
from ragcore.node_parser.sentence import SentenceSplitter
from ragcore.schema import Document, TextNode
from tests.word_tokenizer import WordTokenizer


def splitter(size: int = 6, overlap: int = 0) -> SentenceSplitter:
    return SentenceSplitter(size, overlap, tokenizer=WordTokenizer())


class Counting(HashEmbedding):
    """Keeps the texts it was given; refuses those with a forbidden word."""

    def __init__(self, dimension: int = 32) -> None:
        super().__init__(dimension)
        self.given: list[str] = []
        self.forbidden: set[str] = set()

    def embed_passages(self, texts: Sequence[str]) -> Any:
        self.given += texts
        if any(word in text for text in texts for word in self.forbidden):
            raise EmbeddingError("This text cannot be embedded.")
        return super().embed_passages(texts)


def documents(count: int) -> list[Document]:
    """Each of two passages at the splitter's default size, with words of its own."""
    return [
        Document(f"Alpha{n} beta gamma delta. Epsilon{n} zeta eta theta.", f"d{n}", {"n": n})
        for n in range(count)
    ]


def told(items: Sequence[Document | TextNode]) -> list[tuple[object, ...]]:
    """Everything of the passages, to compare."""
    return [
        (
            item.id_,
            item.text,
            dict(item.metadata),
            getattr(item, "ref_doc_id", None),
            getattr(item, "start_char_idx", None),
            getattr(item, "prev_id", None),
            getattr(item, "next_id", None),
            None if getattr(item, "embedding", None) is None else item.embedding.tolist(),  # type: ignore[union-attr]
        )
        for item in items
    ]
