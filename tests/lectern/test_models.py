"""The Test button: one sentence that is true, whatever is at the address."""

from __future__ import annotations

import re
import socket
import time

import pytest

from lectern.models import ConnectionReport, check_connection, open_llm
from lectern.settings import LLMSettings, Provider
from ragcore.errors import ConfigError
from ragcore.llms.base import LLMMetadata
from ragcore.llms.ollama import Ollama
from ragcore.llms.openai import OpenAI, OpenAICompatibleLLM
from tests.scripted_server import FAULTS, HTML, Fault, ScriptedServer, error

REMOTE: list[Provider] = ["ollama", "openai", "openai_compatible"]


def settings(provider: Provider, url: str, model: str = "tiny") -> LLMSettings:
    return LLMSettings(provider=provider, base_url=url, model=model)


@pytest.mark.parametrize("provider", REMOTE)
def test_a_model_that_answers(provider: Provider) -> None:
    with ScriptedServer(models=("tiny", "large"), key="" if provider == "ollama" else "sk-right") as server:
        report = check_connection(settings(provider, server.url), "sk-right")
        assert report.ok
        assert report.message.startswith("It works: tiny answered in 0.")
        assert report.message.endswith(" s.")
        assert report.models == ("tiny", "large")
        assert len(server.chats) == 1


@pytest.mark.parametrize("provider", REMOTE)
def test_a_model_that_is_not_there_with_those_that_are(provider: Provider) -> None:
    with ScriptedServer(models=("llama3:8b", "mistral")) as server:
        report = check_connection(settings(provider, server.url, "gpt-9"), "sk")
    assert not report.ok
    assert "has no model 'gpt-9'" in report.message
    assert "llama3:8b, mistral" in report.hint
    assert report.models == ("llama3:8b", "mistral")


@pytest.mark.parametrize("provider", REMOTE)
def test_no_model_chosen_yet_lists_those_there_are(provider: Provider) -> None:
    with ScriptedServer(models=("llama3:8b",)) as server:
        report = check_connection(settings(provider, server.url, " "), "sk")
        assert server.chats == []
    assert report == ConnectionReport(False, "No model is chosen.", "It has: llama3:8b.", ("llama3:8b",))


def test_a_wrong_key_is_reported_and_not_displayed() -> None:
    with ScriptedServer(key="sk-right") as server:
        report = check_connection(settings("openai_compatible", server.url), "sk-wrong-0123456789")
        without = check_connection(settings("openai_compatible", server.url), "")
    assert "does not accept the key" in report.message
    assert "requires a key" in without.message
    assert "sk-wrong" not in repr(report)


def test_openai_without_a_key() -> None:
    assert check_connection(settings("openai", ""), "").message == "OpenAI requires a key."


def test_an_address_that_is_none() -> None:
    assert "not an address" in check_connection(settings("ollama", "http://:80:80"), "").message
    assert "No address" in check_connection(settings("openai_compatible", ""), "").message


@pytest.mark.parametrize("provider", REMOTE)
def test_an_absent_server_is_reported_at_once(provider: Provider) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        started = time.perf_counter()
        report = check_connection(settings(provider, f"http://127.0.0.1:{bound.getsockname()[1]}"), "sk")
    assert not report.ok
    assert "is not answering at 127.0.0.1" in report.message
    assert time.perf_counter() - started < 2


@pytest.mark.parametrize("provider", REMOTE)
def test_something_else_at_the_address(provider: Provider) -> None:
    for fault in (Fault(200, HTML, "text/html"), Fault(200, '{"cats": 3}'), Fault(404, HTML, "text/html")):
        with ScriptedServer(always=fault) as server:
            report = check_connection(settings(provider, server.url), "sk")
        assert "Something answers at 127.0.0.1" in report.message


def test_kinds_of_servers_are_distinguished() -> None:
    with ScriptedServer(ollama=False) as server:
        report = check_connection(settings("ollama", server.url), "")
    assert report.message.endswith("but it is not Ollama.")
    with ScriptedServer(openai=False) as server:
        report = check_connection(settings("openai_compatible", server.url), "")
    assert report.message.endswith("but it is not an OpenAI-compatible server.")


@pytest.mark.parametrize("provider", REMOTE)
def test_a_silent_server_is_reported_in_time(provider: Provider) -> None:
    with ScriptedServer(always=Fault(silent_after=0)) as server:
        started = time.perf_counter()
        report = check_connection(settings(provider, server.url).model_copy(update={"timeout": 0.3}), "sk")
        assert len(server.chats) == 1
    assert "has not responded for 0.35 seconds" in report.message  # the rest is for reading what is asked
    assert report.models == ("tiny", "tiny:latest")
    assert time.perf_counter() - started < 3


@pytest.mark.parametrize("provider", ["openai", "openai_compatible"])
def test_a_model_that_is_being_loaded_is_waited_for(provider: Provider) -> None:
    loading = error(503, "Loading model", code="503")
    with ScriptedServer(faults=[loading] * 3) as server:
        report = check_connection(settings(provider, server.url), "sk")
    assert report.ok
    assert re.fullmatch(r"It works: tiny loaded in 1\.\d s and answered in 0\.\d s\.", report.message)


def test_one_failure_is_enough_for_a_report() -> None:
    with ScriptedServer(always=FAULTS["500"]) as server:
        report = check_connection(settings("ollama", server.url), "")
        assert len(server.chats) == 1
    assert "out of memory" in report.message


def test_a_model_that_only_thinks_in_so_few_words_works() -> None:
    with ScriptedServer(lambda messages: "<think>The user says", always=Fault(finish="length")) as server:
        assert check_connection(settings("ollama", server.url), "").ok


def test_no_language_model_is_fine() -> None:
    assert check_connection(LLMSettings(), "") == ConnectionReport(
        True, "No language model: answers quote your documents."
    )


def test_settings_open_the_model_they_name() -> None:
    kinds: dict[Provider, type] = {
        "ollama": Ollama,
        "openai": OpenAI,
        "openai_compatible": OpenAICompatibleLLM,
    }
    for provider, kind in kinds.items():
        chosen = LLMSettings(
            provider=provider, base_url="localhost:1", model=" m ", context_window=2000, num_output=99
        )
        llm = open_llm(chosen, "sk")
        assert type(llm) is kind
        assert llm.metadata == LLMMetadata("m", 2000, 99, is_function_calling_model=provider == "openai")


@pytest.mark.parametrize("provider", REMOTE)
def test_settings_without_a_model_open_none(provider: Provider) -> None:
    with pytest.raises(ConfigError, match="No model is chosen"):
        open_llm(settings(provider, "localhost:1", ""), "sk")
