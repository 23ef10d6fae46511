"""The library from a terminal."""

from __future__ import annotations

import io
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
import zipfile
from contextlib import closing, suppress
from pathlib import Path

import pytest

from lectern import cli
from lectern.export.backup import write_copy
from lectern.library import Library
from ragcore.embeddings.hashing import HashEmbedding
from tests import postgres
from tests.making import make_pdf


@pytest.fixture
def library(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The options that name a new library, whose embedder is there at once."""
    library = ["--library", str(tmp_path / "library")]
    assert cli.main([*library, "rebuild", "--embed-model", "hashing"]) == 0
    capsys.readouterr()
    return library


def test_added_files_answer_a_question_with_its_source(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, empty = tmp_path / "tower.txt", tmp_path / "void.txt"
    good.write_text("The tower was built by Ada Penrose in 1871. It is forty metres high.", "utf-8")
    empty.touch()
    library = ["--library", str(tmp_path / "library")]
    assert cli.main([*library, "ingest", str(good), str(empty)]) == 1
    told = capsys.readouterr().out
    assert "tower.txt is ready: 1 passage." in told
    assert "void.txt is empty." in told
    assert good.exists()
    assert cli.main([*library, "ask", "Who built the tower?"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "The tower was built by Ada Penrose in 1871. [1]",
        "  [1] tower.txt",
    ]
    assert cli.main([*library, "ask", "Who built the tower?", "--mode", "refine", "--price"]) == 0
    assert capsys.readouterr().out.startswith("refine: 1 call, about ")
    opened = Library.open(tmp_path / "library")
    assert len(opened.store) == 1
    opened.close()


def test_file_already_in_the_library_is_reported_by_name(
    tmp_path: Path, library: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "given"
    folder.mkdir()
    for name in ("tower.txt", "copy of tower.txt"):
        (folder / name).write_text("The tower was built by Ada Penrose in 1871.", "utf-8")
        cli.main([*library, "add", str(folder / name)])
    assert "copy of tower.txt is already in the library, as tower.txt.\n" in capsys.readouterr().out
    cli.main([*library, "add", str(folder / "tower.txt")])
    assert "tower.txt is already in the library.\n" in capsys.readouterr().out


def test_every_file_of_an_archive_is_added(
    tmp_path: Path, library: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("tower.txt", "The tower was built by Ada Penrose in 1871.")
        archive.writestr("cellar.txt", "The cellar holds three hundred barrels.")
        archive.writestr("scan.xyz", bytes(range(256)))
    assert cli.main([*library, "ingest", str(tmp_path / "all.zip")]) == 1
    told = capsys.readouterr().out
    assert "tower.txt is ready: 1 passage." in told
    assert "cellar.txt is ready: 1 passage." in told
    assert "scan.xyz is a .xyz file, which cannot be read." in told


def test_archive_without_news_says_so_and_is_no_failure(
    tmp_path: Path, library: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("tower.txt", "The tower was built by Ada Penrose in 1871.")
    add = [*library, "add", str(tmp_path / "all.zip")]
    assert cli.main(add) == 0
    assert "Everything in" not in capsys.readouterr().out
    assert cli.main(add) == 0
    assert (
        capsys.readouterr().out
        == "Everything in all.zip is already in your library. There is nothing more to do.\n"
    )


def test_adding_to_a_server_waits_regardless_of_the_local_clock(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("tower.txt", "The tower was built by Ada Penrose in 1871.")
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 600)
    monkeypatch.setenv("LECTERN_HOME", str(tmp_path / "home"))
    first, second = (["--database", postgres.fresh()] for _ in range(2))
    assert cli.main([*first, "add", str(tmp_path / "all.zip")]) == 0
    assert capsys.readouterr().out == "tower.txt is ready: 1 passage.\n"
    assert cli.main([*first, "export", str(tmp_path / "copy.lectern")]) == 0
    assert cli.main([*second, "import", "--yes", str(tmp_path / "copy.lectern")]) == 0
    assert "tower.txt is ready: 1 passage.\n" in capsys.readouterr().out


def test_a_terminal_that_cannot_show_a_letter_shows_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = io.TextIOWrapper(io.BytesIO(), "ascii")
    monkeypatch.setattr(sys, "stdout", told)
    assert (
        cli.main(["--library", str(tmp_path / "library"), "export", str(tmp_path / "Übersicht.lectern")]) == 0
    )
    told.seek(0)
    assert told.read().endswith("?bersicht.lectern holds 0 files and 0 conversations.\n")


def test_partly_read_file_is_reported_and_is_no_failure(
    tmp_path: Path, library: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    torn = make_pdf(tmp_path / "torn.pdf", ["The first page.", "The tower was built by Ada Penrose in 1871."])
    torn.write_bytes(torn.read_bytes().replace(b"/Type /Page\n", b"/Type /Pear\n", 1))
    assert cli.main([*library, "ingest", str(torn)]) == 0
    told = capsys.readouterr().out
    assert (
        "torn.pdf is ready: 1 passage.\ntorn.pdf was read without page 1, which could not be opened." in told
    )


def test_a_file_that_is_not_there_keeps_no_other_from_being_read(
    tmp_path: Path, library: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("tower", "cellar"):
        (tmp_path / f"{name}.txt").write_text(f"The {name} is old.", "utf-8")
    given = [str(tmp_path / name) for name in ("tower.txt", "nowhere.txt", "cellar.txt")]
    assert cli.main([*library, "add", *given]) == 1
    told = capsys.readouterr()
    assert "There is no file" in told.err
    assert "tower.txt is ready: 1 passage." in told.out
    assert "cellar.txt is ready: 1 passage." in told.out


def test_a_library_goes_to_another_place_in_one_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tower, copy = tmp_path / "tower.txt", tmp_path / "copy.lectern"
    tower.write_text("The tower was built by Ada Penrose in 1871. It is forty metres high.", "utf-8")
    here, there = ["--library", str(tmp_path / "here")], ["--library", str(tmp_path / "there")]
    assert cli.main([*here, "ingest", str(tower)]) == 0
    assert cli.main([*here, "export", str(copy)]) == 0
    assert "copy.lectern holds 1 file and 0 conversations." in capsys.readouterr().out
    assert cli.main([*there, "import", str(copy)]) == 1
    told = capsys.readouterr()
    assert "copy.lectern contains 1 file (0.0 MB), 0 conversations, 0 notes." in told.out
    assert "Nothing was added: nobody can be asked here." in told.err
    assert cli.main([*there, "import", "--yes", str(copy)]) == 0
    assert capsys.readouterr().out.endswith("tower.txt is ready: 1 passage.\n")
    assert cli.main([*there, "ask", "Who built the tower?"]) == 0
    assert capsys.readouterr().out.startswith("The tower was built by Ada Penrose in 1871. [1]")
    assert cli.main([*there, "import", str(tmp_path / "none.lectern")]) == 1
    assert cli.main([*there, "import", str(tower)]) == 1
    assert "tower.txt is not a complete copy of a library." in capsys.readouterr().err


def test_import_asks_first_and_adds_prompts_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    copy, there = tmp_path / "copy.lectern", ["--library", str(tmp_path / "there")]
    with closing(Library(tmp_path / "here", embedder=HashEmbedding())) as library:
        library.prompts.save("generation", ("Be rude. {query_str}",))
        write_copy(library, copy)

    def imported(answer: str, *options: str) -> tuple[int, bool]:
        """The exit code, and whether the prompt is used."""
        monkeypatch.setattr("sys.stdin", _Terminal(answer))
        code = cli.main([*there, "import", *options, str(copy)])
        with closing(Library(tmp_path / "there", embedder=HashEmbedding())) as library:
            return code, bool(library.prompts.current())

    assert imported("n\n", "--prompts") == (1, False)
    told = capsys.readouterr().out
    assert "contains 0 files (0.0 MB), 0 conversations, 0 notes, 1 edited prompt." in told
    assert told.endswith("Nothing was added.\n")
    assert imported("") == (1, False)  # Ctrl+D
    assert capsys.readouterr().out.endswith("Nothing was added.\n")
    assert imported("y\n") == (0, False)
    assert "Its prompts are not added." in capsys.readouterr().out
    assert imported("", "--yes", "--prompts") == (0, True)


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("count", ["0", "-3", "six"])
def test_a_number_of_passages_that_makes_no_sense_is_refused(
    count: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        cli.main(["ask", "Who?", "--top-k", count])
    assert "not a number from 1 up" in capsys.readouterr().err


def test_a_failed_command_prints_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    library = ["--library", str(tmp_path / "library")]
    assert cli.main([*library, "ingest", str(tmp_path / "nowhere.txt")]) == 1
    assert "There is no file" in capsys.readouterr().err
    assert cli.main([*library, "ask", "  "]) == 1
    assert capsys.readouterr().err.startswith("There is no question.")


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_application_prints_its_address_and_ends_on_ctrl_c(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "lectern.cli", "--library", str(tmp_path / "library")]
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("127.0.0.1", cli.FIRST_PORT))
            taken.listen()
        except OSError:
            pass  # somebody else has it, which serves as well
        started = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
        )
        with started:
            watchdog = threading.Timer(60, lambda: os.killpg(started.pid, signal.SIGKILL))
            watchdog.start()
            assert started.stdout is not None
            said = next((line for line in started.stdout if "Lectern is at" in line), "")
            os.killpg(started.pid, signal.SIGINT)
            status = started.wait(30)
            watchdog.cancel()
    assert "http://127.0.0.1:" in said
    assert f":{cli.FIRST_PORT}." not in said
    assert status in (0, 130)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("arguments", [["--port"], ["serve", "--port"]])
def test_application_uses_the_chosen_port_and_ends_on_command(arguments: list[str], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "lectern.cli",
        "--library",
        str(tmp_path / "library"),
        *arguments,
        str(port),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as started:
        assert started.stdout is not None
        try:
            assert any(line.rstrip() == f"Lectern is at http://127.0.0.1:{port}" for line in started.stdout)
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=30) as health:
                assert health.status == 200
            started.terminate()  # which a service manager or a container does, to this process alone
            started.wait(30)
            with socket.socket() as probe:
                assert probe.connect_ex(("127.0.0.1", port)) != 0
        finally:
            with suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_killed_application_leaves_no_server_or_reader_process(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "lectern.cli",
        "--library",
        str(tmp_path / "library"),
        "--port",
        str(port),
        "--no-token",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as started:
        assert started.stdout is not None
        try:
            assert any(line.rstrip() == f"Lectern is at http://127.0.0.1:{port}" for line in started.stdout)
            with urllib.request.urlopen(f"http://localhost:{port}/", timeout=30) as page:
                assert page.status == 200  # and without a token
            with socket.create_connection(("127.0.0.1", port)) as slow:
                slow.settimeout(20)
                slow.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
                began = time.monotonic()
                assert ended(slow)
                assert 9 < time.monotonic() - began < 15
            started.kill()  # this process alone
            started.wait(30)
            with socket.socket() as probe:
                assert probe.connect_ex(("127.0.0.1", port)) != 0
            deadline = time.monotonic() + 30
            while in_session(started.pid) and time.monotonic() < deadline:
                time.sleep(0.1)
            assert not in_session(started.pid)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL)


def ended(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def in_session(leader: int) -> bool:
    """Whether a process lives that was started by that one, or by what it has started."""
    try:
        os.killpg(leader, 0)
    except ProcessLookupError:
        return False
    return True


def test_port_in_use_is_refused_without_starting(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        assert cli.main(["--library", str(tmp_path / "library"), "--port", str(port)]) == 1
    assert capsys.readouterr() == (
        "",
        (
            f"Port {port} is in use, or is not open to this account.\nChoose another one with: lectern "
            "--port NUMBER\n"
        ),
    )


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--port", "99999"], "'99999' is not a number from 1 to 65535"),
        (["--port", "0"], "'0' is not a number from 1 to 65535"),
        (["--port", "8601", "worker"], "--port starts the application; it cannot be used with worker"),
        (["--no-token", "worker"], "--no-token starts the application; it cannot be used with worker"),
        (["--ports", "8601"], "invalid choice: '8601'"),
        (["--verbose"], "unrecognized arguments: --verbose"),
        (["frobnicate"], "invalid choice: 'frobnicate'"),
    ],
)
def test_arguments_that_mean_nothing_are_refused_with_the_reason(
    arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2
    assert reason in capsys.readouterr().err


def test_address_of_no_server_is_refused_without_showing_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for arguments in (["ask", "Who?"], ["--database", "db.example/docs:sesame", "worker"]):
        monkeypatch.setenv("LECTERN_DATABASE", "mysql://ada:sesame@db/docs")
        assert cli.main(arguments) == 1
        said = capsys.readouterr().err
        assert "not the address of a PostgreSQL server" in said
        assert "sesame" not in said


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_worker_names_its_database_and_has_no_local_library(tmp_path: Path) -> None:
    environment = {**os.environ, "LECTERN_DATABASE": postgres.fresh(), "LECTERN_HOME": str(tmp_path / "home")}
    command = [sys.executable, "-m", "lectern.cli", "worker"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline().startswith("Reading the files of postgres on ")
        worker.terminate()
        assert worker.wait(30) == 0
    assert not (tmp_path / "home" / "library.db").exists()


def test_rebuild_announces_its_work_and_ends_with_the_new_index(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [
        "--library",
        str(tmp_path / "library"),
        "rebuild",
        "--chunk-size",
        "50",
        "--embed-model",
        "hashing",
    ]
    assert cli.main(given) == 0
    said = capsys.readouterr().out
    assert "(passage length: 200 → 50 tokens, embedding model: built-in → hashing)" in said
    assert said.endswith("The index has 0 passages.\n")
    assert cli.main([*given[:3], "--chunk-size", "50", "--chunk-overlap", "50"]) == 1
    assert "cannot overlap" in capsys.readouterr().err
