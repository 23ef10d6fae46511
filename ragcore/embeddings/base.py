"""What every embedder promises: texts in, unit vectors out, nothing cut off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ragcore.schema import Vector, Vectors


class Embedder(Protocol):
    @property
    def name(self) -> str:
        """Identifies model and version: vectors of different names must never meet in one index."""

    @property
    def dimension(self) -> int: ...

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """One row per text, in order: shape (len(texts), dimension), float32, contiguous, each row of length 1.

        A text longer than the model's window is embedded in windows, and its row is their mean; nothing is cut off. An empty
        text gets the model's vector for nothing, never NaN. An empty list gives shape (0, dimension).
        """

    def embed_query(self, text: str) -> Vector:
        """Shape (dimension,), length 1."""
