"""The language models on this computer: downloaded, used and deleted from the settings, and offered below
quotes."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from lectern.library import Library
from lectern.local_models import CatalogueModel, create_models_folder, models_folder
from lectern.model_download import ModelDownloads
from lectern.schema import AnswerFacts, Ask, Message
from lectern.settings import LLMSettings
from lectern.ui import resources
from lectern.ui.widgets.model_offer import answer_for_offer
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.extractive.fixed_replies import NO_MODEL
from ragcore.schema import Outcome
from tests.loopback_hub import LoopbackHub
from tests.tiny_model import write_tiny_model


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    monkeypatch.delenv("LECTERN_MODEL", raising=False)
    library = Library(tmp_path / "library", embedder=HashEmbedding())
    monkeypatch.setattr(resources, "library", lambda: library)
    yield library
    library.close()


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[LoopbackHub]:
    with LoopbackHub({"tiny.gguf": write_tiny_model(tmp_path / "published.gguf").read_bytes()}) as hub:
        yield hub


@pytest.fixture
def downloads(library: Library, hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch) -> ModelDownloads:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    content = hub.files["tiny.gguf"]
    assert isinstance(content, bytes)
    published = hashlib.sha256(content).hexdigest()
    tiny = CatalogueModel(
        "Tiny", "maker/tiny", "a1", "tiny.gguf", len(content), published, "MIT", "https://x/y", 1, 1
    )
    huge = CatalogueModel(
        "Huge", "maker/huge", "b2", "huge.gguf", 10**15, published, "MIT", "https://x/y", 29, 1
    )
    downloads = ModelDownloads(models_folder(library.folder), (huge, tiny), endpoint=hub.url)
    monkeypatch.setattr(resources, "model_downloads", lambda: downloads)
    return downloads


def screen() -> None:
    import streamlit as st

    from lectern.ui.state import session
    from lectern.ui.widgets.settings_model import model_settings

    st.session_state.unsaved = model_settings()
    st.session_state.told = session().notice


def opened() -> AppTest:
    page = AppTest.from_function(screen, default_timeout=60).run()
    page.button_group(key="llm_provider").set_value("llama_cpp").run()
    assert not page.exception
    return page


def words(page: AppTest) -> str:
    assert not page.exception
    return "\n".join(str(each.value) for each in [*page.markdown, *page.caption]).replace("\\", "")


def press(page: AppTest, key: str) -> None:
    page.button(key=key).click().run()
    assert not page.exception


def ended(downloads: ModelDownloads) -> None:
    deadline = time.monotonic() + 20
    while downloads.current is not None:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_model_is_downloaded_used_and_deleted(library: Library, downloads: ModelDownloads) -> None:
    page = opened()
    assert page.session_state["unsaved"] is False
    press(page, "get_tiny.gguf")
    ended(downloads)
    page.run()
    press(page, "use_tiny.gguf")
    assert library.settings.llm == LLMSettings(provider="llama_cpp", model="tiny.gguf")
    assert page.session_state["unsaved"] is False
    assert "In use" in words(page)
    size = (models_folder(library.folder) / "tiny.gguf").stat().st_size
    press(page, "sure_tiny.gguf")
    assert library.settings.llm.provider == "none"
    assert library.settings.connected == {}
    told = page.session_state["told"]
    assert told.startswith(f"Deleted; {size / 1000:.0f}\N{NO-BREAK SPACE}KB freed.")
    assert told.endswith("Answers quote your documents until you choose another model.")
    assert list(models_folder(library.folder).iterdir()) == []


def test_the_folder_for_own_models_exists_where_it_is_named(
    library: Library, downloads: ModelDownloads
) -> None:
    folder = models_folder(library.folder)
    assert not folder.exists()
    assert str(folder) in words(opened())
    assert folder.is_dir()
    folder.rmdir()
    folder.write_text("not a folder", "utf-8")
    assert create_models_folder(library.folder) is None


def test_number_of_calls_and_time_in_memory_can_be_set(library: Library, downloads: ModelDownloads) -> None:
    library.update_settings(library.settings.with_model(LLMSettings(provider="llama_cpp", model="tiny.gguf")))
    page = opened()
    assert page.number_input(key="llm_calls").value is None
    page.number_input(key="llm_calls").set_value(2)
    page.number_input(key="llm_idle").set_value(45.0).run()
    press(page, "save_llm")
    assert (library.settings.llm.calls_at_once, library.settings.llm.idle_minutes) == (2, 45.0)
    assert page.session_state["unsaved"] is False


def test_a_model_that_does_not_fit_comes_last_and_says_so(downloads: ModelDownloads) -> None:
    page = opened()
    shown = words(page)
    assert shown.index("**Tiny**") < shown.index("**Huge**")
    assert ":orange[needs 1,000,000.3\N{NO-BREAK SPACE}GB of memory, more than is free]" in shown
    press(page, "get_huge.gguf")
    assert "There is not enough space on the disk" in words(page)


def test_refusal_of_the_hub_offers_to_try_again(downloads: ModelDownloads, hub: LoopbackHub) -> None:
    hub.status = 404
    page = opened()
    press(page, "get_tiny.gguf")
    ended(downloads)
    page.run()
    assert "**Tiny is no longer at 127.0.0.1.**" in words(page)
    hub.status = 200
    press(page, "download_tiny.gguf_again")
    ended(downloads)
    page.run()
    assert page.button(key="use_tiny.gguf")


def test_a_stopped_download_can_go_on_or_be_deleted(library: Library, downloads: ModelDownloads) -> None:
    models_folder(library.folder).mkdir()
    part = models_folder(library.folder) / "tiny.gguf.incomplete"
    part.write_bytes(bytes(5000))
    page = opened()
    assert "Stopped at 5\N{NO-BREAK SPACE}KB of" in words(page)
    assert page.button(key="get_tiny.gguf").label == "Resume"
    press(page, "discard_tiny.gguf")
    assert not part.exists()
    assert page.button(key="get_tiny.gguf").label == "Download"


def test_a_file_that_is_no_model_cannot_be_used(library: Library, downloads: ModelDownloads) -> None:
    models_folder(library.folder).mkdir()
    (models_folder(library.folder) / "letter.gguf").write_bytes(b"Dear Sir")
    page = opened()
    assert "The file letter.gguf is not a language model in GGUF format, or is incomplete." in words(page)
    assert "use_letter.gguf" not in [button.key for button in page.button]


def answer(
    id_: str, text: str, outcome: Outcome = "answer", *, extractive: bool = True, mode: str = "context"
) -> Message:
    facts = AnswerFacts("compact", "Compact", 1, 0.1, 1, 1, extractive=extractive, outcome=outcome)
    return Message(id_, "talk", "assistant", text, "done", 0.0, Ask("When?", mode), facts)


def test_model_is_offered_once_below_the_first_unsure_answer(library: Library) -> None:
    messages = [
        answer("quote", "On Monday. [1]"),
        answer("b", "Am Montag. [1]", "closest"),
        answer("a", NO_MODEL["en"], mode="simple"),
    ]
    assert answer_for_offer(messages) is messages[1]
    assert answer_for_offer([answer("c", "Any words.", mode="simple")]) is not None
    assert answer_for_offer([answer("e", NO_MODEL["en"])]) is None
    assert answer_for_offer([answer("nothing", "On Monday. [1]", "nothing")]) is None
    assert answer_for_offer([answer("d", "On Monday. [1]", "closest", extractive=False)]) is None


def test_nothing_is_offered_where_a_model_answers(library: Library) -> None:
    library.update_settings(library.settings.with_model(LLMSettings(provider="ollama", model="llama3")))
    assert answer_for_offer([answer("a", NO_MODEL["en"], mode="simple")]) is None


@pytest.mark.parametrize("files", [("a-1.gguf", "A_1.gguf"), ("模型.gguf", "数据.gguf")])
@pytest.mark.usefixtures("downloads")
def test_files_with_names_that_are_alike_have_a_row_each(library: Library, files: tuple[str, ...]) -> None:
    models_folder(library.folder).mkdir()
    for file in files:
        write_tiny_model(models_folder(library.folder) / file)
    assert {f"use_{file}" for file in files} <= {button.key for button in opened().button}
