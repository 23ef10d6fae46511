"""A page that is left open asks for nothing once all it tells of is over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.app.conftest import App, drop, payload, settled, started, until, wait_until_read
from tests.app.test_documents import state

if TYPE_CHECKING:
    from playwright.sync_api import Page, WebSocket

QUIET = 2500.0  # milliseconds, more than two of the looks that are taken every second


@pytest.fixture(scope="module")
def empty_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """Just started: its search is not ready yet."""
    yield from started(tmp_path_factory.mktemp("just-started"))


def test_status_lights_poll_until_search_is_ready_only(page: Page, empty_app: App) -> None:
    asked: list[object] = []

    def listen(socket: WebSocket) -> None:
        socket.on("framesent", lambda frame: asked.append(frame))

    page.on("websocket", listen)
    page.goto(empty_app.url)
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


def test_reading_progress_is_requested_when_updates_stop(page: Page, empty_app: App) -> None:
    page.add_init_script("window.setInterval = () => 0;")  # with which Streamlit looks every second
    page.goto(empty_app.url)
    drop(page, payload("kettle.txt", b"The kettle is mended by Ada Penrose. " * 4000))
    page.locator('li.row[data-state="active"]').first.wait_for()
    wait_until_read(page, 60_000)
    assert state(page, "kettle.txt") == "ready"
