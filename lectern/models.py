"""Opens the language model of the settings, and checks whether it works."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from lectern.local_models import model_file
from lectern.settings import LLMSettings, allowed_sources, default_folder
from ragcore.errors import (
    ConfigError,
    InputError,
    LLMAuthError,
    LLMError,
    LLMTimeoutError,
    LLMUnavailableError,
    RagError,
    UnknownModelError,
)
from ragcore.llms.base import LLM, LLMCall
from ragcore.llms.http_errors import EmptyAnswerError
from ragcore.llms.llama_cpp import LlamaCPP
from ragcore.llms.ollama import Ollama
from ragcore.llms.openai import OpenAI, OpenAICompatibleLLM
from ragcore.llms.server_address import OLLAMA_URL, OPENAI_URL, server_address
from ragcore.llms.server_llm import ServedLLM
from ragcore.prompts.wording import GENERATION

CHECK_TIMEOUT = 8.0  # seconds for a server to list its models
QUICK_LOAD_SECONDS = 1.0  # A shorter time to load the model is not reported.
CHECK_TOKENS = 16  # Some servers refuse a smaller limit for the answer.


@dataclass(frozen=True, slots=True)
class ConnectionReport:
    """`message` is one sentence, `hint` what to do about it. `models` are those of the server; () if they are
    unknown."""

    ok: bool
    message: str
    hint: str = ""
    models: tuple[str, ...] = ()


def open_llm(settings: LLMSettings, key: str, *, home: Path | None = None) -> LLM:
    """The language model of the settings. Sends no request.

    `home` is the folder of the person's first library, which contains the local models; by default
    `default_folder()`.
    """
    if not settings.model.strip():
        raise ConfigError(
            "No model is chosen.", hint="Choose one in Settings; Test lists the server's models."
        )
    return _open_client(
        settings, key, home, timeout=settings.timeout, num_output=settings.num_output, max_retries=2
    )


def check_connection(settings: LLMSettings, key: str, *, home: Path | None = None) -> ConnectionReport:
    """List the models of the server, and let the model write a few words. A model may be loaded first; then
    this waits up to the timeout of the settings, or as long as the server reports that it is loading."""
    if settings.provider == "none":
        return ConnectionReport(True, "No language model: answers quote your documents.")
    models: tuple[str, ...] = ()
    try:
        if settings.provider != "llama_cpp":  # llama.cpp runs only the chosen file, and has no list
            timeout = min(settings.timeout, CHECK_TIMEOUT)
            models = _list_models(
                _open_client(settings, key, home, timeout=timeout, num_output=CHECK_TOKENS, max_retries=0)
            )
        if not settings.model.strip():
            hint = (
                f"It has: {', '.join(models)}."
                if models
                else "Enter the name of a model that the server has."
            )
            return ConnectionReport(False, "No model is chosen.", hint, models)
        client = _open_client(
            settings, key, home, timeout=settings.timeout, num_output=CHECK_TOKENS, max_retries=0
        )
        return ConnectionReport(True, _test_answer(client), "", models)
    except UnknownModelError as error:
        return ConnectionReport(False, error.what, error.hint, error.available or models)
    except RagError as error:
        return ConnectionReport(False, error.what, error.hint, models)


def check_address(settings: LLMSettings) -> None:
    """InputError for a model server in the local network, unless the administrator allows that. A server on
    this computer, such as Ollama, is always allowed. ConfigError for an invalid address."""
    from ragcore.readers.web.download import is_in_private_network

    if settings.provider in ("none", "llama_cpp") or allowed_sources().private_network:
        return
    usual_address = {"ollama": OLLAMA_URL, "openai": OPENAI_URL}.get(settings.provider, "")
    host = server_address(settings.base_url, usual=usual_address).host
    if is_in_private_network(host):
        raise InputError(
            f"{host} is in this computer's network, where Lectern does not connect to model servers.",
            hint="The administrator of this server can allow it with LECTERN_PRIVATE_NETWORK.",
        )


class _CommonOptions(TypedDict):
    temperature: float
    context_window: int
    calls_at_once: int | None
    max_retries: int


def _open_client(
    settings: LLMSettings, key: str, home: Path | None, *, timeout: float, num_output: int, max_retries: int
) -> ServedLLM:
    model, calls_functions = settings.model.strip(), settings.calls_functions
    common = _CommonOptions(
        temperature=settings.temperature,
        context_window=settings.context_window,
        calls_at_once=settings.calls_at_once,
        max_retries=max_retries,
    )
    if settings.provider == "llama_cpp":
        return LlamaCPP(
            model_file(settings.model, home or default_folder()),
            max_new_tokens=num_output,
            idle_seconds=settings.idle_minutes * 60,
            timeout=timeout,
            is_function_calling_model=calls_functions,
            **common,
        )
    if settings.provider == "ollama":
        return Ollama(
            model,
            settings.base_url or OLLAMA_URL,
            request_timeout=timeout,
            num_output=num_output,
            is_function_calling_model=calls_functions,
            **common,
        )
    if settings.provider == "openai":
        address = settings.base_url or OPENAI_URL
        return OpenAI(model, api_key=key, api_base=address, max_tokens=num_output, timeout=timeout, **common)
    return OpenAICompatibleLLM(
        model,
        settings.base_url,
        api_key=key,
        num_output=num_output,
        timeout=timeout,
        is_function_calling_model=calls_functions,
        **common,
    )


def _list_models(client: ServedLLM) -> tuple[str, ...]:
    """The server's models; () for a server without a list. Raises an error that would prevent an answer
    too."""
    try:
        return client.list_models()
    except (LLMUnavailableError, LLMTimeoutError, LLMAuthError):
        raise
    except LLMError:
        return ()


def _test_answer(client: ServedLLM) -> str:
    """Let the model write a few words; returns the sentence that describes the result. RagErrors."""
    started, loaded = time.perf_counter(), 0.0  # in seconds; `loaded` is how long loading the model took
    with suppress(EmptyAnswerError):  # a model that reasons first used its few tokens for that
        timings = client.generate(LLMCall(GENERATION, {"query_str": "Hello"})).timings
        if timings is not None:
            loaded = time.perf_counter() - started - timings.prompt_seconds - timings.completion_seconds
    seconds, model = time.perf_counter() - started, client.metadata.model_name
    if loaded < QUICK_LOAD_SECONDS:
        return f"It works: {model} answered in {seconds:.1f} s."
    return f"It works: {model} loaded in {loaded:.1f} s and answered in {seconds - loaded:.1f} s."
