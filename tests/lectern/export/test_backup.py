"""A library in one file: what goes in comes out, on the same machine or another, and nothing there is
replaced."""

from __future__ import annotations

import json
import os
import shutil
import sys
import unicodedata
import zipfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from lectern.explain.source_view import view_source
from lectern.export.backup import Copied, write_copy
from lectern.export.restore import read_copy
from lectern.library import Library
from lectern.runs.answer_runs import AnswerRuns
from lectern.schema import Ask
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import DamagedFileError, StoreError, UnreadableFileError
from tests import postgres
from tests.lectern.jobs.libraries import disk_bytes
from tests.lectern.test_library import CELLAR, TOWER, finished, take_in, worker_of
from tests.making import make_pdf

if TYPE_CHECKING:
    from lectern.jobs.file_rows import FileRow
    from lectern.jobs.files import Added
    from ragcore.schema import Vectors


class Counting(HashEmbedding):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.texts += texts
        return super().embed_passages(texts)


@pytest.fixture
def open_library(tmp_path: Path) -> Iterator[Callable[[str], Library]]:
    opened: list[Library] = []

    def open_it(name: str) -> Library:
        opened.append(Library(tmp_path / name, embedder=Counting()))
        return opened[-1]

    yield open_it
    for library in opened:
        library.close()


@pytest.fixture
def full(open_library: Callable[[str], Library]) -> Library:
    library = open_library("full")
    take_in(library, TOWER, "tower.txt")
    take_in(library, CELLAR, "cellar.txt")
    finished(library, AnswerRuns(library), Ask("Who built the tower?", chat_mode=None))
    return library


def work(library: Library) -> None:
    while worker_of(library).run_once():
        pass


def contents(library: Library) -> dict[str, list[tuple[str, bytes]]]:
    """By file name, the texts and vectors of its passages."""
    found = {}
    for file in library.files.all():
        nodes = library.store.nodes(library.store.passage_ids(file.id))
        found[file.name] = [
            (node.text, node.embedding.tobytes()) for node in nodes if node.embedding is not None
        ]
    return found


def vectors_in(copy: Path) -> set[str]:
    with zipfile.ZipFile(copy) as packed:
        return {name.removeprefix("vectors/") for name in packed.namelist() if name.startswith("vectors/")}


@pytest.mark.smoke
def test_imported_copy_has_all_content_without_embedding(
    full: Library, open_library: Callable[[str], Library], tmp_path: Path
) -> None:
    assert write_copy(full, tmp_path / "copy.lectern") == Copied(files=2, conversations=1)
    other = open_library("other")
    assert read_copy(other, tmp_path / "copy.lectern") == Copied(files=2, conversations=1)
    work(other)
    assert contents(other) == contents(full)
    assert len(contents(full)["tower.txt"]) > 0
    assert isinstance(other.embedder, Counting)
    assert other.embedder.texts == []
    (there,), (here,) = (list(library.conversations.dump()) for library in (full, other))
    assert [message["text"] for message in here["messages"]] == [
        message["text"] for message in there["messages"]
    ]
    answer = other.conversations.messages(here["id"])[1]
    assert view_source(other, answer.sources[0]).marked == answer.sources[0].text


def cut(library: Library, **changes: object) -> None:
    ingest = library.settings.ingest.model_copy(update=changes)
    library.update_settings(library.settings.model_copy(update={"ingest": ingest}))


def how_cut(library: Library) -> tuple[int, int, str]:
    ingest = library.settings.ingest
    return ingest.chunk_size, ingest.chunk_overlap, ingest.splitter


def test_empty_library_takes_over_the_chunking_of_a_copy(
    open_library: Callable[[str], Library], tmp_path: Path
) -> None:
    library, empty, other = open_library("full"), open_library("empty"), open_library("other")
    cut(library, chunk_size=24, chunk_overlap=4, splitter="token")
    take_in(library, TOWER * 5, "tower.txt")
    cut(library, chunk_size=500)  # for files to come, and not what the passages are made with
    write_copy(library, tmp_path / "copy.lectern")
    take_in(other, CELLAR, "cellar.txt")
    for into in (empty, other):
        read_copy(into, tmp_path / "copy.lectern")
        work(into)
    assert isinstance(empty.embedder, Counting)
    assert (how_cut(empty), empty.embedder.texts) == ((24, 4, "token"), [])
    assert contents(empty) == contents(library)
    assert how_cut(other) == (200, 0, "sentence")


def without_how_it_was_cut(about: dict[str, object]) -> None:
    del about["passages"]


def cut_in_no_way(about: dict[str, object]) -> None:
    about["passages"] = {"chunk_size": 0, "chunk_overlap": 0, "splitter": "sentence"}


def cut_by_nothing(about: dict[str, object]) -> None:
    about["passages"] = {"chunk_size": 50, "chunk_overlap": 0, "splitter": "nothing"}


def cut_for_ever(about: dict[str, object]) -> None:
    about["passages"] = {"chunk_size": 50, "chunk_overlap": 50, "splitter": "sentence"}


@pytest.mark.parametrize(
    ("edit", "whole"),
    [
        (without_how_it_was_cut, True),
        (cut_in_no_way, False),
        (cut_by_nothing, False),
        (cut_for_ever, False),
    ],
)
def test_copy_may_omit_its_chunking_but_not_give_nonsense(
    full: Library,
    open_library: Callable[[str], Library],
    tmp_path: Path,
    edit: Callable[[dict[str, object]], None],
    *,
    whole: bool,
) -> None:
    write_copy(full, tmp_path / "copy.lectern")
    with (
        zipfile.ZipFile(tmp_path / "copy.lectern") as copy,
        zipfile.ZipFile(tmp_path / "edited.lectern", "w") as edited,
    ):
        for name in copy.namelist():
            data = copy.read(name)
            if name == "library.json":
                about = json.loads(data)
                edit(about)
                data = json.dumps(about).encode()
            edited.writestr(name, data)
    other = open_library("other")
    with nullcontext() if whole else pytest.raises(DamagedFileError):
        read_copy(other, tmp_path / "edited.lectern")
    assert len(other.files.all()) == (2 if whole else 0)
    assert how_cut(other) == (200, 0, "sentence")


def test_what_is_there_is_neither_doubled_nor_replaced(full: Library, tmp_path: Path) -> None:
    write_copy(full, tmp_path / "copy.lectern")
    take_in(full, "The cellar was emptied.", "cellar.txt")
    before = contents(full)
    assert read_copy(full, tmp_path / "copy.lectern") == Copied(files=1, conversations=0, known=1)
    work(full)
    after = contents(full)
    assert {name: after[name] for name in before} == before
    assert [text for text, _ in after["cellar (2).txt"]] == [CELLAR]
    assert read_copy(full, tmp_path / "copy.lectern") == Copied(files=0, conversations=0, known=2)


def test_a_file_that_could_not_be_read_is_not_replaced_either(
    open_library: Callable[[str], Library], tmp_path: Path
) -> None:
    there, here = open_library("there"), open_library("here")
    locked = make_pdf(
        tmp_path / "locked.pdf", ["The vault is below the tower."], password="sesame"
    ).read_bytes()
    for library, data in ((there, b"%PDF-1.4 torn"), (here, locked)):
        (library.incoming / "given").write_bytes(data)
        library.intake.add(library.incoming / "given", "vault.pdf")
        work(library)
    write_copy(there, tmp_path / "copy.lectern")
    for _ in range(2):  # what it holds is not doubled by the second time
        read_copy(here, tmp_path / "copy.lectern")
        work(here)
        kept = {file.name: here.files.location(file).read_bytes() for file in here.files.all()}
        assert kept == {"vault.pdf": locked, "vault (2).pdf": b"%PDF-1.4 torn"}


def test_file_is_not_replaced_by_a_decomposed_accent_namesake(
    open_library: Callable[[str], Library], tmp_path: Path
) -> None:
    there, here = open_library("there"), open_library("here")
    file = take_in(there, "It is wet.", "März.txt")
    with there.database.transaction() as db:  # as a library kept it before
        db.execute(
            "UPDATE files SET name = ? WHERE id = ?", (unicodedata.normalize("NFD", file.name), file.id)
        )
    take_in(here, "It is dry.", "März.txt")
    write_copy(there, tmp_path / "copy.lectern")
    read_copy(here, tmp_path / "copy.lectern")
    work(here)
    assert {name: [text for text, _ in texts] for name, texts in contents(here).items()} == {
        "März.txt": ["It is dry."], "März (2).txt": ["It is wet."],
    }  # fmt: skip


def test_file_read_before_vectors_came_gets_no_vectors(
    full: Library, open_library: Callable[[str], Library], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_copy(full, tmp_path / "copy.lectern")
    other = open_library("other")
    add = other.intake.add

    def read_at_once(source: Path, name: str, *, origin: str = "", keep_both: bool = False) -> Added:
        added = add(source, name, origin=origin, keep_both=keep_both)
        work(other)
        return added

    monkeypatch.setattr(other.intake, "add", read_at_once)
    read_copy(other, tmp_path / "copy.lectern")
    with other.database.snapshot() as db:
        assert db.execute("SELECT count(*) FROM drafts").fetchone()[0] == 0
    assert contents(other) == contents(full)


def test_file_keeps_its_address_unless_another_has_it(
    full: Library, open_library: Callable[[str], Library], tmp_path: Path
) -> None:
    link = "https://example.org/attic"

    def fetched(library: Library, text: str) -> Added:
        source = library.incoming / "attic"
        source.write_text(text, "utf-8")
        return library.intake.add(source, "attic.txt", origin=link)

    fetched(full, "The attic is new.")
    write_copy(full, tmp_path / "copy.lectern")
    empty, other = open_library("empty"), open_library("other")
    read_copy(empty, tmp_path / "copy.lectern")
    assert {file.name: file.origin for file in empty.files.all()} == {
        "attic.txt": link,
        "tower.txt": "",
        "cellar.txt": "",
    }
    assert fetched(empty, "The attic is old.").outcome == "replaced"
    fetched(other, "The attic is sold.")
    read_copy(other, tmp_path / "copy.lectern")
    assert {file.name: file.origin for file in other.files.all()} == {
        "attic.txt": link, "attic (2).txt": "", "tower.txt": "", "cellar.txt": "",
    }  # fmt: skip


def test_file_added_during_an_import_is_not_replaced(
    open_library: Callable[[str], Library], tmp_path: Path
) -> None:
    """By name, or by where it is from."""
    library, other = open_library("full"), open_library("other")
    link = "https://example.org/tower"

    def give(into: Library, text: str, name: str, origin: str) -> None:
        (into.incoming / "given").write_text(text, "utf-8")
        into.intake.add(into.incoming / "given", name, origin=origin)

    give(library, TOWER, "tower.txt", link)
    give(library, CELLAR, "cellar.txt", "")
    write_copy(library, tmp_path / "copy.lectern")

    def meanwhile(fraction: float) -> None:
        if not fraction:
            give(other, "Another tower.", "the tower.txt", link)
            give(other, "Another cellar.", "cellar.txt", "")

    read_copy(other, tmp_path / "copy.lectern", on_progress=meanwhile)
    there = {
        file.name: (other.files.location(file).read_text("utf-8"), file.origin) for file in other.files.all()
    }
    assert there == {
        "tower.txt": (TOWER, ""),
        "the tower.txt": ("Another tower.", link),
        "cellar (2).txt": (CELLAR, ""),
        "cellar.txt": ("Another cellar.", ""),
    }


def test_file_over_the_limit_fails_and_the_others_go_on(
    full: Library, open_library: Callable[[str], Library], tmp_path: Path
) -> None:
    take_in(full, "The attic is new. " * 60_000, "attic.txt")
    write_copy(full, tmp_path / "copy.lectern")
    other = open_library("other")
    ingest = other.settings.ingest.model_copy(update={"max_file_mb": 1})
    other.update_settings(other.settings.model_copy(update={"ingest": ingest}))
    assert read_copy(other, tmp_path / "copy.lectern") == Copied(files=2, conversations=1)
    (attic,) = [file for file in other.files.all() if file.name == "attic.txt"]
    assert attic.problem is not None
    assert "the limit is 1 MB" in attic.problem.what
    assert list(other.incoming.iterdir()) == []


@pytest.mark.parametrize(
    ("copied", "told"),
    [
        (Copied(1, 1), "1 file and 1 conversation added."),
        (Copied(1200, 0, 1), "1,200 files and 0 conversations added. 1 file was already in your library."),
        (Copied(0, 2, 2), "0 files and 2 conversations added. 2 files were already in your library."),
    ],
)
def test_restored_parts_are_reported_in_words(copied: Copied, told: str) -> None:
    assert copied.taken_in == told


@pytest.mark.skipif(sys.platform == "win32", reason="modes")
def test_only_the_owner_may_read_a_copy_even_a_replacing_one(full: Library, tmp_path: Path) -> None:
    target = tmp_path / "copy.lectern"
    target.write_text("an older one")
    target.chmod(0o644)
    modes: set[int] = set()
    write_copy(
        full,
        target,
        lambda _done: modes.update(path.stat().st_mode & 0o777 for path in tmp_path.glob("*.part")),
    )
    assert modes == {0o600}
    assert target.stat().st_mode & 0o777 == 0o600


def test_keys_and_passwords_stay_at_home(full: Library, tmp_path: Path) -> None:
    from lectern.keys import write_key

    write_key(full.folder, "openai", "sk-very-secret-key")
    full.files.queue.stop(full.files.all()[0].id)
    with full.database.transaction() as db:
        db.execute("UPDATE files SET password = 'hunter2'")
    write_copy(full, tmp_path / "copy.lectern")
    with zipfile.ZipFile(tmp_path / "copy.lectern") as copy:
        everything = b"".join(copy.read(name) for name in copy.namelist())
    assert b"sk-very-secret-key" not in everything
    assert b"hunter2" not in everything


def test_a_copy_is_of_one_moment_while_others_write(
    full: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Library(full.folder, embedder=HashEmbedding())
    location = full.files.location

    def late(file: object) -> Path:  # another process writes after the first file was copied
        if not (tmp_path / "written").exists():
            (tmp_path / "written").touch()
            take_in(other, "The attic is new.", "attic.txt")
            other.conversations.begin(other.conversations.create().id, Ask("What is new?"))
        return location(file)  # type: ignore[arg-type]

    monkeypatch.setattr(full.files, "location", late)
    assert write_copy(full, tmp_path / "copy.lectern") == Copied(files=2, conversations=1)
    assert {file.name for file in full.files.all()} == {"tower.txt", "cellar.txt", "attic.txt"}
    other.close()


def test_a_copy_of_a_library_on_a_server_is_of_one_moment_too(tmp_path: Path) -> None:
    where = postgres.fresh()
    library, other = (
        Library(where, embedder=HashEmbedding(), local=tmp_path / name) for name in ("one", "other")
    )
    tower, _ = take_in(library, TOWER, "tower.txt"), take_in(library, CELLAR, "cellar.txt")

    def write(fraction: float) -> None:
        if not fraction:  # before the first file
            take_in(other, "The attic is new.", "attic.txt")
            take_in(other, "The tower has fallen.", "tower.txt")
            other.conversations.begin(other.conversations.create().id, Ask("What is new?"))

    assert write_copy(library, tmp_path / "copy.lectern", write) == Copied(files=2, conversations=0)
    with zipfile.ZipFile(tmp_path / "copy.lectern") as copy:
        assert copy.read(f"bytes/{tower.id}").decode() == TOWER
    assert len(library.files.all()) == 3
    library.close()
    other.close()


def test_copy_names_its_embedder_although_the_index_is_replaced(tmp_path: Path) -> None:
    class Named(HashEmbedding):
        @property
        def name(self) -> str:
            return "of its moment"

    library, other = (Library(tmp_path / "full", embedder=Named()) for _ in range(2))
    take_in(library, TOWER, "tower.txt")

    def switch(fraction: float) -> None:
        other.store.versions.remember(chunk_size=200, chunk_overlap=0)
        with other.database.transaction() as db:
            db.execute("UPDATE index_versions SET embed_model = 'hashing'")

    write_copy(library, tmp_path / "copy.lectern", switch)
    assert library.embedder.name != "of its moment"
    with zipfile.ZipFile(tmp_path / "copy.lectern") as copy:
        assert json.loads(copy.read("library.json"))["embedder"] == "of its moment"
    library.close()
    other.close()


def test_file_copied_after_an_embedder_change_has_no_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Named(HashEmbedding):
        @property
        def name(self) -> str:
            return "of its moment"

    library, other = (Library(tmp_path / "full", embedder=Named()) for _ in range(2))
    tower, cellar = take_in(library, TOWER, "tower.txt"), take_in(library, CELLAR, "cellar.txt")
    location, asked = library.files.location, list[str]()

    def away_at_first(file: FileRow) -> Path:
        asked.append(file.id)
        if asked.count(file.id) == 1:
            raise FileNotFoundError
        return location(file)

    monkeypatch.setattr(library.files, "location", away_at_first)
    write_copy(library, tmp_path / "same.lectern")

    def switch(fraction: float) -> None:
        other.store.versions.remember(chunk_size=200, chunk_overlap=0)
        with other.database.transaction() as db:
            db.execute("UPDATE index_versions SET embed_model = 'hashing'")

    asked.clear()
    write_copy(library, tmp_path / "switched.lectern", switch)
    assert vectors_in(tmp_path / "same.lectern") == {tower.id, cellar.id}
    assert vectors_in(tmp_path / "switched.lectern") == set()
    library.close()
    other.close()


def test_copy_succeeds_while_files_are_deleted_and_replaced(
    full: Library, open_library: Callable[[str], Library], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = take_in(full, "gone text.", "gone.txt")
    take_in(full, "changed text.", "changed.txt")
    given, location = tmp_path / "given", full.files.location

    def acting(file: FileRow) -> Path:
        if not given.exists():
            given.touch()
            with ThreadPoolExecutor(1) as other:  # who does not see this thread's moment
                other.submit(full.delete_file, gone.id).result()
                changed = full.incoming / "changed"
                changed.write_text("changed again.", "utf-8")
                other.submit(full.intake.add, changed, "changed.txt").result()
                other.submit(work, full).result()
        return location(file)

    monkeypatch.setattr(full.files, "location", acting)
    assert write_copy(full, tmp_path / "copy.lectern").files == 3
    other = open_library("other")
    read_copy(other, tmp_path / "copy.lectern")
    work(other)
    assert {file.name for file in other.files.all()} == {"tower.txt", "cellar.txt", "changed.txt"}
    assert contents(other)["changed.txt"][0][0] == "changed again."


def test_a_backup_is_written_despite_damaged_vectors(
    full: Library, open_library: Callable[[str], Library], tmp_path: Path
) -> None:
    whole = contents(full)
    next((full.folder / "vectors").glob("*.f32")).unlink()
    full.store.close()
    write_copy(full, tmp_path / "copy.lectern")
    other = open_library("other")
    read_copy(other, tmp_path / "copy.lectern")
    work(other)
    assert contents(other) == whole


def test_truncated_copy_or_another_version_is_refused_in_words(full: Library, tmp_path: Path) -> None:
    write_copy(full, tmp_path / "copy.lectern")
    whole = (tmp_path / "copy.lectern").read_bytes()
    cut = tmp_path / "cut.lectern"
    cut.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DamagedFileError, match=r"cut\.lectern is not a complete copy of a library"):
        read_copy(full, cut)
    newer = tmp_path / "newer.lectern"
    with zipfile.ZipFile(newer, "w") as copy:
        copy.writestr("library.json", json.dumps({"form": 2, "embedder": ""}))
    with pytest.raises(UnreadableFileError, match="made by a newer version of Lectern"):
        read_copy(full, newer)
    assert len(full.files.all()) == 2


def test_a_flipped_bit_is_detected_and_nothing_is_added(
    full: Library, open_library: Callable[[str], Library], tmp_path: Path
) -> None:
    write_copy(full, tmp_path / "copy.lectern")
    data = bytearray((tmp_path / "copy.lectern").read_bytes())
    with zipfile.ZipFile(tmp_path / "copy.lectern") as copy:
        second = [info for info in copy.infolist() if info.filename.startswith("bytes/")][1]
    data[second.header_offset + 30 + len(second.filename) + 20 + 8] ^= 1
    (tmp_path / "flipped.lectern").write_bytes(data)
    other = open_library("other")
    with pytest.raises(DamagedFileError):
        read_copy(other, tmp_path / "flipped.lectern")
    assert other.files.all() == other.conversations.all() == list(other.incoming.iterdir()) == []


@pytest.mark.parametrize("which", ["", "library.json", "conversations.jsonl", "bytes/", "vectors/"])
def test_copy_repacked_with_a_password_is_refused_in_words(
    full: Library, open_library: Callable[[str], Library], tmp_path: Path, which: str
) -> None:
    write_copy(full, tmp_path / "all.lectern")
    locked = bytearray((tmp_path / "all.lectern").read_bytes())
    for sign, flags, named in ((b"PK\3\4", 6, 30), (b"PK\1\2", 8, 46)):
        at = -1
        while (at := locked.find(sign, at + 1)) >= 0:
            if locked[at + named :].startswith(which.encode()):
                locked[at + flags] |= 1
    (tmp_path / "locked.lectern").write_bytes(locked)
    with pytest.raises(DamagedFileError, match=r"locked\.lectern is not a complete copy of a library"):
        read_copy(open_library("other"), tmp_path / "locked.lectern")


def test_import_without_room_is_reported_and_leaves_no_part(
    full: Library, open_library: Callable[[str], Library], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_copy(full, tmp_path / "all.lectern")
    other = open_library("other")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=3))
    with pytest.raises(StoreError, match=r"not enough space on the disk for what all\.lectern contains"):
        read_copy(other, tmp_path / "all.lectern")
    assert other.files.all() == list(other.incoming.iterdir()) == []


def test_files_deleted_during_a_copy_free_their_room_afterwards(
    open_library: Callable[[str], Library], tmp_path: Path
) -> None:
    library, other = open_library("full"), open_library("full")
    take_in(library, TOWER, "tower.txt")
    small = disk_bytes(library.folder)
    big = take_in(library, "\n\n".join(os.urandom(300).hex(" ", 4) for _ in range(1000)), "big.txt")
    large = disk_bytes(library.folder)

    def delete(fraction: float) -> None:
        if not fraction:  # before the first file
            other.delete_file(big.id)

    assert write_copy(library, tmp_path / "copy.lectern", delete).files == 1
    assert disk_bytes(library.folder) < small + 0.2 * (large - small)


def test_unwritable_copy_is_reported_and_the_old_one_stays(full: Library, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be written"):
        write_copy(full, tmp_path / "nowhere" / "copy.lectern")
    write_copy(full, tmp_path / "copy.lectern")
    before = (tmp_path / "copy.lectern").read_bytes()
    file = full.files.all()[0]
    full.files.location(file).unlink()
    with pytest.raises(StoreError):
        write_copy(full, tmp_path / "copy.lectern")
    assert (tmp_path / "copy.lectern").read_bytes() == before
    assert list(tmp_path.glob("*.part")) == []
