"""A long conversation opens at its end; what was said before comes when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lectern.db.conversations import SCHEMA, Conversations
from lectern.schema import Ask
from ragcore.sql.sqlite import SQLiteDatabase
from tests.app.conftest import App, settled

if TYPE_CHECKING:
    from playwright.sync_api import Page

TURNS = 13


def test_earlier_messages_are_drawn_on_request(page: Page, app: App) -> None:
    kept = Conversations(SQLiteDatabase(app.home / "library.db", SCHEMA))
    talk = kept.create()
    for turn in range(TURNS):
        answer = kept.begin(talk.id, Ask(f"Question {turn}?"))
        kept.write(answer.id, text=f"Answer {turn}.", state="done")
    page.goto(f"{app.url}/chat?c={talk.id}")
    page.get_by_text(f"Answer {TURNS - 1}.").wait_for()
    settled(page)
    said = page.get_by_test_id("stChatMessageContent")
    assert said.all_inner_texts()[0].strip() == f"Question {TURNS - 10}?"
    assert said.count() == 20
    page.get_by_role("button", name=f"Show earlier messages ({2 * TURNS - 20})").click()
    said.get_by_text("Question 0?", exact=True).wait_for()
    settled(page)
    assert said.all_inner_texts()[0].strip() == "Question 0?"
    assert said.count() == 2 * TURNS
    assert page.get_by_role("button", name="Show earlier messages").count() == 0
    kept.delete(talk.id)
