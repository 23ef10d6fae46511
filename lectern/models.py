"""From settings to a language model, and the answer to "does it work?" in one sentence."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lectern.local_models import model_file
from lectern.settings import LLMSettings, allowed_sources, default_folder
from ragcore.embeddings.base import Embedder
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

CHECK_TIMEOUT = 8.0  # seconds that a server may take to list its models
LOADED_AT_ONCE = 1.0  # seconds
CHECK_LENGTH = 16  # tokens; some servers take no less


@dataclass(frozen=True, slots=True)
class ConnectionReport:
    """`message` is one sentence, `hint` what to do about it; `models` are what the server has, () where it did not say."""

    ok: bool
    message: str
    hint: str = ""
    models: tuple[str, ...] = ()


def open_llm(settings: LLMSettings, key: str, *, embedder: Embedder, home: Path | None = None) -> LLM:
    """The language model of the settings; the reader that quotes passages where they name none. Nothing is sent yet.

    `home`: the folder of the person's first library, which has their models; by default that of `default_folder`.
    """
    if settings.provider == "none":
        from ragcore.extractive.answerer import ExtractiveLLM

        return ExtractiveLLM(embedder)
    if not settings.model.strip():
        raise ConfigError("No model is chosen.", hint="Choose one in Settings; Test lists the server's models.")
    return _client(settings, key, home, timeout=settings.timeout, num_output=settings.num_output, max_retries=2)


def check_connection(settings: LLMSettings, key: str, *, home: Path | None = None) -> ConnectionReport:
    """Ask the server for its models, which takes seconds at most, and the model for a few words: a model that must be loaded
    first is waited for, as long as it may be silent by the settings or says that it is loading."""
    if settings.provider == "none":
        return ConnectionReport(True, "No language model: answers quote your documents.")
    models: tuple[str, ...] = ()
    try:
        if settings.provider != "llama_cpp":  # whose only model is the one that is chosen
            timeout = min(settings.timeout, CHECK_TIMEOUT)
            models = _listed(_client(settings, key, home, timeout=timeout, num_output=CHECK_LENGTH, max_retries=0))
        if not settings.model.strip():
            hint = f"It has: {', '.join(models)}." if models else "Enter the name of a model that the server has."
            return ConnectionReport(False, "No model is chosen.", hint, models)
        client = _client(settings, key, home, timeout=settings.timeout, num_output=CHECK_LENGTH, max_retries=0)
        return ConnectionReport(True, _how_it_answers(client), "", models)
    except UnknownModelError as error:
        return ConnectionReport(False, error.what, error.hint, error.available or models)
    except RagError as error:
        return ConnectionReport(False, error.what, error.hint, models)


def check_address(settings: LLMSettings) -> None:
    """InputError where the model server is in the network around this computer, which whoever runs this server has to allow.
    A server on this computer itself, such as Ollama, is where models usually are. ConfigError for what is no address."""
    from ragcore.readers.web.download import is_in_private_network

    if settings.provider in ("none", "llama_cpp") or allowed_sources().private_network:
        return
    usual = {"ollama": OLLAMA_URL, "openai": OPENAI_URL}.get(settings.provider, "")
    host = server_address(settings.base_url, usual=usual).host
    if is_in_private_network(host):
        raise InputError(
            f"{host} is in this computer's network, where Lectern does not connect to model servers.",
            hint="The administrator of this server can allow it with LECTERN_PRIVATE_NETWORK.",
        )


def _client(
    settings: LLMSettings, key: str, home: Path | None, *, timeout: float, num_output: int, max_retries: int
) -> ServedLLM:
    if settings.provider == "llama_cpp":
        return LlamaCPP(
            model_file(settings.model, home or default_folder()),
            temperature=settings.temperature,
            max_new_tokens=num_output,
            context_window=settings.context_window,
            idle_seconds=settings.idle_minutes * 60,
            timeout=timeout,
            calls_at_once=settings.calls_at_once,
            max_retries=max_retries,
            is_function_calling_model=settings.calls_functions,
        )
    if settings.provider == "ollama":
        return Ollama(
            settings.model.strip(),
            settings.base_url or OLLAMA_URL,
            request_timeout=timeout,
            context_window=settings.context_window,
            num_output=num_output,
            temperature=settings.temperature,
            calls_at_once=settings.calls_at_once,
            max_retries=max_retries,
            is_function_calling_model=settings.calls_functions,
        )
    if settings.provider == "openai":
        return OpenAI(
            settings.model.strip(),
            api_key=key,
            api_base=settings.base_url or OPENAI_URL,
            temperature=settings.temperature,
            max_tokens=num_output,
            context_window=settings.context_window,
            timeout=timeout,
            calls_at_once=settings.calls_at_once,
            max_retries=max_retries,
        )
    return OpenAICompatibleLLM(
        settings.model.strip(),
        settings.base_url,
        api_key=key,
        temperature=settings.temperature,
        num_output=num_output,
        context_window=settings.context_window,
        timeout=timeout,
        calls_at_once=settings.calls_at_once,
        max_retries=max_retries,
        is_function_calling_model=settings.calls_functions,
    )


def _listed(client: ServedLLM) -> tuple[str, ...]:
    """The models, where the server tells. Only a failure that would meet the model too is a failure here."""
    try:
        return client.list_models()
    except (LLMUnavailableError, LLMTimeoutError, LLMAuthError):
        raise
    except LLMError:
        return ()  # some servers answer chats and have no list


def _how_it_answers(client: ServedLLM) -> str:
    started, loaded = time.perf_counter(), 0.0
    with suppress(EmptyAnswerError):  # a model that thinks first has not come to its answer in so few words
        timings = client.generate(LLMCall(GENERATION, {"query_str": "Hello"})).timings
        if timings is not None:
            loaded = time.perf_counter() - started - timings.prompt_seconds - timings.completion_seconds
    seconds, model = time.perf_counter() - started, client.metadata.model_name
    if loaded < LOADED_AT_ONCE:
        return f"It works: {model} answered in {seconds:.1f} s."
    return f"It works: {model} loaded in {loaded:.1f} s and answered in {seconds - loaded:.1f} s."
