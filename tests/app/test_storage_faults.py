"""What the screens say of a disk that is full and of a library that is damaged."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lectern.access import access_token
from lectern.settings import AppSettings, LLMSettings, write_settings
from tests.app.conftest import App, answered
from tests.app.test_chat import ask
from tests.faults.test_full_disk import ALONE, disks_can_be_made
from tests.scripted_server import ScriptedServer

if TYPE_CHECKING:
    from playwright.sync_api import Page

QUESTION = "How long is the line of the Cliff Railway?"
ANSWER = "The line is 240 metres long."
ON_A_DISK = 'mount -t tmpfs -o size=64m none "$1" && cp -a "$2/." "$1" && shift 2 && exec "$@"'


@pytest.fixture
def waiting_server() -> Iterator[tuple[ScriptedServer, threading.Event]]:
    """A language model that answers when it is told to."""
    told = threading.Event()

    def reply(messages: object) -> str:
        told.wait(60)
        return ANSWER

    with ScriptedServer(reply) as server:
        yield server, told
        told.set()


def fill_disk(ballast: Path) -> None:
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(b"\0" * 4096)


@pytest.mark.skipif(not disks_can_be_made(), reason="a small disk cannot be mounted here")
def test_answer_on_a_full_disk_is_marked_unsaved_until_saved(
    page: Page, sample: Path, tmp_path: Path, waiting_server: tuple[ScriptedServer, threading.Event]
) -> None:
    server, told = waiting_server
    disk, home = tmp_path / "disk", tmp_path / "library"
    disk.mkdir()
    shutil.copytree(sample, home)
    access_token(home)
    llm = LLMSettings(provider="openai_compatible", base_url=f"{server.url}/v1", model="tiny")
    write_settings(home, AppSettings(llm=llm))
    within = [*ALONE, "sh", "-c", ON_A_DISK, "sh", str(disk), str(home)]
    app = App(home, environment={"LECTERN_HOME": str(disk)}, within=within)
    app.start()
    try:
        assert app.process is not None
        ballast = Path(f"/proc/{app.process.pid}/root{disk}") / "ballast"
        page.goto(f"{app.url}/chat")
        ask(page, QUESTION)
        page.get_by_role("button", name="Stop").wait_for()
        fill_disk(ballast)
        told.set()
        unsaved = page.get_by_text("This answer is not saved yet")
        unsaved.wait_for()
        page.get_by_text(ANSWER).wait_for()
        page.reload()
        unsaved.wait_for()
        page.get_by_text(ANSWER).wait_for()
        ballast.unlink()
        unsaved.wait_for(state="detached")
        page.reload()
        page.get_by_text(ANSWER).wait_for()
        answered(page)
        assert unsaved.count() == 0
    finally:
        app.stop()
