"""A language model: tested in plain words, connected, kept to its server, and failing in a chat."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator

import pytest

from lectern.keys import write_key
from lectern.settings import LLMSettings
from tests.screens.conftest import Screen
from tests.scripted_server import FAULTS, Fault, ScriptedServer

KEY = "sk-lectern-test-0123456789"
WRONG_KEY = "sk-wrong-key-000000000"
DOG = "May I bring a large dog?"
DOGS = {"dogs.txt": "A large dog may ride in the lower car. A small dog may ride in both cars."}


@pytest.fixture
def screen(open_screen: Callable[..., Screen]) -> Screen:
    return open_screen(DOGS).open("settings")


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(key=KEY, models=("tiny", "large"), slots=4) as server:
        yield server


def choose_provider(screen: Screen, name: str) -> None:
    screen.tab.button_group(key="llm_provider").set_value(name)
    screen.run()


def fill_in(screen: Screen, address: str, model: str, key: str = "") -> None:
    choose_provider(screen, "openai_compatible")
    type_in(screen, "llm_url", address)
    screen.type_option("llm_model", model)
    if key:
        type_in(screen, "llm_key", key)


def type_in(screen: Screen, key: str, text: str) -> None:
    screen.tab.text_input(key=key).set_value(text)
    screen.run()


def report(screen: Screen) -> str:
    """What a failed test says."""
    return screen.words("problem_report")


def connect(screen: Screen, server: ScriptedServer) -> None:
    """Connect the server, as if it had been done earlier."""
    llm = LLMSettings(provider="openai_compatible", base_url=f"{server.url}/v1", model="tiny")
    write_key(screen.home, "openai_compatible", KEY, llm.base_url)
    screen.library.update_settings(screen.library.settings.with_model(llm))


def test_the_test_button_says_in_a_sentence_what_is_wrong(screen: Screen, server: ScriptedServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        nobody = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    fill_in(screen, nobody, "tiny", WRONG_KEY)
    refused = report(screen.press("test_llm"))
    assert "127.0.0.1" in refused
    assert report(screen.press("Try again")) == refused
    type_in(screen, "llm_url", f"{server.url}/v1")
    wrong_key = report(screen.press("test_llm"))
    assert "key" in wrong_key
    type_in(screen, "llm_key", KEY)
    unknown = report(screen.type_option("llm_model", "huge").press("test_llm"))
    assert "huge" in unknown
    assert screen.tab.button_group(key="llm_offered").options == ["tiny", "large"]
    assert len({refused, wrong_key, unknown}) == 3
    assert not any(key in told for key in (WRONG_KEY, KEY) for told in (refused, wrong_key, unknown))
    assert not any(key in text for key in (WRONG_KEY, KEY) for text in screen.given_texts())
    screen.type_option("llm_model", "tiny").press("test_llm")
    assert "It works: tiny answered" in screen.words("report_ok")


def test_key_of_one_server_is_not_sent_to_another_under_test(screen: Screen, server: ScriptedServer) -> None:
    connect(screen, server)
    with ScriptedServer(models=("tiny",)) as other:
        fill_in(screen.open("settings"), f"{other.url}/v1", "tiny")
        kept = f"The saved key belongs to {server.url} and is sent nowhere else"
        assert kept in screen.words()
        assert "It works: tiny answered" in screen.press("test_llm").words("report_ok")
        assert other.requests
        assert not any("authorization" in request.headers for request in other.requests)
    fill_in(screen, "http://169.254.169.254/v1", "tiny")
    for button in ("test_llm", "save_llm"):
        assert "169.254.169.254 is in this computer's network" in report(screen.press(button))
    assert screen.library.settings.llm.base_url == f"{server.url}/v1"


def test_server_models_are_offered_and_a_single_one_is_chosen(screen: Screen, server: ScriptedServer) -> None:
    fill_in(screen, f"{server.url}/v1", "", KEY)
    assert "Press Test to see the server’s models, then choose one." in screen.words()
    assert screen.tab.button(key="save_llm").disabled
    assert "The server answers. Choose one of its models." in screen.press("test_llm").words()
    offered = screen.tab.button_group(key="llm_offered")
    offered.set_value("large")
    assert "The server answers. Save to use it." in screen.run().words()
    assert screen.tab.selectbox(key="llm_model").value == "large"
    assert not screen.tab.button(key="save_llm").disabled
    screen.tab.button_group(key="llm_offered").set_value(None)
    assert screen.run().tab.selectbox(key="llm_model").value == ""
    server.models = ("tiny",)
    assert "It works: tiny answered" in screen.press("test_llm").words()
    assert screen.tab.selectbox(key="llm_model").value == "tiny"
    assert not screen.tab.button(key="save_llm").disabled


def test_local_ollama_connects_in_three_presses(screen: Screen) -> None:
    try:
        ollama = ScriptedServer(openai=False, port=11434, models=("llama", "mistral"))
    except OSError:
        pytest.skip("something listens already where Ollama does")
    with ollama:
        choose_provider(screen, "ollama")
        screen.tab.button_group(key="llm_offered").set_value("mistral")
        assert "The server answers. Save to use it." in screen.run().words()
        screen.press("save_llm")
        assert screen.toasts() == ["Saved. The next answer uses it."]
        llm = screen.library.settings.llm
        assert (llm.provider, llm.model, llm.base_url) == ("ollama", "mistral", "")


def test_a_server_that_answered_before_is_one_press_away(screen: Screen, server: ScriptedServer) -> None:
    connect(screen, server)
    choose_provider(screen.open("settings"), "none")
    assert "Answers quote your documents word for word." in screen.words()
    screen.press("save_llm")
    assert screen.toasts() == ["Saved. The next answer uses it."]
    assert screen.library.settings.llm.provider == "none"
    choose_provider(screen, "openai_compatible")
    assert screen.tab.text_input(key="llm_url").value == f"{server.url}/v1"
    assert screen.tab.selectbox(key="llm_model").value == "tiny"
    screen.press("save_llm")
    llm = screen.library.settings.llm
    assert (llm.provider, llm.model) == ("openai_compatible", "tiny")


def test_model_parameters_are_stored(screen: Screen, server: ScriptedServer) -> None:
    fill_in(screen, f"{server.url}/v1", "tiny", KEY)
    for key, label, value in (
        ("llm_temperature", "Freedom of wording", 0.7),
        ("llm_room", "Room for the answer", 320),
    ):
        field = screen.tab.number_input(key=key)
        assert field.label.startswith(label)
        field.set_value(value)
        screen.run()
    screen.press("save_llm")
    assert screen.toasts() == ["Saved. The next answer uses it."]
    screen.open("settings")
    assert screen.tab.number_input(key="llm_temperature").value == pytest.approx(0.7)
    assert screen.tab.number_input(key="llm_room").value == 320


def test_failed_answer_says_why_and_can_run_without_a_model(screen: Screen, server: ScriptedServer) -> None:
    connect(screen, server)
    server.always = FAULTS["500"]
    screen.open("chat").ask(DOG)
    reasons = {
        "401": "does not accept the key",
        "429": "is getting too many requests",
        "context": "are longer than the model can read at once",
        "": "has no model 'tiny'",
    }
    for fault, reason in reasons.items():
        server.always = FAULTS[fault] if fault else Fault()
        server.models = server.models if fault else ("large",)
        (told,) = screen.press("Try again").groups("problem_")
        assert reason in told
        for choice in ("Try again", "Answer without a model", "Open settings"):
            assert choice in told.splitlines()
    screen.press("Answer without a model")
    assert not screen.groups("problem_")
    assert "no language model: quoting your documents" in screen.facts()
