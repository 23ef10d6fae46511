"""The way into a library: files, links and the sample documents. Each becomes a row that waits for a worker."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from lectern.jobs.file_rows import FileRow
from lectern.jobs.file_storage import unwritten
from lectern.jobs.files import Added, Files, check_size
from lectern.jobs.links import Link
from lectern.settings import KeptSettings
from ragcore.errors import InputError
from ragcore.schema import new_id

if TYPE_CHECKING:
    from lectern.jobs.sources import Gathered

SAMPLE = Path(__file__).parents[2] / "sample" / "documents"


class Intake:
    """`incoming` is the folder of this machine for what is on its way in."""

    def __init__(self, files: Files, settings: KeptSettings, incoming: Path) -> None:
        self._files = files
        self._settings = settings
        self._incoming = incoming

    def add(self, source: Path, name: str, *, origin: str = "", beside: bool = False) -> Added:
        """Take a copy of a file in; the worker reads it. What lies in `incoming` is the library's own by then, and is moved.
        `beside`: see `Files.add`. InputError when it cannot be taken, OSError when it cannot be read."""
        if source.parent != self._incoming:
            source = self._copy(source, name)
        return self._files.add(source, name, self._settings.read().ingest, origin=origin, beside=beside)

    def _copy(self, source: Path, name: str) -> Path:
        """A copy in `incoming`."""
        copy = self._incoming / f"{new_id()}{source.suffix}"
        with source.open("rb") as given:
            check_size(name, source.stat().st_size, self._settings.read().ingest)  # before a copy of it fills the disk
            try:
                with copy.open("wb") as taken:
                    shutil.copyfileobj(given, taken)
            except OSError as error:
                with contextlib.suppress(OSError):
                    copy.unlink()
                raise unwritten(copy, error) from error
        return copy

    def take(self, gathered: Iterable[Gathered], *, beside: bool = False) -> list[Added]:
        """Take in what a source gives, see lectern.jobs.sources. A file that cannot be taken is a failed row instead.
        `beside`: see `Files.add`."""
        taken = []
        for file in gathered:
            try:
                if file.problem is not None:
                    raise file.problem
                taken.append(self.add(file.path, file.name, origin=file.origin, beside=beside))
            except InputError as error:
                self._files.refuse(file.name, 0, error)
        return taken

    def add_link(self, address: str, *, anywhere: bool = False) -> FileRow:
        """Queue what is at a web link; the worker fetches it. `anywhere`: see `Link`."""
        return self._files.links.add(Link(address, anywhere))

    def add_sample(self) -> list[Added]:
        """Take in the sample documents."""
        return [self.add(path, path.name) for path in sorted(SAMPLE.iterdir())]
