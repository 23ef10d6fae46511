"""A dropped copy of a library says what it contains, and waits for a yes."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from lectern.export.backup import write_copy
from lectern.library import Library
from ragcore.embeddings.hashing import HashEmbedding
from tests.app.conftest import App, drop, settled, until

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page


def test_prompts_of_a_dropped_copy_wait_for_a_tick(page: Page, empty_app: App, tmp_path: Path) -> None:
    copy = tmp_path / "gift.lectern"
    with closing(Library(tmp_path / "theirs", embedder=HashEmbedding())) as theirs:
        theirs.prompts.save("generation", ("Be rude. {query_str}",))
        theirs.notes.keep("Rusk, 1894.", [])
        write_copy(theirs, copy)
    page.goto(empty_app.url)
    for ticked in (False, True):
        drop(page, copy)
        offered = page.locator('[class*="st-key-offered_"]')
        offered.get_by_text("1 edited prompt").wait_for()
        tick = offered.get_by_role("checkbox", name="Also use its prompts")
        assert not tick.is_checked()
        if ticked:
            offered.get_by_text("Also use its prompts").click()
        settled(page)
        offered.get_by_role("button", name="Add to this index").click()
        offered.wait_for(state="detached")
        page.get_by_text("0 files and 0 conversations added.").first.wait_for()
        with closing(Library(empty_app.home, embedder=HashEmbedding())) as mine:
            if ticked:  # the words of the first time may still be there
                until(page, lambda: "generation" in mine.prompts.current())
            assert len(mine.notes) == 1
            assert ("generation" in mine.prompts.current()) == ticked
    drop(page, copy)
    offered = page.locator('[class*="st-key-offered_"]')
    offered.get_by_role("button", name="Cancel").click()
    offered.wait_for(state="detached")
    assert list((empty_app.home / "incoming").iterdir()) == []


def test_a_copy_that_cannot_be_added_says_why(page: Page, empty_app: App, tmp_path: Path) -> None:
    copy = tmp_path / "gift.lectern"
    with closing(Library(tmp_path / "theirs", embedder=HashEmbedding())) as theirs:
        theirs.notes.keep("A note.", [])
        write_copy(theirs, copy)
    page.goto(empty_app.url)
    drop(page, copy)
    offered = page.locator('[class*="st-key-offered_"]')
    offered.get_by_text("1 note").wait_for()
    (waiting,) = (empty_app.home / "incoming").iterdir()
    waiting.write_bytes(b"no copy any more")
    settled(page)
    offered.get_by_role("button", name="Add to this index").click()
    problem = page.locator(".st-key-problem_home")
    problem.get_by_text("gift.lectern").wait_for()
    problem.get_by_role("button", name="Dismiss").click()
    problem.wait_for(state="detached")
