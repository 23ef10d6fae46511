"""A page that is left open asks for nothing once all it tells of is over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.app.conftest import App, drop, payload, row, settled, started, until, wait_until_read

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page, WebSocket

QUIET = 2500.0  # milliseconds, more than two of the looks that are taken every second


@pytest.fixture
def new_app(tmp_path: Path) -> Iterator[App]:
    """Just started: its search is not ready yet."""
    yield from started(tmp_path)


def test_open_page_polls_only_while_something_is_on_its_way(
    page: Page, context: BrowserContext, new_app: App
) -> None:
    asked: list[object] = []

    def listen(socket: WebSocket) -> None:
        socket.on("framesent", lambda frame: asked.append(frame))

    page.on("websocket", listen)
    page.goto(new_app.url)
    search = page.locator(".light", has_text="Search")
    search.get_by_text("getting ready").wait_for()
    search.get_by_text("ready", exact=True).wait_for(timeout=90_000)
    assert len(asked) > 1  # the looks that have brought it
    settled(page)

    def is_quiet() -> bool:
        before = len(asked)
        page.wait_for_timeout(QUIET)
        return len(asked) == before

    until(page, is_quiet, 20)

    # The end of reading is heard of even where the looks that Streamlit takes every second do not come.
    page.close()
    page = context.new_page()
    page.add_init_script("window.setInterval = () => 0;")
    page.goto(new_app.url)
    drop(page, payload("kettle.txt", b"The kettle is mended by Ada Penrose. " * 4000))
    page.locator('li.row[data-state="active"]').first.wait_for()
    wait_until_read(page, 60_000)
    assert row(page, "kettle.txt").get_attribute("data-state") == "ready"
