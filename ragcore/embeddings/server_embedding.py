"""An embedding model behind a server: the part of a client that does not depend on the wire format.

Errors (LLMError) and retries are those of the clients of language models.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from ragcore.embeddings.base import BaseEmbedding
from ragcore.errors import ContextWindowError, EmbeddingError, LLMProtocolError
from ragcore.llms.http_client import ModelServer
from ragcore.llms.http_errors import Refusal, Retries
from ragcore.observe import Span
from ragcore.schema import Vectors
from ragcore.text.tokens import slices

WINDOW = 8000  # characters, about 2000 tokens of English, which most models accept
MIN_WINDOW = 100  # characters; a server that refuses so few refuses everything


@dataclass(frozen=True, slots=True)
class EmbeddedTexts:
    """The vector of each text in order; `tokens` is None if the server did not count them."""

    rows: Sequence[Sequence[float]]
    tokens: int | None = None


class ServedEmbedding(BaseEmbedding):
    """Subclasses implement `_request`. Threads may share one.

    A text longer than `window` characters is embedded in windows. A text that the server refuses as too long
    halves the window permanently. A request has at most `embed_batch_size` texts.
    """

    def __init__(
        self,
        server: ModelServer,
        model_name: str,
        retries: Retries,
        *,
        embed_batch_size: int,
        dimension: int | None,
        window: int,
    ) -> None:
        if embed_batch_size < 1:
            raise ValueError(f"embed_batch_size is {embed_batch_size}; it must be at least 1")
        if window < MIN_WINDOW:
            raise ValueError(f"window is {window}; it must be at least {MIN_WINDOW} characters")
        self.model_name = model_name
        self.embed_batch_size = embed_batch_size
        self._server = server
        self._retries = retries
        self._dimension = dimension
        self._window = window

    def __repr__(self) -> str:
        return f"{type(self).__name__}(model_name={self.model_name!r}, base_url={self._server.url!r})"

    @property
    def dimension(self) -> int:
        """The server's first vector determines it, unless it is known."""
        if self._dimension is None:
            self.embed_query("")
        assert self._dimension is not None  # set with the first vectors
        return self._dimension

    def close(self) -> None:
        """Close its connections, as the garbage collector also does."""
        self._server.close()

    @abstractmethod
    def _request(self, texts: Sequence[str]) -> EmbeddedTexts:
        """One request."""

    def _embed(self, texts: Sequence[str], step: Span, *, is_query: bool) -> Vectors:
        import numpy as np

        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        window = self._window
        while True:
            try:
                return self._in_windows(texts, window, step)
            except ContextWindowError as error:
                window //= 2
                if window < MIN_WINDOW:
                    raise EmbeddingError(
                        f"{self._server.name} at {self._server.place} refuses every text as too long.",
                        hint="Choose another embedding model, or check the server's log.",
                    ) from error
                self._window = min(self._window, window)

    def _in_windows(self, texts: Sequence[str], window: int, step: Span) -> Vectors:
        import numpy as np

        # Servers refuse an empty text.
        parts = [[part for _, part in slices(text, window)] if text.strip() else [" "] for text in texts]
        flat = [part for windows in parts for part in windows]
        rows: list[Sequence[float]] = []
        tokens = 0
        for start in range(0, len(flat), self.embed_batch_size):
            batch = flat[start : start + self.embed_batch_size]
            embedded = self._retries.run(partial(self._request_checked, batch))
            rows += embedded.rows
            tokens += embedded.tokens or 0
        if tokens:
            step.note(tokens=tokens)
        first = np.cumsum([0, *map(len, parts[:-1])])  # the first window of each text
        return self._units(np.add.reduceat(self._units(self._matrix(rows)), first, axis=0))

    def _request_checked(self, texts: Sequence[str]) -> EmbeddedTexts:
        try:
            embedded = self._request(texts)
        except Refusal as refusal:
            raise self._server.failure(refusal, model=self.model_name, available=tuple) from refusal
        if len(embedded.rows) != len(texts):
            raise LLMProtocolError(
                f"{self._server.name} at {self._server.place} gave {len(embedded.rows)} vectors for "
                f"{len(texts)} texts.",
                hint="Ask again; if the problem remains, check the server's log.",
            )
        return embedded

    def _matrix(self, rows: Sequence[Sequence[float]]) -> Vectors:
        import numpy as np

        lengths = {len(row) for row in rows}
        expected = self._dimension or min(lengths)
        if lengths != {expected}:
            raise EmbeddingError(
                f"The model {self.model_name!r} gave vectors of {max(lengths - {expected})} numbers, "
                f"not {expected}.",
                hint=(
                    "Check that the server runs the model you mean, and that it can give vectors of "
                    "this length."
                ),
            )
        self._dimension = expected
        return np.array(rows, np.float32)

    def _units(self, rows: Vectors) -> Vectors:
        import numpy as np

        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        if not (np.isfinite(norms).all() and norms.all()):
            raise self._server.unreadable()
        units: Vectors = np.ascontiguousarray(rows / norms, np.float32)
        return units


def numbers(value: object) -> list[float] | None:
    """A vector in a server's JSON; None for anything else."""
    if isinstance(value, list) and value and all(type(item) in (int, float) for item in value):
        return value
    return None
