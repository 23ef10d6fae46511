"""The same vector for every text, to see what is embedded, and how often, without cost."""

from __future__ import annotations

from collections.abc import Sequence

from ragcore.embeddings.base import BaseEmbedding
from ragcore.observe import Span
from ragcore.schema import Vectors
from ragcore.text.tokens import count_tokens


class MockEmbedding(BaseEmbedding):
    """Vectors of `embed_dim` times 0.5, not scaled to length 1. All texts are equally near: HashEmbedding can
    rank them.

    The tokens that a model would have read are counted.

    >>> MockEmbedding(embed_dim=3).get_text_embedding("A boat").tolist()
    [0.5, 0.5, 0.5]
    """

    def __init__(self, embed_dim: int) -> None:
        if embed_dim < 1:
            raise ValueError(f"embed_dim is {embed_dim}; it must be at least 1")
        self.embed_dim = embed_dim

    @property
    def name(self) -> str:
        return f"mock-{self.embed_dim}"

    @property
    def dimension(self) -> int:
        return self.embed_dim

    def _embed(self, texts: Sequence[str], step: Span, *, is_query: bool) -> Vectors:
        import numpy as np

        step.note(tokens=sum(map(count_tokens, texts)))
        return np.full((len(texts), self.embed_dim), 0.5, np.float32)
