"""A library killed with SIGKILL at any moment of any change to it: it opens and answers, nothing that was
ready is lost or doubled, all counts agree, what was not finished goes on to its end, and nothing is left on
the disk that nobody knows.

A process without threads (`drive`) forks one that makes the change and dies over it, and another that looks
at what is left. Half of the moments are chosen: just before a statement that writes, or a step with a file
(see `_die_at`). The others come by the clock.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from lectern.jobs import index_versions, worker
from lectern.jobs.chunking import passages_of
from lectern.jobs.file_rows import Stage
from lectern.jobs.sandbox import Cancelled
from lectern.library import Library
from lectern.schema import Ask
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.llms.scripted import ScriptedLLM
from ragcore.readers.registry import read_file
from ragcore.readers.zip.archive import unpack
from ragcore.vector_stores.disk import DiskStore
from tests import postgres
from tests.lectern.jobs.libraries import add, paragraphs, small_passages, worker_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="fork and signals")

ROOT = Path(__file__).parents[2]
SIZE = 16  # tokens of a passage
BEFORE = {
    f"{word}.txt": paragraphs(count, word) for word, count in (("kettle", 45), ("barrel", 40), ("wheel", 8))
}
FILE_STEPS = frozenset(
    {"fsync", "write", "truncate", "unlink", "replace", "rename", "mkdir", "rmdir", "flush"}
)  # by the names of the C functions

Texts = dict[str, str]  # of the files, by name
Say = Callable[[str], None]


@dataclass(frozen=True)
class Change:
    """What is done to a library of `BEFORE`; the files in it afterwards. `size`: of its passages
    afterwards."""

    name: str
    make: Callable[[Library, Say], None]
    after: Texts
    size: int = SIZE


def work(library: Library) -> None:
    at_work = worker_of(library)
    try:
        while at_work.run_once() or at_work.rebuild_once():
            pass
    finally:
        at_work._threads.shutdown()


def _add_and_say(library: Library, name: str, text: str, say: Say) -> None:
    add(library, text, name)
    say(name)


def _ingest(library: Library, say: Say) -> None:
    _add_and_say(library, "crane.txt", INGESTED["crane.txt"], say)
    pack = library.incoming / "pack"
    with zipfile.ZipFile(pack, "w") as archive:
        for name in ("lamp.txt", "rope.txt"):
            archive.writestr(zipfile.ZipInfo(name), INGESTED[name])
    library.intake.add(pack, "pack.zip")
    say("lamp.txt")
    say("rope.txt")
    work(library)


def _replace(library: Library, say: Say) -> None:
    _add_and_say(library, "barrel.txt", REPLACED["barrel.txt"], say)
    work(library)


def _delete(library: Library, say: Say) -> None:
    for file in library.files.all():
        if file.name == "barrel.txt":
            library.delete_file(file.id)
    say("barrel.txt")


def _compact(library: Library, say: Say) -> None:
    assert isinstance(library.store.current, DiskStore)
    library.store.current.compact()


def _rebuild(library: Library, say: Say) -> None:
    library.rebuilds.start(chunk_size=2 * SIZE)
    say("rebuild")
    work(library)


INGESTED = {
    "crane.txt": paragraphs(70, "crane"),
    "lamp.txt": paragraphs(9, "lamp"),
    "rope.txt": paragraphs(7, "rope"),
}
REPLACED = {"barrel.txt": paragraphs(20, "barrel") + "\n\n" + paragraphs(45, "wagon")}
CHANGES = [
    Change("ingest", _ingest, BEFORE | INGESTED),
    Change("replace", _replace, BEFORE | REPLACED),
    Change("delete", _delete, {name: text for name, text in BEFORE.items() if name != "barrel.txt"}),
    Change("compact", _compact, BEFORE),
    Change("rebuild", _rebuild, BEFORE, 2 * SIZE),
]


@pytest.mark.parametrize(("rounds", "least"), [(2, 14), pytest.param(26, 200, marks=pytest.mark.nightly)])
def test_library_killed_at_any_moment_loses_and_doubles_nothing(
    tmp_path: Path, rounds: int, least: int
) -> None:
    _driven(tmp_path, seed=20, rounds=rounds, least=least)


@pytest.mark.parametrize(("rounds", "least"), [(1, 3), pytest.param(3, 12, marks=pytest.mark.nightly)])
def test_server_library_with_a_killed_client_loses_nothing(tmp_path: Path, rounds: int, least: int) -> None:
    _driven(tmp_path, seed=21, rounds=rounds, least=least, address=postgres.fresh())


def _driven(folder: Path, *, seed: int, rounds: int, least: int, address: str = "") -> None:
    """`drive` in a process of its own, as forking wants one without threads."""
    given = f"{str(folder)!r}, {seed}, {rounds}, {least}, {address!r}"
    program = f"from tests.faults.test_kill_anywhere import drive; drive({given})"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"seed {seed}:\n{done.stdout}{done.stderr}"
    print(done.stdout)


# --- the process that forks ---------------------------------------------------------------------------------


def drive(folder: str, seed: int, rounds: int, least: int, address: str = "") -> None:
    """Kill every change at `rounds` chosen moments and at as many by the clock, and check what is left each
    time. Of those that are no rebuild, at least so many must have been killed, and not have come to their end
    before."""
    place = Path(folder)
    template = place / "template"
    index_versions.IN_USE_SECONDS = -1.0  # old indexes are dropped at once
    in_this_process()
    killing = Killing(place / "library", template, address)
    killing.warm_up()
    chance, killed = random.Random(seed), 0
    for change in CHANGES:
        if address and change.name == "compact":
            continue  # the server's own affair
        killing.renew()
        took, steps = killing.measured(change)
        moments = [*sorted(chance.sample(range(1, steps + 1), min(rounds, steps)))]
        began = time.monotonic()
        at_steps = sum(killing.check(change, at, None) for at in moments)
        by_clock = tried = 0
        within = took
        while by_clock < rounds and tried < 4 * rounds:
            if killing.check(change, None, chance.uniform(0.0, within)):
                by_clock += 1
            else:  # it takes less than when it was measured
                within *= 0.9
            tried += 1
        seconds = time.monotonic() - began
        print(
            f"{change.name}: killed at {at_steps} of {steps} steps, {by_clock} moments of {took:.2f} s, "
            f"in {seconds:.1f} s"
        )
        killed += (at_steps + by_clock) * (change.name != "rebuild")
    if killed < least:
        raise SystemExit(f"only {killed} were killed in the middle of it")


class Killing:
    """Of one library again and again. In a folder it is a copy of a template each time, on a server it is set
    right."""

    def __init__(self, folder: Path, template: Path, address: str) -> None:
        self.folder = folder
        self.template = template
        self.address = address
        self._built = False

    def renew(self) -> None:
        if self.address or not self._built:
            with self.opened(self.template) as library:
                _set_right(library)
            self._built = True
        if not self.address:
            shutil.rmtree(self.folder, ignore_errors=True)
            shutil.copytree(self.template, self.folder)

    def warm_up(self) -> None:
        """Import here what the forked would import each."""
        self.renew()
        self._look(CHANGES[0], set())

    def measured(self, change: Change) -> tuple[float, int]:
        """The seconds that the change takes, and its steps; it is made once for each."""
        began = time.monotonic()
        assert _forked(lambda say: self._make(change, say))[0] == 0
        took = time.monotonic() - began
        self.renew()
        read, write = os.pipe()
        status, _ = _forked(lambda say: self._make(change, say, steps=write))
        os.close(write)
        with os.fdopen(read) as steps:
            assert status == 0
            count = int(steps.read())
        self.renew()
        return took, count

    def check(self, change: Change, at: int | None, after: float | None) -> bool:
        """Whether it was killed, at this step or after so many seconds, and did not end before."""
        ended, said = _forked(lambda say: self._make(change, say, at=at), kill_after=after)
        assert ended in (0, -signal.SIGKILL), ended
        status, _ = _forked(lambda say: self._look(change, set(said)))
        if status:
            raise SystemExit(
                f"after {change.name} was killed at step {at} or after {after} seconds, with {said} said"
            )
        self.renew()
        return ended == -signal.SIGKILL

    @contextmanager
    def opened(self, folder: Path | None = None) -> Iterator[Library]:
        folder = folder or self.folder
        llm = ScriptedLLM(lambda call: "It is known. [1]")
        library = Library(self.address or folder, embedder=HashEmbedding(), llm=llm, local=folder)
        yield library
        library.close()

    def _make(self, change: Change, say: Say, at: int = 0, steps: int | None = None) -> None:
        with self.opened() as library:
            counted = _die_at(at or 0, library)
            change.make(library, say)
            if steps is not None:
                os.write(steps, str(counted()).encode())
            sys.setprofile(None)

    def _look(self, change: Change, said: set[str]) -> None:
        with self.opened() as library:
            is_sound(library)
            answers(library)
            with library.database.transaction() as db:  # whoever signed is known to be gone
                db.execute("UPDATE files SET heartbeat = 0")
                db.execute("UPDATE index_versions SET heartbeat = 0 WHERE state = 'building'")
            worker.tidy(library.files, library.store)
            work(library)
            texts, size = is_sound(library)
            for name in BEFORE.keys() | change.after.keys():
                allowed = (
                    {change.after.get(name)} if name in said else {BEFORE.get(name), change.after.get(name)}
                )
                assert texts.get(name) in allowed, name
            assert texts.keys() <= BEFORE.keys() | change.after.keys()
            assert size == change.size if "rebuild" in said else size in (SIZE, change.size)
            change.make(library, lambda name: None)  # once more, as a person would
            refused = [file for file in library.files.all() if file.stage is not Stage.READY]
            nothing_new = change.name == "ingest" and {"lamp.txt", "rope.txt"} <= texts.keys()
            assert [file.name for file in refused] == (["pack.zip"] if nothing_new else [])
            for file in refused:
                library.delete_file(file.id)
        with self.opened() as library:
            worker.tidy(library.files, library.store)
            assert is_sound(library) == (change.after, change.size)
            _holds_nothing_else(library)


def _forked(work: Callable[[Say], None], kill_after: float | None = None) -> tuple[int, list[str]]:
    """The exit status of a process that does this, and what it has said."""
    assert threading.active_count() == 1
    read, write = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(read)
        try:
            work(lambda word: _say(write, word))
        except BaseException:  # noqa: BLE001 - told by its status
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    os.close(write)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(process, signal.SIGKILL)
    with os.fdopen(read) as said:
        words = said.read().split()
    _, status = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status), words


def _say(pipe: int, word: str) -> None:
    os.write(pipe, f"{word}\n".encode())


def _die_at(step: int, library: Library) -> Callable[[], int]:
    """Have this process killed just before its step of this number, from 1; gives what counts them."""
    count = 0

    def next_step() -> None:
        nonlocal count
        count += 1
        if count == step:
            os.kill(os.getpid(), signal.SIGKILL)

    def called(frame: FrameType, event: str, argument: Any) -> None:
        if event == "c_call" and argument.__name__ in FILE_STEPS:
            next_step()

    def stated(statement: str) -> None:
        if not statement.startswith(("SELECT", "PRAGMA", "--")):
            next_step()

    sys.setprofile(called)
    if not library.shared:
        library.database.connection().set_trace_callback(stated)  # type: ignore[union-attr]
    return lambda: count


def in_this_process() -> None:
    """Have files read here. A process for it would take most of the time; test_worker_faults.py kills workers
    that have one."""
    worker.read_isolated = _here(read_file)
    worker.unpack_isolated = _here(unpack)


def _here(work: Callable[..., Any]) -> Callable[..., Any]:
    def done(*given: object, cancelled: Callable[[], bool], **_: object) -> Any:
        if cancelled():
            raise Cancelled
        return work(*given)

    return done


# --- what must be true --------------------------------------------------------------------------------------


def _set_right(library: Library) -> None:
    """The library of `BEFORE`, whatever was there; in a folder with a gap among the vectors."""
    small_passages(library)
    for file in library.files.all():
        if file.name not in BEFORE or library.store.document(file.id).text != BEFORE[file.name]:
            library.delete_file(file.id)
    gap = add(library, paragraphs(12, "gap"), "gap.txt")
    for name, text in BEFORE.items():
        add(library, text, name)
    work(library)
    settings = library.store.versions.settings()
    if settings is not None and (settings.chunk_size, settings.chunk_overlap) != (SIZE, 0):
        library.rebuilds.start(chunk_size=SIZE)
        work(library)
    library.files.remove(gap.id)
    library.store.version(library.store.versions.current().name).delete(gap.id)
    assert is_sound(library) == (BEFORE, SIZE)


def is_sound(library: Library) -> tuple[Texts, int]:
    """That all passages are those of their documents, with their vectors and words, and all counts agree.

    Gives the texts of the documents, and the size of their passages.
    """
    store, embedder = library.store, library.embedder
    size = library.rebuilds.current_settings().chunk_size
    texts: Texts = {}
    files = {file.id: file for file in library.files.all()}
    assert len({file.name for file in files.values()}) == len(files)
    stored = store.documents()
    having_the_word = [(hit.node.ref_doc_id, hit.node.id_) for hit in store.keyword_search("paragraph", 1000)]
    assert len({document.id_ for document in stored}) == len(stored)
    for row in stored:
        document = store.document(row.id_)
        name = files[row.id_].name  # there is no document without its file
        texts[name] = document.text
        nodes = store.nodes(store.passage_ids(row.id_))
        assert [node.text for node in nodes] == [node.text for node in passages_of(document, size, 0)]
        assert row.passages == len(nodes)
        rows = embedder.embed_passages([node.text for node in nodes])
        np.testing.assert_allclose([node.embedding for node in nodes], rows, atol=1e-6)
        hit = store.search(rows[-1], 1)[0]
        assert hit.score == pytest.approx(1.0, abs=1e-5)
        assert sorted(id_ for owner, id_ in having_the_word if owner == row.id_) == sorted(
            node.id_ for node in nodes
        )
    for file in files.values():
        if file.stage is Stage.READY:
            assert file.passages == len(store.passage_ids(file.id))
            assert hashlib.sha256(texts[file.name].encode()).hexdigest() == file.hash
            assert library.files.location(file).read_bytes().decode() == texts[file.name]
    total = sum(row.passages for row in stored)
    assert total == len(store) == len(store.candidates().ids) == len(having_the_word)
    if isinstance(store.current, DiskStore):
        assert store.current.verify() == []
        _tables_agree(library, total)
    return texts, size


def _tables_agree(library: Library, total: int) -> None:
    """The passages of the current index: in the tables, in the words, and in the file of vectors."""
    name = library.store.versions.current().name
    with library.database.snapshot() as db:
        index = db.execute(
            "SELECT id, passages, slots, dimension, file FROM indexes WHERE name = ?", (name,)
        ).fetchone()
        passages = (
            "SELECT count(*) FROM passages p JOIN documents d ON d.seq = p.document WHERE d.index_id = ?"
        )
        assert db.execute(passages, (index["id"],)).fetchone()[0] == index["passages"] == total
        words = "SELECT sum(living) FROM keyword_segments WHERE index_id = ?"
        assert db.execute(words, (index["id"],)).fetchone()[0] == total
        gaps = "SELECT coalesce(sum(slots), 0) FROM gaps WHERE index_id = ?"
        assert index["slots"] - db.execute(gaps, (index["id"],)).fetchone()[0] == total
        size = (library.folder / "vectors" / index["file"]).stat().st_size
        assert size >= 4 * index["slots"] * index["dimension"]  # what is beyond was not committed
        assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []


def answers(library: Library) -> None:
    answer = library.answer(Ask("What is told of kettle number 3?", chat_mode=None))
    assert answer.response == "It is known. [1]"
    assert answer.source_nodes[0].node.metadata["file_name"] == "kettle.txt"


def _holds_nothing_else(library: Library) -> None:
    """No drafts of what is finished, nothing of what waits, no index but the current one, no file that nobody
    names."""
    current = library.store.versions.current().name
    with library.database.snapshot() as db:
        for column in ("owner FROM drafts", "file_id FROM links"):
            assert db.execute(f"SELECT {column}").fetchall() == []
        assert [row["name"] for row in db.execute("SELECT name FROM indexes")] == [current]
        assert {row["name"] for row in db.execute("SELECT name FROM index_versions")} <= {current}
        for table in ("passages", "texts"):
            strays = f"SELECT count(*) FROM {table} WHERE document NOT IN (SELECT seq FROM documents)"
            assert db.execute(strays).fetchone()[0] == 0
    files = library.files.all()
    if library.shared:
        with library.database.snapshot() as db:
            paths = {row["path"] for row in db.execute("SELECT path FROM file_chunks WHERE file_id != ''")}
        assert paths == {file.path for file in files}
        return
    held = {
        str(path.relative_to(library.folder))
        for path in (library.folder / "files").rglob("*")
        if path.is_file()
    }
    assert held == {file.path for file in files}
    assert {path.name for path in (library.folder / "files").iterdir()} == {file.id for file in files}
    with library.database.snapshot() as db:
        named = {row["file"] for row in db.execute("SELECT file FROM indexes")}
    assert {path.name for path in (library.folder / "vectors").iterdir()} == named
