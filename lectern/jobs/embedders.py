"""Embedders by name. An index stores the name, because the embedder of its passages must embed the questions
too."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from lectern.settings import absolute_path
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
    """`built_in` is the embedder of an index without a name. Others are opened by `of`, and loaded when first
    used."""

    def __init__(self, built_in: Embedder) -> None:
        self._opened = {BUILT_IN: built_in}
        self._lock = threading.Lock()

    def of(self, embed_model: str) -> Embedder:
        """ "" is the built-in one for English, "multilingual-e5-small" the one for every language, and
        "hashing" counts words; anything else is the name or folder of a sentence-transformers model."""
        with self._lock:
            if embed_model not in self._opened:
                self._opened[embed_model] = _open(embed_model)
            return self._opened[embed_model]

    def for_text(self, text: str) -> str:
        """The embed_model of a new index with this first document: the built-in one, which is faster but only
        for English, or the multilingual one if it is installed."""
        return MULTILINGUAL if self.may_choose() and is_foreign(text) else BUILT_IN

    def for_reader(self, language: str) -> str:
        """The embed_model of a new index for a reader of this language, such as "de-AT", or "" for
        unknown."""
        return MULTILINGUAL if self.may_choose() and language[:2].lower() not in ("en", "") else BUILT_IN

    def may_choose(self) -> bool:
        """Whether both built-in embedders are installed."""
        return self.knows_only_english() and multilingual_e5.is_installed()

    def knows_only_english(self) -> bool:
        """Whether the built-in embedder does. A replacement for it counts as multilingual."""
        return self._opened[BUILT_IN].name.startswith(bundled_model.NAME)


def place_of(embed_model: str) -> str:
    """The name of a model, or the whole path of its folder: the worker and later processes are in other
    folders."""
    is_name = embed_model in (BUILT_IN, HASHING, MULTILINGUAL)
    return embed_model if is_name or not Path(embed_model).is_dir() else str(absolute_path(embed_model))


class EmbedderLoader:
    """Loads the embedder of the current index before the first question, and records the result."""

    def __init__(self, embedder: Callable[[], Embedder]) -> None:
        self.state: EmbedderState = "idle"
        self.error: RagError | None = None
        self._embedder = embedder

    def load(self) -> None:
        """Load it now, so that the first question does not wait for it. A failure is in `state` and
        `error`."""
        self.state = "loading"
        try:
            self._embedder().embed_query("ready")
        except RagError as error:
            self.state, self.error = "failed", error
        except Exception:  # nobody else sees it in this thread, so the screen must show it
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
