"""A language model on this computer, from a GGUF file, through llama.cpp, without any other installation or
server."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from ragcore.llms.call_queue import queue_of
from ragcore.llms.http_client import Exchange, ModelServer
from ragcore.llms.llama_cpp_runtime import DOWN_HINT, NAME, LlamaCPPRuntime, runtime_of
from ragcore.llms.openai import OpenAICompatibleLLM
from ragcore.llms.speed import record_of

IDLE_SECONDS = 600.0


class LlamaCPP(OpenAICompatibleLLM):
    """A model in a GGUF file. `context_window` is the maximum in tokens: it is smaller if the model was
    trained for less, or if memory is short. The first question loads the model, and after `idle_seconds`
    without a question it leaves memory. All objects with the same file and context window share it.
    `threads`: by default one for each physical core.

        llm = LlamaCPP(model_path="models/qwen2.5-1.5b-instruct-q4_k_m.gguf")
        print(llm.complete("Who wrote Faust?"))

    ModelFileError if the file is missing or no model; a question may raise NotEnoughMemoryError or
    MissingPackageError.
    """

    provider = "llama_cpp"

    def __init__(
        self,
        model_path: str | Path,
        *,
        temperature: float = 0.1,
        max_new_tokens: int = 768,
        context_window: int = 8192,
        idle_seconds: float = IDLE_SECONDS,
        threads: int | None = None,
        calls_at_once: int | None = None,
        timeout: float = 120.0,
        max_retries: int = 2,
        sleep: Callable[[float], None] = time.sleep,
        is_function_calling_model: bool = False,
    ) -> None:
        path = Path(model_path)
        self.runtime = runtime_of(path, context_window, threads, idle_seconds)
        super().__init__(
            path.name,
            "http://127.0.0.1",
            temperature=temperature,
            num_output=max_new_tokens,
            context_window=self.runtime.context,
            max_retries=max_retries,
            sleep=sleep,
            is_function_calling_model=is_function_calling_model,
        )
        self._speed = record_of("", str(self.runtime.model_path))
        # its address is unknown before it runs
        self._server = _RuntimeServer(self.runtime, timeout, calls_at_once)

    def __repr__(self) -> str:
        return f"LlamaCPP(model_path={str(self.runtime.model_path)!r})"


class _RuntimeServer(ModelServer):
    """The server of a runtime, started by the first request."""

    def __init__(self, runtime: LlamaCPPRuntime, timeout: float, calls_at_once: int | None) -> None:
        super().__init__(
            httpx.URL("http://127.0.0.1/v1"),
            kind="llama.cpp",
            name=NAME,
            down_hint=DOWN_HINT,
            timeout=timeout,
            calls_at_once=calls_at_once,
        )
        self._runtime = runtime
        self._queue = queue_of(runtime)

    @contextmanager
    def _send(
        self, method: str, path: str, body: dict[str, Any] | None, exchange: Exchange | None = None
    ) -> Iterator[httpx.Response]:
        with self._runtime.in_use() as server, server._send(method, path, body, exchange) as response:
            yield response

    def _room(self) -> int:
        return self._calls_at_once or self._runtime.slots
