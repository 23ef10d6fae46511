"""Ollama's embeddings: https://github.com/ollama/ollama/blob/main/docs/api.md (/api/embed)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from ragcore.embeddings.server_embedding import WINDOW, EmbeddedTexts, ServedEmbedding, numbers
from ragcore.llms.http_client import ollama_server
from ragcore.llms.http_errors import Retries


class OllamaEmbedding(ServedEmbedding):
    """Embeddings of Ollama. Without `base_url` at the environment's OLLAMA_HOST, or Ollama's default address
    on this machine.

    `request_timeout` is seconds without a sign of life, `window` characters; `keep_alive` is how long the
    model stays in memory, such as "5m".

    >>> OllamaEmbedding("nomic-embed-text", "127.0.0.1")
    OllamaEmbedding(model_name='nomic-embed-text', base_url='http://127.0.0.1:11434')
    """

    provider = "ollama"

    def __init__(
        self,
        model_name: str = "nomic-embed-text",
        base_url: str | None = None,
        *,
        embed_batch_size: int = 32,
        window: int = WINDOW,
        request_timeout: float = 120.0,
        keep_alive: str = "5m",
        max_retries: int = 2,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(
            ollama_server(base_url, request_timeout),
            model_name,
            Retries(max_retries, sleep),
            embed_batch_size=embed_batch_size,
            dimension=None,
            window=window,
        )
        self._keep_alive = keep_alive

    def _request(self, texts: Sequence[str]) -> EmbeddedTexts:
        body = {
            "model": self.model_name,
            "input": list(texts),
            "truncate": False,  # without it Ollama silently cuts long texts
            "keep_alive": self._keep_alive,
        }
        data = self._server.post("/api/embed", body)
        vectors = data.get("embeddings")
        rows = [numbers(row) for row in vectors] if isinstance(vectors, list) else [None]
        if None in rows:
            raise self._server.unreadable()
        tokens = data.get("prompt_eval_count")
        return EmbeddedTexts(
            [row for row in rows if row is not None], tokens if isinstance(tokens, int) else None
        )
