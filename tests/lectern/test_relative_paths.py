"""Paths become absolute where they enter: workers and the processes that read files are in other folders."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from lectern.indexes import Indexes
from lectern.jobs.changes import wait_for_end
from lectern.jobs.worker import Worker
from lectern.library import Library
from lectern.settings import allowed_sources, default_folder
from ragcore.embeddings.bundled_model import model_folder
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import ConfigError

CHECKOUT = Path(__file__).parents[2]
TEXT = "The tower was built by Ada Penrose in 1871."
ANSWER = "The tower was built by Ada Penrose in 1871. [1]"


def lectern(folder: Path, *arguments: str, **variables: str) -> str:
    """What the command prints, when it is called in this folder."""
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT), **variables}
    command = [sys.executable, "-m", "lectern.cli", *arguments]
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a document in it, and nothing else."""
    folder = tmp_path / "Möbel und Büro"
    folder.mkdir()
    (folder / "tower.txt").write_text(TEXT, "utf-8")
    return folder


def test_file_in_a_relative_library_is_ready_and_answers(folder: Path) -> None:
    lectern(folder, "--library", "my büro/library", "rebuild", "--embed-model", "hashing")
    assert "tower.txt is ready" in lectern(folder, "--library", "my büro/library", "add", "tower.txt")
    below = folder / "my büro"
    asked = lectern(below, "--library", "library", "ask", "Who built the tower?")
    assert asked.splitlines() == [ANSWER, "  [1] tower.txt"]
    lectern(below, "--library", "library", "export", "copy.lectern")
    lectern(folder, "--library", "other", "import", "--yes", "my büro/copy.lectern")
    assert ANSWER in lectern(folder, "--library", "other", "ask", "Who built the tower?")


@pytest.mark.parametrize("home", ["library", "./a/../library", "linked/library"])
def test_relative_lectern_home_is_a_usable_library(folder: Path, home: str) -> None:
    (folder / "a").mkdir()
    (folder / "true").mkdir()
    (folder / "linked").symlink_to("true", target_is_directory=True)
    lectern(folder, "rebuild", "--embed-model", "hashing", LECTERN_HOME=home)
    assert "is ready" in lectern(folder, "add", "tower.txt", LECTERN_HOME=home)
    assert ANSWER in lectern(folder, "ask", "Who built the tower?", LECTERN_HOME=home)
    assert (folder / home / "library.db").exists()


def test_relative_embedding_model_is_loaded_in_every_folder(folder: Path) -> None:
    (folder / "model").symlink_to(model_folder(), target_is_directory=True)
    lectern(folder, "--library", "library", "rebuild", "--embed-model", "model")
    assert "is ready" in lectern(folder, "--library", "library", "add", "tower.txt")
    assert "Ada Penrose" in lectern(
        folder.parent, "--library", str(folder / "library"), "ask", "Who built the tower?"
    )


def test_modules_in_the_current_folder_are_not_imported(folder: Path) -> None:
    (folder / "secrets.py").write_text("raise SystemExit('the module of this folder')")
    (folder / "lectern.py").write_text("raise SystemExit('the module of this folder')")
    command = [sys.executable, "-P", "-m", "lectern.cli", "--library", "library", "add", "tower.txt"]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    ended = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=100
    )
    assert (ended.returncode, ended.stdout.startswith("tower.txt is ready")) == (0, True), ended.stderr


def test_relative_library_of_a_script_survives_a_change_of_folder(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    library = Library(Path("library"), embedder=HashEmbedding())
    indexes = Indexes(Path("library"))
    monkeypatch.chdir(tmp_path)
    added = library.intake.add(folder / "tower.txt", "tower.txt")
    worker = Worker(library.files, library.store, HashEmbedding(), lambda: library.settings.ingest)
    assert worker.run_once()
    row = library.files.get(added.file.id)
    assert row is not None
    assert row.ready, row.problem
    other = indexes.create("Other")
    assert Path(other.where).is_relative_to(folder / "library")
    library.close()


def test_worker_reads_on_after_the_current_folder_is_deleted(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    library = Library(folder / "library")
    gone.rmdir()
    added = library.intake.add(folder / "tower.txt", "tower.txt")
    library.worker.start()
    (row,) = wait_for_end(library.files, {added.file.id}, set())
    library.close()
    assert row.ready, row.problem


def test_command_in_a_deleted_folder_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(ConfigError, match="The current folder was deleted"):
        Library(Path("library"))


def test_folders_in_the_environment_are_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LECTERN_FOLDERS", os.pathsep.join(("papers", "~/letters", "/srv")))
    monkeypatch.setenv("LECTERN_HOME", "library")
    monkeypatch.setenv("HOME", "/home/ada")
    assert allowed_sources().folders == (tmp_path / "papers", Path("/home/ada/letters"), Path("/srv"))
    assert default_folder() == tmp_path / "library"


@pytest.mark.skipif(sys.platform == "win32", reason="its environments have other folders")
def test_start_runs_commands_in_the_current_folder(tmp_path: Path) -> None:
    clone, current = tmp_path / "clone", tmp_path / "current"
    clone.mkdir()
    current.mkdir()
    for name in ("start.py", "pyproject.toml"):
        shutil.copyfile(CHECKOUT / name, clone / name)
    venv.create(clone / ".venv", with_pip=False)
    project = (clone / "pyproject.toml").read_text("utf-8")
    (clone / ".venv" / "lectern-installed").write_text(f"{clone}{project}", "utf-8")
    python = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    command = [str(python), str(clone / "start.py"), "--library", "library", "export", "copy.lectern"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(CHECKOUT), *filter(None, sys.path)])}
    ended = subprocess.run(command, cwd=current, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert sorted(path.name for path in current.iterdir()) == ["copy.lectern", "library"]
