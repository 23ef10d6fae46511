"""Prompts in Settings: worded anew, refused in words, said by the next answer, and taken back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from ragcore.prompts.wording import TEXT_QA
from tests.app.conftest import App, Look, settled, until
from tests.app.test_model import open_settings, settings

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

__all__ = ["settings"]

SAID = TEXT_QA.messages[1].content


@pytest.fixture
def own_wording(app: App) -> Iterator[None]:
    """What a test has worded anew is forgotten after it."""
    yield
    from ragcore.sql.sqlite import SQLiteDatabase

    database = SQLiteDatabase(app.home / "library.db")
    with database.transaction() as db:
        db.execute("DELETE FROM prompt_versions")
    database.close()


def message(page: Page) -> Locator:
    box = page.get_by_label("The message", exact=True)
    until(page, lambda: "{" in box.input_value())
    return box


def type_in(page: Page, text: str) -> None:
    message(page).fill(text)
    message(page).press("Control+Enter")
    page.locator(".st-key-prompt_buttons").get_by_text("Not saved yet").wait_for()
    settled(page)


def save(page: Page) -> None:
    page.locator(".st-key-save_prompt button").click()


def test_a_prompt_is_refused_in_words_and_saved_while_being_typed(
    settings: Page, app: App, look: Look, own_wording: None
) -> None:
    wrong = "From {kontext_str}: {query_str}"
    open_settings(settings, app.url, "prompts")
    settings.get_by_role("button", name="Answer from passages").click()
    type_in(settings, wrong)
    save(settings)
    report = settings.locator(".st-key-problem_prompt")
    report.get_by_text("{kontext_str} cannot be used here. {context_str} is missing.").wait_for()
    look(settings, "wording refused")
    until(settings, lambda: message(settings).input_value() == wrong)

    message(settings).fill(f"Think of a ZEBRA first.\n{SAID}")
    save(settings)  # pressed once, and the field is still being typed in
    versions = settings.locator(".st-key-prompt_versions")
    versions.get_by_text("versions").wait_for()
    settings.reload()
    versions.get_by_text("2 versions").click()
    settings.locator(".wording ins").get_by_text("Think of a ZEBRA first.").wait_for()
    settings.locator(".st-key-restore_text_qa_0 button").click()
    versions.get_by_text("3 versions").wait_for()
    until(settings, lambda: message(settings).input_value() == SAID)
