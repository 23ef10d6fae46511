"""OpenAI's embeddings, and the many servers with the same interface:
https://platform.openai.com/docs/api-reference/embeddings."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

from ragcore.embeddings.server_embedding import WINDOW, EmbeddedTexts, ServedEmbedding, numbers
from ragcore.errors import LLMAuthError
from ragcore.llms.http_client import ModelServer, objects
from ragcore.llms.http_errors import Retries
from ragcore.llms.server_address import api_address, openai_base_url

DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}


class OpenAIEmbedding(ServedEmbedding):
    """Embeddings of OpenAI or a compatible server. Without `api_base` at the environment's OPENAI_BASE_URL,
    or at OpenAI; without `api_key` with its OPENAI_API_KEY. Another server at `api_base` may need no key.

    `model_name` is another name of `model`. `dimensions` asks for shorter vectors than the model's. `window`
    is in characters, `timeout` in seconds without a sign of life.

    >>> OpenAIEmbedding("text-embedding-3-small", api_key="sk-example", dimensions=256).dimension
    256
    """

    provider = "openai"

    def __init__(
        self,
        model: str = "text-embedding-3-small",
        *,
        model_name: str | None = None,
        api_key: str | None = None,
        api_base: str | None = None,
        dimensions: int | None = None,
        embed_batch_size: int = 100,
        window: int = WINDOW,
        timeout: float = 60.0,
        max_retries: int = 2,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        model = model_name or model
        url = api_address(openai_base_url() if api_base is None else api_base)
        own = url.host == "api.openai.com"
        key = (
            os.environ.get("OPENAI_API_KEY", "")
            if api_key is None and (own or api_base is None)
            else api_key or ""
        )
        if own and not key.strip():
            raise LLMAuthError("OpenAI requires a key.", hint="Enter it in Settings, or set OPENAI_API_KEY.")
        server = ModelServer(
            url,
            kind="an OpenAI-compatible server",
            name="OpenAI" if own else "The embedding server",
            down_hint="Is the server running, and is this the address it shows?",
            key=key,
            timeout=timeout,
        )
        super().__init__(
            server,
            model,
            Retries(max_retries, sleep),
            embed_batch_size=embed_batch_size,
            dimension=dimensions or DIMENSIONS.get(model),
            window=window,
        )
        self._requested_dimensions = dimensions

    @property
    def name(self) -> str:
        return (
            f"{self.model_name} dimensions={self._requested_dimensions}"
            if self._requested_dimensions
            else self.model_name
        )

    def _request(self, texts: Sequence[str]) -> EmbeddedTexts:
        body: dict[str, Any] = {"model": self.model_name, "input": list(texts), "encoding_format": "float"}
        if self._requested_dimensions:
            body["dimensions"] = self._requested_dimensions
        data = self._server.post("/embeddings", body)
        rows = {
            item.get("index", place): numbers(item.get("embedding"))
            for place, item in enumerate(objects(data.get("data")))
        }
        ordered = [row for _, row in sorted(rows.items()) if row is not None]
        if not ordered or sorted(rows) != list(range(len(ordered))):
            raise self._server.unreadable()
        usage = data.get("usage")
        tokens = usage.get("prompt_tokens") if isinstance(usage, dict) else None
        return EmbeddedTexts(ordered, tokens if isinstance(tokens, int) else None)
