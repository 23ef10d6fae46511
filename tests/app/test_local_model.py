"""A language model on this computer: offered where quotes do not answer, on its way, and then asked the same
question."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lectern.local_models import CATALOGUE, models_folder
from lectern.settings import AppSettings, LLMSettings, write_settings
from tests.app.conftest import App, Look, answered, settled, until
from tests.app.test_chat import ask
from tests.loopback_hub import LoopbackHub
from tests.tiny_model import write_tiny_model

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

UNANSWERED = "Who painted the ceiling of the Sistine Chapel?"
FIRST = CATALOGUE[0]


@pytest.fixture
def hub() -> Iterator[LoopbackHub]:
    with LoopbackHub({model.file: model.size for model in CATALOGUE}) as hub:
        hub.pause = 0.05  # 1.3 MB a second
        yield hub


@pytest.fixture
def own_app(tmp_path: Path, sample: Path, hub: LoopbackHub) -> Iterator[App]:
    """The application with the sample documents, for which our hub is the hub."""
    shutil.copytree(sample, tmp_path / "library")
    short = LLMSettings(provider="llama_cpp", num_output=32)  # taken up by the first model that is used
    write_settings(tmp_path / "library", AppSettings(connected={"llama_cpp": short}))
    app = App(tmp_path / "library", environment={"HF_HUB_OFFLINE": "0", "HF_ENDPOINT": hub.url})
    app.start()
    yield app
    app.stop()
    assert "Traceback" not in app.log(), app.log()


def to_models(page: Page, app: App) -> None:
    page.goto(f"{app.url}/settings")
    page.get_by_role("heading", name="Settings").wait_for()
    settled(page)
    page.locator(".st-key-llm_provider").get_by_text("On this computer").click()
    page.get_by_text("Free memory:").wait_for()
    settled(page)


def test_a_model_is_offered_and_then_answers_the_same_question(
    page: Page, context: BrowserContext, own_app: App, hub: LoopbackHub, look: Look
) -> None:
    page.goto(f"{own_app.url}/chat")
    ask(page, UNANSWERED)
    answered(page)
    offer = page.locator(".st-key-model_offer")
    offer.get_by_role("button", name="Install a free language model (1.1 GB)").wait_for()
    look(page, "a model offered")

    offer.get_by_role("button", name="Install").click()
    offer.get_by_text("MB of 1.1 GB").or_(offer.get_by_text("KB of 1.1 GB")).wait_for()
    until(page, lambda: hub.asked)
    assert hub.asked[0][0] == f"/{FIRST.repository}/resolve/{FIRST.revision}/{FIRST.file}"
    other = context.new_page()
    to_models(other, own_app)
    row = other.locator(".st-key-local_models")
    row.get_by_text("B of 1.1 GB").wait_for()  # as far as in the other tab
    look(other, "models on this computer")
    row.get_by_role("button", name="Stop").click()
    row.get_by_text("Stopped at").wait_for()
    other.reload()
    to_models(other, own_app)
    hub.status, hub.retry_after = 429, "30"
    row.get_by_role("button", name="Resume").click()
    row.get_by_text("Try again in 30 seconds.").wait_for()
    row.get_by_role("button", name="Delete", exact=True).click()
    other.get_by_text("freed.").wait_for()
    assert list(models_folder(own_app.home).iterdir()) == []

    # its tokens are letters
    write_tiny_model(models_folder(own_app.home) / "tiny.gguf", trained_context=16_384)
    row.get_by_text("tiny.gguf").wait_for()  # by itself, on a page that was open before
    page.reload()
    offer.get_by_text("tiny.gguf is on this computer").wait_for()
    offer.get_by_role("button", name="Ask again with the model").click()
    page.locator('[class*="st-key-facts_"] a[title*="tiny"]').wait_for()
    settled(page)
    assert offer.count() == 0

    to_models(other, own_app)
    row.get_by_text("In use").wait_for()
    row.get_by_role("button", name="Delete").click()
    other.get_by_role("button", name="Delete this model").click()
    other.get_by_text("Answers quote your documents until you choose another model.").wait_for()
    assert list(models_folder(own_app.home).iterdir()) == []
