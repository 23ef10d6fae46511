"""Embedders by the names that indexes keep: what made an index's vectors must embed its questions too."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Literal

from ragcore.embeddings.base import Embedder
from ragcore.errors import EmbeddingError, RagError

logger = logging.getLogger(__name__)

BUILT_IN = ""
HASHING = "hashing"

EmbedderState = Literal["idle", "loading", "ready", "failed"]


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


class EmbedderLoader:
    """Loads the embedder of the current index before the first question, and knows whether that worked."""

    def __init__(self, embedder: Callable[[], Embedder]) -> None:
        self.state: EmbedderState = "idle"
        self.error: RagError | None = None  # why it failed
        self._embedder = embedder

    def load(self) -> None:
        """Load it now, so that the first question does not wait for it. What fails is in `state` and `error`."""
        self.state = "loading"
        try:
            self._embedder().embed_query("ready")
        except RagError as error:
            self.state, self.error = "failed", error
        except Exception:  # in a thread of its own: the lights must say what nobody else would hear of
            logger.exception("the embedder could not be loaded")
            self.error = EmbeddingError(
                "The embedder could not be loaded.", hint="Install Lectern again. If that does not help, please report it."
            )
            self.state = "failed"
        else:
            self.state, self.error = "ready", None


def _open(embed_model: str) -> Embedder:
    from ragcore.embeddings.hashing import HashEmbedding
    from ragcore.embeddings.huggingface import HuggingFaceEmbedding

    return HashEmbedding() if embed_model == HASHING else HuggingFaceEmbedding(embed_model)
