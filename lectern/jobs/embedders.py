"""Embedders by the names that indexes keep: what made an index's vectors must embed its questions too."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Literal

from ragcore.embeddings import bundled_model, multilingual_e5
from ragcore.embeddings.base import Embedder
from ragcore.errors import EmbeddingError, RagError
from ragcore.text.language import is_foreign

logger = logging.getLogger(__name__)

BUILT_IN = ""
HASHING = "hashing"
MULTILINGUAL = multilingual_e5.NAME
DOWNLOADED_MULTILINGUAL = multilingual_e5.ORIGINAL

EmbedderState = Literal["idle", "loading", "ready", "failed"]


class Embedders:
    """`built_in` is the one of an index that names none. Others are opened when first asked for, and loaded when first used."""

    def __init__(self, built_in: Embedder) -> None:
        self._opened = {BUILT_IN: built_in}
        self._lock = threading.Lock()

    def of(self, embed_model: str) -> Embedder:
        """ "" is the built-in one for English, "multilingual-e5-small" that for every language, and "hashing" counts words;
        anything else is the name or folder of one for sentence-transformers."""
        with self._lock:
            if embed_model not in self._opened:
                self._opened[embed_model] = _open(embed_model)
            return self._opened[embed_model]

    def for_text(self, text: str) -> str:
        """The embed_model for a new index whose first document this is: the built-in one, which knows English and is quicker,
        or the multilingual one where that is on this computer."""
        return MULTILINGUAL if self.may_choose() and is_foreign(text) else BUILT_IN

    def for_reader(self, language: str) -> str:
        """The embed_model for a new index of somebody who reads this language, such as "de-AT"; "" is not known."""
        return MULTILINGUAL if self.may_choose() and language[:2].lower() not in ("en", "") else BUILT_IN

    def may_choose(self) -> bool:
        """Whether both built-in ones are there."""
        return self.knows_only_english() and multilingual_e5.is_installed()

    def knows_only_english(self) -> bool:
        """Whether the built-in one does. Where another one stands in for it, that one is meant for everything."""
        return self._opened[BUILT_IN].name.startswith(bundled_model.NAME)


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
                "The embedding model could not be loaded.",
                hint="Install Lectern again. If that does not help, please report it.",
            )
            self.state = "failed"
        else:
            self.state, self.error = "ready", None


def _open(embed_model: str) -> Embedder:
    from ragcore.embeddings.hashing import HashEmbedding
    from ragcore.embeddings.huggingface import HuggingFaceEmbedding

    return HashEmbedding() if embed_model == HASHING else HuggingFaceEmbedding(embed_model)
