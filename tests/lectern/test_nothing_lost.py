"""What is added is kept, and what of it is not read is said: in the row, in its details, and to programs."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from starlette.requests import Request

from lectern import cli
from lectern.jobs.file_rows import FileRow
from lectern.library import Library
from lectern.ui import labels, resources
from lectern.ui.server.security import ticket
from lectern.ui.server.uploads import upload
from lectern.ui.widgets.documents import _row as table_row
from lectern.ui.widgets.files import _row as list_row
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import Problem

Add = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def add(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Add:
    """`lectern add --json` of these; gives what it prints."""

    def run(*what: Path) -> list[dict[str, Any]]:
        cli.main(["--library", str(tmp_path / "library"), "add", "--json", *map(str, what)])
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return run


def texts(tmp_path: Path) -> dict[str, str]:
    with closing(Library(tmp_path / "library", embedder=HashEmbedding())) as library:
        return {file.name: library.store.document(file.id).text for file in library.files.all() if file.ready}


def two_reports(folder: Path) -> list[Path]:
    for place in ("north", "south"):
        (folder / place).mkdir()
        (folder / place / "report.txt").write_text(f"The {place} reports 40 faults.")
    return [folder / place / "report.txt" for place in ("north", "south")]


def test_duplicate_content_has_a_line_of_json(add: Add, tmp_path: Path) -> None:
    for name in ("one.txt", "two.txt"):
        (tmp_path / name).write_text("The tower has 84 steps.")
    rows = {row["file"]: row for row in add(tmp_path / "one.txt", tmp_path / "two.txt")}
    assert rows["one.txt"]["state"] == "ready"
    assert (rows["two.txt"]["state"], rows["two.txt"]["same_as"]) == ("duplicate", "one.txt")


@pytest.mark.parametrize("commands", [1, 2])
def test_files_of_one_name_from_two_folders_are_both_stored(commands: int, add: Add, tmp_path: Path) -> None:
    paths = two_reports(tmp_path)
    for given in [paths] if commands == 1 else [[path] for path in paths]:
        assert {row["state"] for row in add(*given)} == {"ready"}
    assert texts(tmp_path) == {
        "report.txt": "The north reports 40 faults.",
        "report (2).txt": "The south reports 40 faults.",
    }


def test_new_version_of_a_file_replaces_it_and_says_so(
    add: Add, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    north, south = two_reports(tmp_path)
    add(north, south)
    south.write_text("The south reports none.")
    assert cli.main(["--library", str(tmp_path / "library"), "add", str(south)]) == 0
    assert "report (2).txt takes the place of the version that was there." in capsys.readouterr().out
    assert texts(tmp_path) == {
        "report.txt": "The north reports 40 faults.",
        "report (2).txt": "The south reports none.",
    }


def test_files_of_one_name_in_two_archives_are_both_stored(add: Add, tmp_path: Path) -> None:
    for name in ("a", "b"):
        with zipfile.ZipFile(tmp_path / f"{name}.zip", "w") as archive:
            archive.writestr("report.txt", f"The report of {name}.")
        add(tmp_path / f"{name}.zip")
    assert texts(tmp_path) == {"report.txt": "The report of a.", "report (2).txt": "The report of b."}


def test_namesakes_in_a_dropped_folder_both_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(Library(tmp_path, embedder=HashEmbedding())) as library:
        monkeypatch.setattr(resources, "get_index", lambda _index: SimpleNamespace(library=library))
        monkeypatch.setattr(library.worker, "start", lambda: None)

        def put(place: str, text: bytes) -> dict[str, str]:
            headers = [(b"x-lectern-ticket", ticket(library.secret).encode())]
            query = f"name=report.txt&place={place}".encode()
            scope = {
                "type": "http",
                "method": "PUT",
                "path": "/api/upload",
                "query_string": query,
                "headers": headers,
            }

            async def receive() -> dict[str, Any]:
                return {"type": "http.request", "body": text, "more_body": False}

            async def answer() -> bytes:
                return bytes((await upload(Request(scope, receive))).body)

            answered: dict[str, str] = json.loads(anyio.run(answer))
            return answered

        assert put("all/north/report.txt", b"north")["outcome"] == "added"
        south = put("all/south/report.txt", b"south")
        assert (south["outcome"], south["message"]) == (
            "added",
            "was saved as report (2).txt, because another file has the same name.",
        )
        assert put("all/south/report.txt", b"south again")["outcome"] == "replaced"
        assert sorted(file.name for file in library.files.all()) == ["report (2).txt", "report.txt"]


def test_everything_skipped_in_a_file_is_stored_and_reported(add: Add, tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_bytes('{"a": "ünd"}\n{"a": "one"}\n{"a": "two'.encode() + b"\xff\xfe")
    (row,) = add(tmp_path / "events.jsonl")
    assert row == {
        "file": "events.jsonl",
        "state": "ready",
        "passages": 1,
        "left_out": [
            "events.jsonl has broken characters in 1 place, shown as �.",
            "Line 3 of events.jsonl is not valid JSON and was not read.",
        ],
        "error": None,
    }
    with closing(Library(tmp_path / "library", embedder=HashEmbedding())) as library:
        (file,) = library.files.all()
        assert [problem.what for problem in file.left_out] == row["left_out"]
        assert labels.file_problem(file) == f"{row['left_out'][0]} And 1 more, see Details."
        for drawn in (list_row(file, ())["problem"], table_row(file)):
            assert [
                sentence.split("  ")[0].startswith(what)
                for sentence, what in zip(drawn["left_out"], row["left_out"], strict=True)
            ] == [True, True]  # type: ignore[index]
        library.files.queue.retry(file.id)
        assert library.files.get(file.id).left_out == ()  # type: ignore[union-attr]


def test_a_row_of_a_library_that_stored_the_first_alone_has_that(tmp_path: Path) -> None:
    with closing(Library(tmp_path, embedder=HashEmbedding())) as library:
        (tmp_path / "a").write_text("words")
        added = library.files.add(tmp_path / "a", "a.txt").file
        library.files.queue.claim("w")
        library.files.claimed.finish(
            added.id, "w", passages=1, pages=0, left_out=[Problem("One."), Problem("Two.")]
        )
        with library.files.transaction() as db:
            db.execute("UPDATE files SET left_out = NULL")
        file: FileRow = library.files.all()[0]
        assert (file.problem, file.left_out) == (Problem("One."), (Problem("One."),))


def test_a_folder_says_which_of_its_files_were_passed_over(add: Add, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    for place, data in {
        "main.kt": b"fun main() {}",
        "LICENSE": b"Do what you like.",
        "pkg/__init__.py": b"",
        ".git/config": b"[core]",
        ".git/HEAD": b"ref",
        "node_modules/x/index.js": b"1",
        **{f"{number}.bin": bytes(range(256)) for number in range(5)},
    }.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_bytes(data)
    rows = {row["file"]: row for row in add(folder)}
    assert {name: row["state"] for name, row in rows.items()} == {
        "main.kt": "ready",
        "LICENSE": "ready",
        "project": "passed over",
    }
    assert rows["project"]["left_out"] == [
        "2 files in project were skipped, as they are hidden: .git."
        " 5 files in project were skipped, as they are of types that cannot be read:"
        " 0.bin, 1.bin, 2.bin and 2 more."
        " One file in project was skipped, as it belongs to an installed package: node_modules."
        " One file in project was skipped, as it is empty: pkg/__init__.py."
    ]


def test_archive_names_the_earlier_versions_that_it_replaces(add: Add, tmp_path: Path) -> None:
    for text in ("one", "two"):
        with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
            archive.writestr("report.txt", f"The report is {text}.")
            archive.writestr(".env", "A=1")
        rows = {row["file"]: row for row in add(tmp_path / "a.zip")}
    assert rows["report.txt"]["state"] == "ready"
    assert rows["a.zip"]["left_out"] == [
        (
            "One file in a.zip was skipped, as it is hidden: .env. Files of a.zip replaced earlier "
            "versions: report.txt."
        )
    ]
    assert texts(tmp_path) == {"report.txt": "The report is two."}
