"""Which server a stored key goes to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lectern.keys import bind_keys, read_key, stored_keys, write_key
from lectern.library import Library
from lectern.models import check_address, check_connection
from lectern.settings import AppSettings, LLMSettings
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import InputError
from ragcore.llms.base import LLMCall
from ragcore.prompts.wording import GENERATION
from tests.scripted_server import Fault, ScriptedServer

KEY = "sk-given-for-one-server"
HELLO = LLMCall(GENERATION, {"query_str": "Hello"})


@pytest.mark.parametrize(
    "other",
    [
        "http://llm.example:1235/v1",
        "https://llm.example:1234/v1",
        "http://llm.example.evil.example:1234/v1",
        "http://llm.example/v1",
        "http://evil.example:1234/llm.example:1234/v1",
        "http://other.example:1234/v1",
        "http://127.0.0.1:1234/v1",
        "http://llm.example.:1234/v1",
        "",
        "no address at all",
    ],
)
def test_a_key_is_sent_to_no_other_scheme_host_or_port(tmp_path: Path, other: str) -> None:
    write_key(tmp_path, "openai_compatible", KEY, "http://llm.example:1234/v1")
    assert read_key(tmp_path, "openai_compatible", other) == ""
    for same in ("http://llm.example:1234", "llm.example:1234/v1/", "http://LLM.example:1234/other/v1"):
        assert read_key(tmp_path, "openai_compatible", same) == KEY


def test_the_port_of_a_scheme_need_not_be_written(tmp_path: Path) -> None:
    write_key(tmp_path, "openai_compatible", KEY, "https://llm.example:443/v1")
    assert read_key(tmp_path, "openai_compatible", "https://llm.example/v1") == KEY
    assert read_key(tmp_path, "openai_compatible", "http://llm.example:443/v1") == ""


def test_the_key_of_openai_goes_to_openai(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    elsewhere = "http://evil.example/v1"
    assert (read_key(tmp_path, "openai"), read_key(tmp_path, "openai", elsewhere)) == (
        "sk-of-the-environment",
        "",
    )
    write_key(tmp_path, "openai", KEY)
    assert (read_key(tmp_path, "openai"), read_key(tmp_path, "openai", elsewhere)) == (KEY, "")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://proxy.example/v1")
    write_key(tmp_path, "openai", "")
    assert read_key(tmp_path, "openai", "http://proxy.example/v1") == "sk-of-the-environment"


def test_key_of_an_earlier_version_is_for_its_set_server_only(tmp_path: Path) -> None:
    (tmp_path / "keys.json").write_text(
        json.dumps({"openai_compatible": KEY, "openai": "sk-of-openai"}), "utf-8"
    )
    assert read_key(tmp_path, "openai_compatible", "http://evil.example/v1") == ""
    assert read_key(tmp_path, "openai", "http://evil.example/v1") == ""
    assert read_key(tmp_path, "openai") == "sk-of-openai"
    connected = LLMSettings(provider="openai_compatible", base_url="http://llm.example/v1", model="m")
    bind_keys(tmp_path, AppSettings(llm=connected))
    bind_keys(tmp_path, AppSettings(llm=connected.model_copy(update={"base_url": "http://evil.example/v1"})))
    assert read_key(tmp_path, "openai_compatible", "http://llm.example/v1") == KEY
    assert read_key(tmp_path, "openai_compatible", "http://evil.example/v1") == ""
    assert {name: stored.key for name, stored in stored_keys(tmp_path).items()} == {
        "openai_compatible": KEY,
        "openai": "sk-of-openai",
    }


def authorizations(server: ScriptedServer) -> set[str | None]:
    return {request.headers.get("authorization") for request in server.requests}


def test_answer_sends_the_key_to_its_own_server_only(tmp_path: Path) -> None:
    with ScriptedServer() as own, ScriptedServer() as other:
        library = Library(tmp_path, embedder=HashEmbedding())
        llm = LLMSettings(provider="openai_compatible", base_url=f"{own.url}/v1", model="tiny")
        library.update_settings(library.settings.with_model(llm))
        write_key(library.folder, "openai_compatible", KEY, llm.base_url)
        library.writer().generate(HELLO)
        library.update_settings(
            library.settings.with_model(llm.model_copy(update={"base_url": f"{other.url}/v1"}))
        )
        library.writer().generate(HELLO)
        library.close()
        assert f"Bearer {KEY}" in authorizations(own)
        assert authorizations(other) == {None}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirection_takes_a_key_or_a_question_elsewhere(status: int) -> None:
    with ScriptedServer() as other:
        away = Fault(status, "", headers={"Location": f"{other.url}/v1/chat/completions"})
        with ScriptedServer(always=away) as own:
            llm = LLMSettings(provider="openai_compatible", base_url=f"{own.url}/v1", model="tiny")
            report = check_connection(llm, KEY)
            assert not report.ok
            assert own.requests
        assert not other.requests


PRIVATE = [
    "10.0.0.1",
    "192.168.1.20:11434",
    "172.16.0.1",
    "169.254.169.254",
    "100.100.100.200",
    "192.0.0.192",
    "224.0.0.1",
]
PRIVATE += [
    "[fe80::1]",
    "[fd00:ec2::254]",
    "[::ffff:10.0.0.1]",
    "[64:ff9b::a00:1]",
    "[2002:a00:1::1]",
    "0xa000001",
    "167772161",
]


@pytest.mark.parametrize("provider", ["ollama", "openai_compatible", "openai"])
@pytest.mark.parametrize("host", PRIVATE)
def test_model_server_on_the_local_network_is_refused_by_default(
    host: str, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    llm = LLMSettings.model_validate({"provider": provider, "base_url": f"http://{host}/v1", "model": "m"})
    monkeypatch.delenv("LECTERN_PRIVATE_NETWORK", raising=False)
    with pytest.raises(InputError, match="this computer's network"):
        check_address(llm)
    monkeypatch.setenv("LECTERN_PRIVATE_NETWORK", "allow")
    check_address(llm)


@pytest.mark.parametrize(
    "address",
    ["", "http://localhost:11434", "http://127.0.0.1:1234/v1", "http://[::1]:8080", "http://8.8.8.8/v1"],
)
def test_this_computer_and_the_internet_may_have_one(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LECTERN_PRIVATE_NETWORK", raising=False)
    check_address(LLMSettings(provider="ollama", base_url=address, model="m"))
