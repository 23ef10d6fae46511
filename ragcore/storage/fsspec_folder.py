"""A persisted folder on another file system, of fsspec's kind: copied there whole, and copied here to be opened."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import IO, Protocol

from ragcore.storage.disk import FILE

VECTORS = "vectors"


class FileSystem(Protocol):
    """What is used of fsspec's AbstractFileSystem, whose every implementation will do."""

    def exists(self, path: str) -> bool: ...
    def find(self, path: str) -> Sequence[str]:
        """The files in the folder and in those below."""

    def makedirs(self, path: str, exist_ok: bool = False) -> None: ...
    def open(self, path: str, mode: str = "rb") -> IO[bytes]: ...
    def rm(self, path: str) -> None: ...


def upload(folder: Path, files: FileSystem, path: str) -> None:
    """Put what is in `folder` in the place of what is at `path`: the vectors first, then the file that names them."""
    names = sorted((each.relative_to(folder).as_posix() for each in folder.rglob("*") if each.is_file()), key=FILE.__eq__)
    before = _stored(files, path)
    files.makedirs(f"{path}/{VECTORS}", exist_ok=True)
    for name in names:
        with (folder / name).open("rb") as source, files.open(f"{path}/{name}", "wb") as target:
            shutil.copyfileobj(source, target)
    for name, there in before.items():
        if name not in names:
            files.rm(there)


def download(files: FileSystem, path: str, folder: Path) -> None:
    """Nothing where nothing is at `path`."""
    (folder / VECTORS).mkdir()
    for name, there in _stored(files, path).items():
        with files.open(there, "rb") as source, (folder / name).open("wb") as target:
            shutil.copyfileobj(source, target)


def _stored(files: FileSystem, path: str) -> dict[str, str]:
    """The paths of the files of a persisted folder, by their names in it; others are left alone."""
    found: dict[str, str] = {}
    for there in files.find(path) if files.exists(path) else ():
        place = PurePosixPath(there)
        if place.parent.name == VECTORS:
            found[f"{VECTORS}/{place.name}"] = there
        elif place.name == FILE:
            found[FILE] = there
    return found
