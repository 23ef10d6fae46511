"""Ollama's embeddings: https://github.com/ollama/ollama/blob/main/docs/api.md (/api/embed)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from ragcore.embeddings.server_embedding import WINDOW, Embedded, ServedEmbedding, numbers
from ragcore.llms.http_client import ollama_server
from ragcore.llms.http_errors import Retries


class OllamaEmbedding(ServedEmbedding):
    """Without `base_url`, the environment's OLLAMA_HOST, else Ollama's usual address on this machine.

    `request_timeout` is seconds without a sign of life, `window` characters; `keep_alive` is how long the model stays in
    memory, such as "5m"."""

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

    def _ask(self, texts: Sequence[str]) -> Embedded:
        body = {
            "model": self.model_name,
            "input": list(texts),
            "truncate": False,  # left out, Ollama cuts long texts in silence
            "keep_alive": self._keep_alive,
        }
        data = self._server.post("/api/embed", body)
        if data.get("error"):
            raise self._server.said_error(data["error"])
        found = data.get("embeddings")
        rows = [numbers(row) for row in found] if isinstance(found, list) else [None]
        if None in rows:
            raise self._server.unreadable()
        tokens = data.get("prompt_eval_count")
        return Embedded([row for row in rows if row is not None], tokens if isinstance(tokens, int) else None)
