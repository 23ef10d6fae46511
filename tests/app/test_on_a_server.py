"""The screens of a library that is kept on a PostgreSQL server: what they say of where it is, and of a server
that is away."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from lectern.access import access_token, cookie_name, cookie_value
from lectern.library import Library
from lectern.ui.server.security import ticket
from tests import postgres
from tests.app.conftest import App, settled, started
from tests.faults.test_replicas import stopped_server, until

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    yield from started(tmp_path_factory.mktemp("served"), postgres.fresh())


def test_screens_name_the_server_and_go_on_by_themselves_when_it_was_away(page: Page, served: App) -> None:
    page.goto(served.url)
    page.get_by_text("on a server").wait_for()
    assert page.get_by_text("on this computer").count() == 0
    page.goto(f"{served.url}/settings?s=privacy")
    page.get_by_text("Your documents are kept on the server named under").wait_for()
    settled(page)
    for untrue in ("searched on this computer", "nothing at all leaves this computer"):
        assert page.get_by_text(untrue).count() == 0

    page.goto(served.url)
    settled(page)
    with stopped_server():
        page.goto(f"{served.url}/query")
        page.get_by_text("does not answer").wait_for()
        page.get_by_role("button", name="Try again").wait_for()
        page.set_viewport_size({"width": 390, "height": 844})
        header = page.get_by_test_id("stHeader").bounding_box()
        notice = page.locator("[class*='st-key-problem_']").bounding_box()
        assert header is not None
        assert notice is not None
        assert notice["y"] >= header["y"] + header["height"]
    page.get_by_text("Ask one question in several ways").wait_for()
    assert page.get_by_text("does not answer").count() == 0
    assert [line for line in served.log().splitlines() if line.endswith("does not answer.")]


def test_file_sent_while_the_server_is_away_is_refused_in_words(served: App, tmp_path: Path) -> None:
    library = Library(served.database, local=tmp_path)
    cookie = f"{cookie_name(served.port)}={cookie_value(access_token(served.home))}"
    given = {"x-lectern-ticket": ticket(library.secret), "cookie": cookie}
    library.close()

    def put() -> httpx.Response:
        return httpx.put(
            f"{served.url}/api/upload?name=note.txt", headers=given, content=b"A note.", timeout=30
        )

    def refused() -> bool:
        answer = put()
        assert "does not answer" in answer.json()["what"]
        return answer.status_code == 503

    assert put().status_code == 200
    with stopped_server():
        until(refused)  # before that, it knows from just now how large a file may be
    assert list((served.home / "incoming").iterdir()) == []


def test_queued_files_are_read_after_starting_without_the_server(tmp_path: Path) -> None:
    address = postgres.fresh()
    library = Library(address, local=tmp_path / "elsewhere")
    (library.incoming / "given").write_text("The tower was built by Ada Penrose in 1871.", "utf-8")
    file = library.intake.add(library.incoming / "given", "tower.txt").file
    app = App(tmp_path / "library", address)
    try:
        with stopped_server():
            app.start()
        until(lambda: library.files.get(file.id).ready)  # type: ignore[union-attr]
    finally:
        app.stop()
        library.close()
