"""Adds files, links and the sample documents to a library. Each becomes a queued row."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from lectern.app_files import app_folder
from lectern.jobs.file_rows import FileRow
from lectern.jobs.file_storage import write_error
from lectern.jobs.files import Added, Files, check_file
from lectern.jobs.links import Link
from lectern.settings import KeptSettings
from ragcore.errors import InputError
from ragcore.schema import new_id

if TYPE_CHECKING:
    from lectern.jobs.sources import SourceFile

SAMPLE = app_folder() / "sample" / "documents"


class Intake:
    """`incoming` is the local folder for files that are being added."""

    def __init__(self, files: Files, settings: KeptSettings, incoming: Path) -> None:
        self._files = files
        self._settings = settings
        self._incoming = incoming

    def add(self, source: Path, name: str, *, origin: str = "", keep_both: bool = False) -> Added:
        """Add a copy of a file; a file in `incoming` is moved. `keep_both`: see `Files.add`. InputError, and
        OSError for a file that cannot be read."""
        if source.parent != self._incoming:
            source = self._copy(source, name)
        return self._files.add(source, name, self._settings.read().ingest, origin=origin, keep_both=keep_both)

    def _copy(self, source: Path, name: str) -> Path:
        """A copy in `incoming`."""
        copy = self._incoming / f"{new_id()}{source.suffix}"
        with source.open("rb") as original:
            # before a copy of it fills the disk
            check_file(source, name, self._settings.read().ingest)
            try:
                with copy.open("wb") as file:
                    shutil.copyfileobj(original, file)
            except OSError as error:
                with contextlib.suppress(OSError):
                    copy.unlink()
                raise write_error(copy, error) from error
        return copy

    def take(self, files: Iterable[SourceFile], *, keep_both: bool = False) -> list[Added]:
        """Add the files of a source, see lectern.jobs.sources. A file that cannot be added becomes a failed
        row. `keep_both`: see `Files.add`."""
        added = []
        for file in files:
            try:
                if file.problem is not None:
                    raise file.problem
                added.append(self.add(file.path, file.name, origin=file.origin, keep_both=keep_both))
            except InputError as error:
                self._files.refuse(file.name, 0, error)
        return added

    def add_link(self, address: str, *, anywhere: bool = False) -> FileRow:
        """Queue a web link; the worker fetches its file. `anywhere`: see `Link`."""
        return self._files.links.add(Link(address, anywhere))

    def add_sample(self) -> list[Added]:
        """Add the sample documents."""
        return [self.add(path, path.name) for path in sorted(SAMPLE.iterdir())]
