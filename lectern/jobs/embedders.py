"""Embedders by the names that indexes keep: what made an index's vectors must embed its questions too."""

from __future__ import annotations

import threading

from ragcore.embeddings.base import Embedder

BUILT_IN = ""
HASHING = "hashing"


class Embedders:
    """`built_in` is the one of an index that names none. Others are opened when first asked for, and loaded when first used."""

    def __init__(self, built_in: Embedder) -> None:
        self._opened = {BUILT_IN: built_in}
        self._lock = threading.Lock()

    def of(self, embed_model: str) -> Embedder:
        """ "" is the built-in one, "hashing" counts words; anything else is the name or folder of one for
        sentence-transformers."""
        with self._lock:
            if embed_model not in self._opened:
                self._opened[embed_model] = _open(embed_model)
            return self._opened[embed_model]


def _open(embed_model: str) -> Embedder:
    from ragcore.embeddings.hashing import HashEmbedding
    from ragcore.embeddings.huggingface import HuggingFaceEmbedding

    return HashEmbedding() if embed_model == HASHING else HuggingFaceEmbedding(embed_model)
