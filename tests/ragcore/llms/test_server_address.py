"""An address is understood as people type it, and an answer as servers send it."""

from __future__ import annotations

from contextlib import closing

import pytest

from ragcore.embeddings.ollama import OllamaEmbedding
from ragcore.embeddings.openai import OpenAIEmbedding
from ragcore.errors import ConfigError, LLMAuthError, RagError
from ragcore.llms.http_client import events
from ragcore.llms.ollama import Ollama
from ragcore.llms.openai import OpenAI, OpenAICompatibleLLM
from ragcore.llms.server_address import api_address, is_loopback
from tests.scripted_server import ScriptedServer


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("http://localhost:1234", "http://localhost:1234/v1"),
        ("http://localhost:1234/", "http://localhost:1234/v1"),
        ("http://localhost:1234/v1", "http://localhost:1234/v1"),
        ("http://localhost:1234/v1/", "http://localhost:1234/v1"),
        (" localhost:1234 ", "http://localhost:1234/v1"),
        ("127.0.0.1:8000/v1/chat/completions", "http://127.0.0.1:8000/v1"),
        ("http://0.0.0.0:8000", "http://127.0.0.1:8000/v1"),
        ("[::1]:8000", "http://[::1]:8000/v1"),
        ("192.168.1.7", "http://192.168.1.7/v1"),
        ("workstation:8000", "http://workstation:8000/v1"),
        ("api.openai.com/v1", "https://api.openai.com/v1"),
        ("https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1"),
        ("https://api.groq.com/openai/", "https://api.groq.com/openai/v1"),
        (
            "https://generativelanguage.googleapis.com/v1beta/openai/",
            "https://generativelanguage.googleapis.com/v1beta/openai",
        ),
        ("HTTP://LOCALHOST:1234/V1", "http://localhost:1234/V1/v1"),
    ],
)
def test_addresses_of_openai_compatible_servers(typed: str, meant: str) -> None:
    assert str(api_address(typed)) == meant


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("", "http://127.0.0.1:11434"),
        ("http://localhost:11434/", "http://localhost:11434"),
        ("localhost", "http://localhost:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("192.168.1.7:11500", "http://192.168.1.7:11500"),
        ("http://localhost:11434/v1", "http://localhost:11434"),
        ("http://localhost:11434/api/chat", "http://localhost:11434"),
        ("http://box/ollama/", "http://box/ollama"),
    ],
)
def test_addresses_of_ollama(typed: str, meant: str) -> None:
    llm = Ollama("llama3", typed)
    assert repr(llm) == f"Ollama(model='llama3', base_url='{meant}')"
    llm.close()


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "http://",
        "ftp://localhost",
        "http://local host",
        "http://host:port",
        "http://user:secret@host",
        "host?key=secret",
        "xn--0.pt",
    ],
)
def test_an_impossible_address_is_reported_at_once(typed: str) -> None:
    with pytest.raises(ConfigError) as caught:
        OpenAICompatibleLLM("tiny", typed)
    assert "http://127.0.0.1:1234" in caught.value.hint
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("key", ["sk-a\nb", "sk-ä", "two words", "sk-\x00"])
def test_an_impossible_key_is_reported_and_not_displayed(key: str) -> None:
    with pytest.raises(ConfigError, match="characters that no key has") as caught:
        OpenAICompatibleLLM("tiny", "localhost:1", api_key=key)
    assert key not in str(caught.value) + caught.value.hint


def test_openai_wants_a_key_and_finds_it_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RagError, match="requires a key"):
        OpenAI()
    monkeypatch.setenv("OPENAI_API_KEY", " sk-of-the-environment ")
    llm = OpenAI()
    assert repr(llm) == "OpenAI(model='gpt-4o-mini', base_url='https://api.openai.com/v1')"
    llm.close()


def test_which_hosts_are_this_machine() -> None:
    assert [
        host
        for host in ("localhost", "127.0.0.1", "127.8.9.1", "::1", "a.localhost")
        if not is_loopback(host)
    ] == []
    assert [
        host for host in ("localhost.example.com", "10.0.0.1", "example.com", "0.0.0.1") if is_loopback(host)
    ] == []


def test_events_are_read_as_the_standard_says() -> None:
    lines = [
        ": a comment",
        "event: message",
        "id: 7",
        'data: {"a":',
        "data:  1}",
        "",
        "",
        "retry: 10",
        "data:second",
        "",
        ":",
        "data: cut off",
    ]
    assert list(events(lines)) == ['{"a":\n 1}', "second", "cut off"]


def test_a_plain_answer_instead_of_events_is_passed_through() -> None:
    assert list(events(['{"error": "no: stream"}'])) == ['{"error": "no: stream"}']


@pytest.mark.parametrize("model", [Ollama, OllamaEmbedding])
def test_ollama_address_comes_from_the_environment_by_default(
    model: type[Ollama | OllamaEmbedding], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "0.0.0.0:11500")
    with closing(model("llama3")) as elsewhere, closing(model("llama3", "http://localhost:11600")) as given:
        assert "'http://127.0.0.1:11500'" in repr(elsewhere)
        assert "'http://localhost:11600'" in repr(given)
    monkeypatch.setenv("OLLAMA_HOST", "")
    with closing(model("llama3")) as usual:
        assert "'http://127.0.0.1:11434'" in repr(usual)


@pytest.mark.parametrize("model", [OpenAI, OpenAIEmbedding])
def test_openai_address_comes_from_the_environment_by_default(
    model: type[OpenAI | OpenAIEmbedding], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:1234/v1/")
    with (
        closing(model("some")) as elsewhere,
        closing(model("some", api_base="http://localhost:1300")) as given,
    ):
        assert "'http://localhost:1234/v1'" in repr(elsewhere)
        assert "'http://localhost:1300/v1'" in repr(given)
    monkeypatch.setenv("OPENAI_BASE_URL", "")
    with closing(model("some")) as usual:
        assert "'https://api.openai.com/v1'" in repr(usual)


def test_embedder_sends_the_environment_key_to_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    with ScriptedServer(key="sk-of-the-environment", models=("text-embedding-3-small",)) as server:
        with (
            closing(OpenAIEmbedding(api_base=server.url)) as keyless,
            pytest.raises(LLMAuthError, match="requires a key"),
        ):
            keyless.get_query_embedding("A lectern?")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        with closing(OpenAIEmbedding(dimensions=8)) as embedder:
            assert len(embedder.get_query_embedding("A lectern?")) == 8
