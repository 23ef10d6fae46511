"""A disk that takes nothing more, as it is full or may only be read: the library opens and answers from it,
nothing that was ready is lost, what could not be done says why, and is done once there is room."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest

from lectern.export.backup import write_copy
from lectern.jobs import index_versions
from lectern.jobs.file_rows import Stage
from lectern.jobs.sources import from_file, from_text
from lectern.library import Library
from lectern.runs.answer_runs import AnswerRuns
from lectern.schema import Ask
from lectern.ui import resources
from lectern.ui.source_downloads import SourceDownloads
from ragcore.errors import RagError, StoreError
from ragcore.llms.scripted import ScriptedLLM
from ragcore.sql.sqlite import NoRoomError
from tests.faults.test_broken_uploads import PART, REST, uploaded
from tests.faults.test_kill_anywhere import (
    BEFORE,
    CHANGES,
    SIZE,
    Change,
    Killing,
    answers,
    in_this_process,
    is_sound,
    work,
)

ROOT = Path(__file__).parents[2]
DISK_MB = 4
ROOM = [0, 128, 256, 384]  # kilobytes
ALONE = ["unshare", "--map-root-user", "--mount"]  # with mounts that nobody else sees


@cache
def disks_can_be_made() -> bool:
    if sys.platform != "linux":
        return False
    try:
        return (
            subprocess.run([*ALONE, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode
            == 0
        )
    except FileNotFoundError:
        return False


pytestmark = pytest.mark.skipif(not disks_can_be_made(), reason="a small disk cannot be mounted here")


@pytest.fixture(scope="module")
def alone() -> Iterator[subprocess.Popen[str]]:
    """A process with mounts that nobody else sees, which has imported what all tests need: see `serve`."""
    command = [
        *ALONE,
        sys.executable,
        "-c",
        "from tests.faults import test_full_disk; test_full_disk.serve()",
    ]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


OnADisk = Callable[[Callable[[Path], None]], None]


@pytest.fixture
def on_a_disk(alone: subprocess.Popen[str], tmp_path: Path) -> OnADisk:
    """Calls a function of this file with the folder of a small disk of its own."""

    def call(function: Callable[[Path], None]) -> None:
        assert alone.stdin is not None
        assert alone.stdout is not None
        log = tmp_path / "log"
        print(json.dumps([function.__name__, str(tmp_path / "disk"), str(log)]), file=alone.stdin, flush=True)
        assert alone.stdout.readline() == "0\n", log.read_text("utf-8")

    return call


def serve() -> None:
    """Call each function in a process of its own, forked before this one has any threads, and answer with its
    exit status."""
    for line in sys.stdin:
        name, disk, log = json.loads(line)
        if process := os.fork():
            _, status = os.waitpid(process, 0)
            print(os.waitstatus_to_exitcode(status), flush=True)
            continue
        with Path(log).open("wb") as output:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
        try:
            Path(disk).mkdir()
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "none", disk], check=True)
            globals()[name](Path(disk))
            os._exit(0)
        except BaseException:  # noqa: BLE001 - told by its status
            traceback.print_exc()
            os._exit(1)


def test_full_disk_loses_nothing_and_work_resumes_with_room(on_a_disk: OnADisk) -> None:
    on_a_disk(fill_it_up)


def test_read_only_disk_answers_and_says_why_it_stores_nothing(on_a_disk: OnADisk) -> None:
    on_a_disk(only_read_it)


def test_text_pasted_on_a_full_disk_is_reported_lost(on_a_disk: OnADisk) -> None:
    on_a_disk(paste_into_it)


def test_an_upload_to_a_full_disk_says_so(on_a_disk: OnADisk) -> None:
    on_a_disk(upload_to_it)


def test_adding_a_file_on_a_full_disk_says_so_in_a_sentence(on_a_disk: OnADisk) -> None:
    on_a_disk(add_to_it)


def add_to_it(disk: Path) -> None:
    source = disk / "large.txt"
    source.write_bytes(bytes(500_000))
    with full_but_for(disk, 100_000), pytest.raises(NoRoomError, match="not enough space on the disk"):
        from_file(source, disk)
    assert [path.name for path in disk.iterdir()] == ["large.txt"]


def _talk(library: Library, say: Callable[[str], None]) -> None:
    library.conversations.begin(library.conversations.create().id, Ask("What is new?" * 500))


def _set(library: Library, say: Callable[[str], None]) -> None:
    settings = library.settings
    answers = settings.answers.model_copy(update={"top_k": 7})
    library.update_settings(settings.model_copy(update={"answers": answers}))


def _copy(library: Library, say: Callable[[str], None]) -> None:
    write_copy(library, library.folder / "copy.lectern")
    (library.folder / "copy.lectern").unlink()


OTHERS = [Change(make.__name__, make, BEFORE) for make in (_talk, _set, _copy)]


def fill_it_up(disk: Path) -> None:
    index_versions.IN_USE_SECONDS = -1.0
    in_this_process()
    refused = set()
    library_of = Killing(disk / "library", disk / "template", "")
    for change in [*CHANGES, *OTHERS]:
        for room in ROOM:
            library_of.renew()
            with full_but_for(disk, room * 1000), library_of.opened() as library:
                try:
                    change.make(library, lambda word: None)
                except RagError:
                    refused.add(change.name)
                except OSError:
                    # what is given could not even be written
                    if change.name not in ("ingest", "replace") or room > 0:
                        raise
                answers(library)
                texts, _ = is_sound(library)
                for file in library.files.all():
                    if file.stage is Stage.FAILED:
                        refused.add(change.name)
                        assert file.problem is not None
                        assert "not enough space" in file.problem.what or "No space" in file.problem.what
                assert all(
                    texts[name] in (BEFORE[name], change.after[name])
                    for name in BEFORE.keys() & change.after.keys()
                )
            with library_of.opened() as library:
                for file in library.files.all():
                    library.files.queue.retry(file.id)
                with library.database.transaction() as db:
                    # of workers that could not even write that they end
                    for table in ("files", "index_versions"):
                        db.execute(f"UPDATE {table} SET heartbeat = 0")
                work(library)
                change.make(library, lambda word: None)
                assert is_sound(library) == (change.after, change.size), f"{change.name} with {room} kB left"
    assert refused == {change.name for change in [*CHANGES, *OTHERS]}


@contextmanager
def full_but_for(disk: Path, room: int) -> Iterator[None]:
    state = os.statvfs(disk)
    filler = disk / "filler"
    filler.write_bytes(bytes(max(state.f_bavail * state.f_frsize - room, 0)))
    yield
    filler.unlink()


def test_answer_ending_on_a_full_disk_is_visible_and_saved_later(on_a_disk: OnADisk) -> None:
    on_a_disk(answer_on_it)


def answer_on_it(disk: Path) -> None:
    """The disk fills up while the model speaks."""
    library_of, filled = Killing(disk / "library", disk / "template", ""), ExitStack()
    in_this_process()
    library_of.renew()

    def speak(call: object) -> str:
        filled.enter_context(full_but_for(disk, 0))
        return "It was lit at dusk. " * 2000

    with library_of.opened() as library:
        library._given_llm = ScriptedLLM(speak)
        conversations = library.conversations
        conversation = conversations.create()
        run = AnswerRuns(library).start(conversation.id, Ask("What is new?"))
        assert run.wait(120)
        shown = conversations.messages(conversation.id)[-1]
        assert (shown.text, shown.state, shown.saved) == (run.text, "done", False)
        assert len(shown.text) > 20_000
        assert shown.sources
        filled.close()
        deadline = time.monotonic() + 30
        while not conversations.messages(conversation.id)[-1].saved:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert conversations.message(run.message_id) == replace(shown, saved=True)
    with library_of.opened() as library:
        assert library.conversations.message(run.message_id) == replace(shown, saved=True)


def upload_to_it(disk: Path) -> None:
    library_of = Killing(disk / "library", disk / "template", "")
    library_of.renew()
    with library_of.opened() as library:
        ticket = library.secret  # which the screen that sends it has made
    with full_but_for(disk, 4096), library_of.opened() as library:  # for the bytes, and not for their row
        resources.get_index = lambda _index: SimpleNamespace(library=library)  # type: ignore[assignment]
        assert library.secret == ticket
        answer = uploaded(library, PART, REST)
    told = json.loads(bytes(answer.body))
    assert (
        answer.status_code,
        "not enough space on the disk" in told["what"],
        "Free some space" in told["hint"],
    ) == (
        422,
        True,
        True,
    )
    with library_of.opened() as library:
        assert is_sound(library) == (BEFORE, SIZE)
        assert list(library.incoming.iterdir()) == []


def paste_into_it(disk: Path) -> None:
    library_of = Killing(disk / "library", disk / "template", "")
    library_of.renew()
    with full_but_for(disk, 0), library_of.opened() as library:
        downloads = SourceDownloads(library)
        downloads.start("Notes", lambda: from_text("It is new.", "Notes", library.incoming))
        downloads.end()
        (problem,) = downloads.take_problems()
        assert downloads.take_problems() == []
    assert problem.what == "Notes could not be saved."
    assert "has space" in problem.hint


def only_read_it(disk: Path) -> None:
    library_of = Killing(disk / "library", disk / "template", "")
    in_this_process()
    library_of.renew()
    with library_of.opened() as library:
        assert library.secret
    given = [disk / f"given{number}" for number in range(2)]
    for path in given:
        path.write_text("It is new.", "utf-8")
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    with library_of.opened() as library:
        answers(library)
        assert is_sound(library) == (BEFORE, SIZE)
        library.worker.start()
        assert library.secret
        with pytest.raises(StoreError, match="written"):
            library.intake.add(given[0], "new.txt")
        with pytest.raises(StoreError, match="written"):
            library.intake.add(given[1], "barrel.txt")
        for change in [*CHANGES[2:], *OTHERS]:
            with pytest.raises(StoreError) as caught:
                change.make(library, lambda word: None)
            assert "written" in caught.value.what
            assert caught.value.hint
        answers(library)
