"""The table of files: what is taken in, under which names, and what is told of it."""

from __future__ import annotations

import errno
import os
import threading
import unicodedata
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from lectern.jobs.file_rows import ACTIVE, Stage
from lectern.jobs.files import Added, Files
from lectern.settings import IngestSettings
from ragcore.errors import DamagedFileError, EmptyFileError, EncryptedFileError, TooLargeError
from ragcore.sql.sqlite import SQLiteDatabase
from tests.lectern.jobs.libraries import given


def test_counts_names_and_first_rows_agree_with_all_rows(files: Files, tmp_path: Path) -> None:
    stages = [
        Stage.READY,
        Stage.FAILED,
        Stage.QUEUED,
        Stage.EMBEDDING,
        Stage.READY,
        Stage.STOPPED,
        Stage.READY,
    ]
    for number, stage in enumerate(stages):
        (tmp_path / "given").write_text(f"text {number}", "utf-8")
        id_ = files.add(tmp_path / "given", f"{number}.txt").file.id
        with files.transaction() as db:
            db.execute("UPDATE files SET stage = ? WHERE id = ?", (stage.value, id_))
    rows = files.all()
    assert [row.name for row in rows] == [f"{number}.txt" for number in (6, 5, 4, 3, 2, 1, 0)]
    assert files.all(limit=3) == rows[:3]
    assert files.all(*ACTIVE) == [row for row in rows if row.active]
    assert files.all(*ACTIVE, limit=1) == [row for row in rows if row.active][:1]
    assert files.tally() == Counter(row.stage for row in rows)
    assert list(files.ready_names().items()) == [(row.id, row.name) for row in rows if row.ready]


def test_a_file_is_moved_into_the_library_and_waits(files: Files, tmp_path: Path) -> None:
    source = given(tmp_path)
    added = files.add(source, "notes.txt")
    assert added.outcome == "added"
    assert not source.exists()
    assert files.location(added.file).read_text("utf-8") == "hello"
    assert (added.file.stage, added.file.kind, added.file.size) == (Stage.QUEUED, "TXT", 5)


def test_the_same_bytes_under_any_name_are_a_duplicate(files: Files, tmp_path: Path) -> None:
    first = files.add(given(tmp_path), "notes.txt").file
    again = files.add(given(tmp_path), "copy.txt")
    assert (again.outcome, again.file.id) == ("duplicate", first.id)
    assert len(files.all()) == 1


@pytest.mark.parametrize("origin", ["", "https://example.org/"])
def test_file_that_becomes_a_duplicate_is_replaced_not_merged(
    files: Files, tmp_path: Path, origin: str
) -> None:
    def give(text: str, name: str) -> tuple[str, str]:
        added = files.add(given(tmp_path, text), name, origin=origin and origin + name)
        return added.outcome, added.file.id

    a, b = give("one", "a.txt")[1], give("two", "b.txt")[1]
    assert give("one", "b.txt") == ("replaced", b)
    assert give("two", "a.txt") == ("replaced", a)
    assert give("one", "b.txt") == ("duplicate", b)
    assert give("two", "b.txt") == ("replaced", b)
    assert give("two", "b.txt") == ("duplicate", b)
    assert give("two", "c.txt")[0] == "duplicate"
    assert {file.name: files.location(file).read_text("utf-8") for file in files.all()} == {
        "a.txt": "two",
        "b.txt": "two",
    }


def test_bytes_of_two_names_stay_if_one_is_replaced(files: Files, tmp_path: Path) -> None:
    def give(text: str, name: str, origin: str = "") -> str:
        return files.add(given(tmp_path, text), name, origin=origin).outcome

    def kept() -> dict[str, str]:
        return {file.name: files.location(file).read_text("utf-8") for file in files.all()}

    places = [("a.txt", ""), ("b.txt", ""), ("c.txt", ""), ("a.txt", "/folder/a.txt")]
    assert [give("one", *place) for place in places] == ["added", *["duplicate"] * 3]
    (first,) = files.all()
    files.queue.claim("w")
    files.claimed.finish(first.id, "w", passages=3, pages=0)
    assert give("two", "b.txt") == "added"
    assert kept() == {"a.txt": "one", "b.txt": "two"}
    assert give("two", "a.txt") == "replaced"
    assert (files.get(first.id).name, files.get(first.id).passages) == ("a.txt", 3)  # type: ignore[union-attr]
    assert kept() == {"a.txt": "two", "b.txt": "two", "a (2).txt": "one"}
    assert {file.stage for file in files.all()} == {Stage.QUEUED}
    assert give("three", "a.txt", "/folder/a.txt") == "replaced"
    assert kept() == {"a.txt": "two", "b.txt": "two", "a (2).txt": "three", "c.txt": "one"}
    for file in files.all():
        files.queue.claim("w")
        files.claimed.finish(file.id, "w", passages=1, pages=0)
    assert kept() == {"a.txt": "two", "b.txt": "two", "a (2).txt": "three", "c.txt": "one"}
    assert give("four", "c.txt") == "replaced"
    assert len(kept()) == 4


def test_copy_of_the_library_renames_none_of_its_files(files: Files, tmp_path: Path) -> None:
    for text, name, beside in (
        ("two", "a.txt", False),
        ("two", "a (2).txt", True),
        ("three", "a.txt", False),
    ):
        files.add(given(tmp_path, "one"), "a.txt")
        files.add(given(tmp_path, text), name, origin="/folder/a.txt", keep_both=beside)
    kept = {file.name: files.location(file).read_text("utf-8") for file in files.all()}
    assert kept == {"a.txt": "one", "a (2).txt": "three"}


def test_of_a_file_that_is_deleted_no_other_name_is_remembered(files: Files, tmp_path: Path) -> None:
    first = files.add(given(tmp_path, "one"), "a.txt").file
    files.add(given(tmp_path, "one"), "b.txt")
    files.remove(first.id)
    for text in ("one", "two"):
        files.add(given(tmp_path, text), "a.txt")
    assert [file.name for file in files.all()] == ["a.txt"]
    with files.database.snapshot() as db:
        assert db.execute("SELECT count(*) FROM other_names").fetchone()[0] == 0


@pytest.mark.parametrize("gone", ["the bytes", "links between files"])
def test_bytes_are_copied_if_they_cannot_be_linked(
    in_folder: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gone: str
) -> None:
    def not_here(source: object, target: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    first = in_folder.add(given(tmp_path, "one"), "a.txt").file
    for name in ("b.txt", "c.txt"):
        in_folder.add(given(tmp_path, "one"), name)
    if gone == "the bytes":
        in_folder.location(first).unlink()
    else:
        monkeypatch.setattr(os, "link", not_here)
    for text in ("two", "three"):
        assert in_folder.add(given(tmp_path, text), "a.txt").outcome == "replaced"
    kept = {file.name: in_folder.location(file).read_text("utf-8") for file in in_folder.all()}
    assert kept == {"a.txt": "three"} | ({} if gone == "the bytes" else {"b.txt": "one"})


def test_a_file_that_was_refused_may_be_there_under_another_name(files: Files, tmp_path: Path) -> None:
    there = files.add(given(tmp_path), "notes.txt").file
    files.refuse("copy.txt", 5, EmptyFileError("copy.txt is empty."))
    assert files.add(given(tmp_path), "copy.txt") == Added(there, "duplicate", "copy.txt")


def test_refused_version_does_not_block_the_next(files: Files, tmp_path: Path) -> None:
    there = files.add(given(tmp_path, "old"), "notes.txt").file
    files.refuse("notes.txt", 5, EmptyFileError("notes.txt is empty."))
    files.queue.claim("w")
    files.claimed.finish(there.id, "w", passages=1, pages=0)
    assert files.add(given(tmp_path, "new"), "notes.txt").file.id == there.id


def test_new_bytes_replace_the_file_and_old_ones_go_when_ready(files: Files, tmp_path: Path) -> None:
    first = files.add(given(tmp_path, "old"), "notes.txt").file
    files.queue.claim("w")
    files.claimed.finish(first.id, "w", passages=1, pages=0)
    second = files.add(given(tmp_path, "new"), "notes.txt")
    assert (second.outcome, second.file.id, second.file.stage) == ("replaced", first.id, Stage.QUEUED)
    assert files.location(first).read_text("utf-8") == "old"
    files.queue.claim("w")
    assert files.claimed.finish(first.id, "w", passages=1, pages=0)
    assert not files.location(first).exists()
    assert files.location(second.file).read_text("utf-8") == "new"


def test_empty_and_oversized_files_are_refused_without_a_trace(files: Files, tmp_path: Path) -> None:
    with pytest.raises(EmptyFileError, match=r"void\.txt"):
        files.add(given(tmp_path, ""), "void.txt")
    with pytest.raises(TooLargeError, match="limit is 1 MB"):
        files.add(given(tmp_path, "x" * 1_000_001), "big.txt", IngestSettings(max_file_mb=1))
    assert files.all() == []
    assert list(tmp_path.glob("given-*")) == []


@pytest.mark.parametrize("name", ["log.txt", "notes.md", "app.log", "query.sql", "README"])
def test_text_over_the_limit_is_refused_when_it_is_added(files: Files, tmp_path: Path, name: str) -> None:
    ingest = IngestSettings(max_text_mb=1)
    with pytest.raises(TooLargeError, match=f"{name} has more than 1 MB of text, the limit") as refused:
        files.add(given(tmp_path, "x" * 1_000_001), name, ingest)
    assert refused.value.hint == (
        "Split it into several files, or raise the limit in Settings. Then add it again."
    )
    assert files.all() == []
    assert list(tmp_path.glob("given-*")) == []
    assert files.add(given(tmp_path, "x" * 1_000_000), name, ingest).outcome == "added"
    assert files.add(given(tmp_path, "ü" * 1_000_000), f"2 {name}", ingest).outcome == "added"


@pytest.mark.parametrize(
    ("name", "start"), [("a.pdf", b""), ("a.txt", b"%PDF-1.7 "), ("a.jpg", b"\xff\xd8\xff")]
)
def test_files_of_other_types_are_not_measured_as_text(
    files: Files, tmp_path: Path, name: str, start: bytes
) -> None:
    path = tmp_path / "given"
    path.write_bytes(start + b"x" * 1_000_001)
    assert files.add(path, name, IngestSettings(max_text_mb=1)).outcome == "added"


def test_a_failed_file_is_read_when_it_is_added_again(files: Files, tmp_path: Path) -> None:
    file = files.add(given(tmp_path), "notes.txt").file
    files.queue.claim("w")
    files.claimed.fail(file.id, "w", DamagedFileError("notes.txt is damaged."))
    again = files.add(given(tmp_path), "notes.txt")
    assert (again.outcome, again.file.id, again.file.stage) == ("replaced", file.id, Stage.QUEUED)


def test_renamed_failed_file_is_retried_unless_of_another_kind(files: Files, tmp_path: Path) -> None:
    file = files.add(given(tmp_path), "locked.pdf").file
    files.queue.claim("w")
    files.claimed.advance(file.id, "w", Stage.READING, 1, 2, fraction=0.5, seconds_left=None)
    files.claimed.fail(file.id, "w", EncryptedFileError("locked.pdf is protected with a password."))
    again = files.add(given(tmp_path), "copy.PDF")
    assert (again.outcome, again.file.id, again.file.stage) == ("duplicate", file.id, Stage.QUEUED)
    assert again.file.fraction == 0
    files.queue.claim("w")
    files.claimed.fail(file.id, "w", EncryptedFileError("locked.pdf is protected with a password."))
    other = files.add(given(tmp_path), "other.txt")
    assert other.outcome == "added"
    assert files.add(given(tmp_path), "another copy.pdf") == Added(
        other.file, "duplicate", "another copy.pdf"
    )


def test_remove_deletes_the_bytes(files: Files, tmp_path: Path) -> None:
    file = files.add(given(tmp_path, "x" * 1234), "notes.txt").file
    files.remove(file.id)
    assert files.get(file.id) is None
    assert not files.location(file).parent.exists()


def test_a_name_with_folders_and_quotes_never_becomes_a_path(files: Files, tmp_path: Path) -> None:
    added = files.add(given(tmp_path), "../../etc/pass'wd\".txt")
    assert files.location(added.file).resolve().is_relative_to((tmp_path / "files").resolve())


def test_version_arriving_as_the_last_becomes_ready_is_stored(in_folder: Files, tmp_path: Path) -> None:
    first = in_folder.add(given(tmp_path, "old"), "notes.txt").file
    in_folder.queue.claim("w")
    arriving, arrived, finished = threading.Event(), threading.Event(), threading.Event()
    newer = in_folder.location(first).with_name("newer.txt")

    def add_in_another_process() -> None:
        with SQLiteDatabase(tmp_path / "library.db").transaction():
            newer.write_text("new", "utf-8")
            arrived.set()
            finished.wait(5)

    def at_statement(statement: str) -> None:
        if statement.startswith("SELECT") and not arriving.is_set():
            arriving.set()
            thread.start()
            arrived.wait(0.3)

    thread = threading.Thread(target=add_in_another_process)
    in_folder.database.connection().set_trace_callback(at_statement)
    assert in_folder.claimed.finish(first.id, "w", passages=1, pages=0)
    finished.set()
    thread.join()
    assert newer.read_text("utf-8") == "new"


def test_the_password_is_stored_only_to_draw_pages(files: Files, tmp_path: Path) -> None:
    kept = {}
    for name in ("secret.pdf", "secret.docx"):
        file = files.add(given(tmp_path, name), name).file
        files.queue.claim("w")
        files.claimed.fail(file.id, "w", EncryptedFileError(f"{name} is protected with a password."))
        files.queue.retry(file.id, password="sesame")
        files.queue.claim("w")
        files.claimed.finish(file.id, "w", passages=1, pages=1)
        kept[name] = files.password(file.id)
    assert kept == {"secret.pdf": "sesame", "secret.docx": None}


def test_half_characters_in_a_name_become_replacement_signs(files: Files, tmp_path: Path) -> None:
    assert files.add(given(tmp_path), "caf\ud83d.txt").file.name == "caf�.txt"
    assert files.refuse("caf\udc81.pdf", 3, DamagedFileError("It is damaged.")).name == "caf�.pdf"
    assert files.refuse("\ud83d\udc80.pdf", 3, DamagedFileError("It is damaged.")).name == "💀.pdf"


def test_two_files_with_names_from_before_utf8_stay_two(files: Files, tmp_path: Path) -> None:
    for letter in "éè":
        name = os.fsdecode(f"caf{letter}.txt".encode("cp1252"))
        assert files.add(given(tmp_path, f"caf{letter}"), name).outcome == "added"
        assert (
            files.add(given(tmp_path, f"an old caf{letter}"), name, origin=f"/old/{name}").outcome == "added"
        )
    named = {file.name: file.origin for file in files.all()}
    assert named == {
        "café.txt": "",
        "cafè.txt": "",
        "café (2).txt": "/old/café.txt",
        "cafè (2).txt": "/old/cafè.txt",
    }


def test_name_is_equal_in_any_unicode_normal_form(files: Files, tmp_path: Path) -> None:
    composed, apart = (unicodedata.normalize(form, "Übersicht für März.txt") for form in ("NFC", "NFD"))
    first = files.add(given(tmp_path, "old"), composed).file
    added = files.add(given(tmp_path, "new"), apart)  # as macOS names it
    assert (added.outcome, added.file.id, added.file.name) == ("replaced", first.id, composed)
    files.refuse(composed, 3, DamagedFileError("It is damaged."))
    assert files.refuse(apart, 3, DamagedFileError("It is damaged.")).name == composed
    assert len(files.all()) == 2


def test_a_file_that_is_refused_again_has_one_row(files: Files) -> None:
    files.refuse("huge.pdf", 10, TooLargeError("It is too large."))
    last = files.refuse("huge.pdf", 20, TooLargeError("It is too large."))
    assert [(file.id, file.size) for file in files.all()] == [(last.id, 20)]


def test_namesakes_from_several_places_are_numbered_onwards(files: Files, tmp_path: Path) -> None:
    taken = ("Übersicht%_.html", "Übersicht%_ (3).html", "Übersichtliches.html", "Übersicht%_ (2).htm")
    for name in taken:
        files.add(given(tmp_path, name), name)
    for number in range(3):
        files.add(given(tmp_path, f"of place {number}"), taken[0], origin=f"https://example.org/{number}")
    added = {file.origin: file.name for file in files.all() if file.origin}
    assert list(added.values())[::-1] == [f"Übersicht%_ ({number}).html" for number in (2, 4, 5)]


def test_folders_without_a_file_are_swept_unless_newer(in_folder: Files, tmp_path: Path) -> None:
    file = in_folder.add(given(tmp_path), "notes.txt").file
    lost, newer = tmp_path / "files" / "lost", tmp_path / "files" / "newer"
    for folder, seconds in ((lost, -60), (newer, 60)):
        folder.mkdir()
        (folder / "left.txt").write_text("left", "utf-8")
        os.utime(folder, (file.added + seconds, file.added + seconds))
    in_folder.sweep()
    assert not lost.exists()
    assert newer.exists()
    assert in_folder.location(file).exists()


def test_unowned_version_is_swept_and_the_current_one_stays(in_folder: Files, tmp_path: Path) -> None:
    file = in_folder.add(given(tmp_path), "notes.txt").file
    current = in_folder.location(file)
    stray = current.with_name("arrived-before-a-crash.txt")
    stray.write_text("left", "utf-8")
    os.utime(current.parent, (file.added + 60, file.added + 60))
    in_folder.sweep()
    assert stray.exists()  # it may be of a database that is newer than this one
    os.utime(current.parent, (file.added - 60, file.added - 60))
    in_folder.sweep()
    assert not stray.exists()
    assert current.exists()


def test_file_deleted_by_an_ended_process_is_swept_with_bytes(in_folder: Files, tmp_path: Path) -> None:
    file = in_folder.add(given(tmp_path), "notes.txt").file
    in_folder.remove(file.id)
    left = in_folder.location(file)  # as if it had ended between the two
    left.parent.mkdir()
    left.write_text("left", "utf-8")
    in_folder.sweep()
    assert not left.parent.exists()
    with in_folder.database.snapshot() as db:
        assert db.execute("SELECT count(*) FROM removed_files").fetchone()[0] == 0


def test_a_database_that_knows_no_file_sweeps_none(in_folder: Files, tmp_path: Path) -> None:
    folder = tmp_path / "files" / "kept"
    folder.mkdir(parents=True)
    in_folder.sweep()
    assert folder.exists()


def turn_a_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("files", ["postgres"], indirect=True)
def test_a_damaged_copy_of_a_servers_file_is_fetched_again(files: Files, tmp_path: Path) -> None:
    file = files.add(given(tmp_path), "notes.txt").file
    turn_a_bit(files.location(file))
    assert files.location(file).read_text("utf-8") == "hello"
    with files.transaction() as db:
        db.execute("UPDATE file_chunks SET data = ?", (b"hellp",))
    turn_a_bit(files.location(file))
    with pytest.raises(DamagedFileError, match=r"original of notes\.txt is damaged"):
        files.location(file)
    files.add(given(tmp_path), "notes.txt")
    assert files.location(file).read_text("utf-8") == "hello"


@pytest.mark.parametrize("damage", [turn_a_bit, Path.unlink], ids=["changed", "deleted"])
@pytest.mark.parametrize("name", ["notes.txt", "copy.txt"])
@pytest.mark.parametrize("stage", [Stage.READY, Stage.FAILED])
def test_adding_a_file_again_repairs_its_damaged_original(
    stage: Stage, name: str, damage: Callable[[Path], None], files: Files, tmp_path: Path
) -> None:
    file = files.add(given(tmp_path), "notes.txt").file
    assert files.queue.claim("worker")
    if stage is Stage.READY:
        files.claimed.finish(file.id, "worker", passages=1, pages=1)
    else:
        files.claimed.fail(file.id, "worker", DamagedFileError("Damaged.", hint="Add it again."))
    damage(files.location(file))
    source = given(tmp_path)
    again = files.add(source, name).file
    assert (again.id, again.problem) == (file.id, None)
    assert again.stage is (Stage.READY if stage is Stage.READY else Stage.QUEUED)
    assert files.location(again).read_text("utf-8") == "hello"
    assert not source.exists()
