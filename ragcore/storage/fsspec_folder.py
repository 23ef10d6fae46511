"""Copies a persisted folder to and from another file system with fsspec's interface."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import IO, Protocol

from ragcore.storage.disk import FILE

VECTORS = "vectors"


class FileSystem(Protocol):
    """The methods of fsspec's AbstractFileSystem that `ragcore` uses."""

    def exists(self, path: str) -> bool: ...
    def find(self, path: str) -> Sequence[str]:
        """The files in the folder and its subfolders."""

    def makedirs(self, path: str, exist_ok: bool = False) -> None: ...
    def open(self, path: str, mode: str = "rb") -> IO[bytes]: ...
    def rm(self, path: str) -> None: ...


def upload(folder: Path, files: FileSystem, path: str) -> None:
    """Replace the content of `path` by that of `folder`: the vectors first, then the file that refers to
    them."""
    names = sorted(
        (each.relative_to(folder).as_posix() for each in folder.rglob("*") if each.is_file()), key=FILE.__eq__
    )
    before = _list_files(files, path)
    files.makedirs(f"{path}/{VECTORS}", exist_ok=True)
    for name in names:
        with (folder / name).open("rb") as source, files.open(f"{path}/{name}", "wb") as target:
            shutil.copyfileobj(source, target)
    for name, there in before.items():
        if name not in names:
            files.rm(there)


def download(files: FileSystem, path: str, folder: Path) -> None:
    """Copies nothing if `path` does not exist."""
    (folder / VECTORS).mkdir()
    for name, there in _list_files(files, path).items():
        with files.open(there, "rb") as source, (folder / name).open("wb") as target:
            shutil.copyfileobj(source, target)


def _list_files(files: FileSystem, path: str) -> dict[str, str]:
    """The paths of the files that `upload` wrote, by their names relative to the folder. Other files are
    ignored."""
    paths: dict[str, str] = {}
    for there in files.find(path) if files.exists(path) else ():
        place = PurePosixPath(there)
        if place.parent.name == VECTORS:
            paths[f"{VECTORS}/{place.name}"] = there
        elif place.name == FILE:
            paths[FILE] = there
    return paths
