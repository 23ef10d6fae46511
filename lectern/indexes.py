"""The indexes of one person. "Index" is the screens' word for a library: its documents, passages and
conversations.

The first, "main", is the library in the folder itself; the others are in `indexes/ID` below it, each with its
name in `index.json`. All have the language models, keys and answer settings of the first, but each has its
own settings for reading files. A library on a server has no other indexes.

The folder of an index is renamed when it is complete, and again before it is deleted. So nobody sees a part
of an index, and any number of processes may use the same indexes.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lectern.export.backup import Copied, write_copy
from lectern.export.restore import read_copy
from lectern.jobs.index_versions import CHUNKING
from lectern.library import Library
from lectern.settings import (
    ABOUT,
    INDEXES,
    IngestSettings,
    absolute_path,
    on_server,
    read_settings,
    write_settings,
)
from ragcore.errors import DamagedFileError, InputError, StoreError
from ragcore.schema import new_id
from ragcore.storage.atomic_file import replace_file

MAIN = "main"
FIRST_NAME = "My documents"
NAME_CHARS = 60
STALE_SECONDS = 24 * 3600.0  # before an incomplete index is deleted
_ID = re.compile(r"[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Index:
    """A library of the person, open or not. `where` is the argument of `Library`; `created` in seconds since
    the epoch."""

    id: str
    name: str
    where: Path | str
    created: float = 0.0


class Indexes:
    """The indexes of the person whose first library is `where`. `open_library` opens one of them."""

    def __init__(
        self, where: Path | str, open_library: Callable[[Path | str], Library] = Library.open
    ) -> None:
        self.one_only = on_server(where)
        self._where = where if self.one_only else absolute_path(where)
        self._open = open_library
        self._folder = Path(self._where) / INDEXES
        if not self.one_only:
            self._sweep()

    def all(self) -> list[Index]:
        """The first, then the others, oldest first."""
        if self.one_only:
            return [Index(MAIN, FIRST_NAME, self._where)]
        names = [path.name for path in self._folder.iterdir()] if self._folder.is_dir() else []
        others = [index for index in map(self.get, filter(_ID.fullmatch, names)) if index is not None]
        return [self._require(MAIN), *sorted(others, key=lambda index: (index.created, index.id))]

    def get(self, id_: str) -> Index | None:
        """None for an unknown or deleted index."""
        if id_ == MAIN:
            return Index(
                MAIN, str(_read_about(self._folder / "main.json").get("name", FIRST_NAME)), self._where
            )
        if not self.has(id_):
            return None
        folder = self._folder / id_
        about = _read_about(folder / ABOUT)
        created = about.get("made")
        return Index(id_, str(about.get("name", id_)), folder, created if isinstance(created, float) else 0.0)

    def has(self, id_: str) -> bool:
        """As `get`, without reading the name."""
        return id_ == MAIN or (
            not self.one_only and _ID.fullmatch(id_) is not None and (self._folder / id_ / ABOUT).is_file()
        )

    def create(self, name: str, *, ingest: IngestSettings | None = None) -> Index:
        """Create an empty index, by default with the `ingest` settings of the first. InputError for the
        name."""
        return self._create(name, ingest, lambda library: None)

    def rename(self, id_: str, name: str) -> None:
        """InputError for an empty name, or that of another index."""
        index = self._require(id_)
        name = self._check_name(name, id_)
        path = self._folder / "main.json" if id_ == MAIN else Path(index.where) / ABOUT
        replace_file(path, json.dumps({"name": name, "made": index.created}))

    def duplicate(
        self,
        id_: str,
        source: Library,
        name: str,
        on_progress: Callable[[float], None] = lambda fraction: None,
    ) -> Index:
        """Copy the index `id_`, whose open library is `source`. Nothing is embedded again, but the worker has
        to read the files. `on_progress` gets the finished share, 0 to 1; its exceptions end the work."""
        self._require(id_)
        settings, ingest = source.rebuilds.current_settings(), source.settings.ingest
        ingest = ingest.model_copy(update={name: getattr(settings, name) for name in CHUNKING})
        copy = source.incoming / f"{new_id()}.part"

        def fill(library: Library) -> None:
            write_copy(source, copy, lambda fraction: on_progress(fraction / 2))
            read_copy(
                library, copy, prompts=True, on_progress=lambda fraction: on_progress((1 + fraction) / 2)
            )

        try:
            return self._create(name, ingest, fill)
        finally:
            copy.unlink(missing_ok=True)

    def take_in(
        self,
        copy: Path,
        name: str,
        *,
        called: str = "",
        prompts: bool = False,
        on_progress: Callable[[float], None] = lambda fraction: None,
    ) -> tuple[Index, Copied]:
        """Create an index from a copy of a library, see `read_copy`. `called`: the name of the copy in
        errors; `on_progress` as for `duplicate`. UnreadableFileError."""
        copied: list[Copied] = []
        try:
            index = self._create(
                name,
                None,
                lambda library: copied.append(
                    read_copy(library, copy, name=called, prompts=prompts, on_progress=on_progress)
                ),
            )
        except DamagedFileError as error:  # with another hint, because the index was deleted
            raise DamagedFileError(
                error.what, hint="Make the copy again. No index was made from this one."
            ) from error
        return index, copied[0]

    def delete(self, id_: str) -> int:
        """Delete an index; returns the bytes that are free now. Close its library before. InputError for the
        first."""
        if id_ == MAIN:
            raise InputError(
                "The first index cannot be deleted.",
                hint="It holds the settings of all indexes. Delete its documents instead.",
            )
        folder = Path(self._require(id_).where)
        gone = folder.with_name(f"{id_}.gone")
        try:
            folder.rename(gone)
            freed = bytes_in(gone)
            shutil.rmtree(gone)
        except OSError as error:
            raise StoreError(
                f"Part of the index could not be deleted: {error.strerror or error}.",
                hint=(
                    "Close other programs that use its files. The rest is deleted the next time Lectern "
                    "starts."
                ),
            ) from error
        return freed

    def free_name(self, name: str) -> str:
        """The name, or "name 2" if an index has it."""
        names = {index.name.casefold() for index in self.all()}
        name = display_name(name) or FIRST_NAME
        number, free = 2, name
        while free.casefold() in names:
            free, number = f"{name[: NAME_CHARS - 4]} {number}", number + 1
        return free

    def _create(self, name: str, ingest: IngestSettings | None, fill: Callable[[Library], None]) -> Index:
        if self.one_only:
            raise InputError(
                "A library on a server holds a single index.",
                hint="For another index, start Lectern with another database.",
            )
        name, id_ = self._check_name(name), new_id()[:12]
        draft = self._folder / f"{id_}.part"
        try:
            draft.mkdir(parents=True)
            home = read_settings(Path(self._where))
            write_settings(draft, home.model_copy(update={"ingest": ingest or home.ingest}))
            replace_file(draft / ABOUT, json.dumps({"name": name, "made": time.time()}))
            library = self._open(draft)
            try:
                fill(library)
            finally:
                library.close()
            draft.rename(self._folder / id_)
        except OSError as error:
            raise StoreError(
                f"The index cannot be created: {error.strerror or error}.",
                hint="Check that the disk has space and that you can write to the library's folder.",
            ) from error
        finally:
            shutil.rmtree(draft, ignore_errors=True)  # exists only after an error
        return self._require(id_)

    def _require(self, id_: str) -> Index:
        index = self.get(id_)
        if index is None:
            raise InputError("This index no longer exists.", hint="It was deleted. Choose another one.")
        return index

    def _check_name(self, name: str, id_: str = "") -> str:
        name = display_name(name)
        if not name:
            raise InputError("The index has no name.", hint="Type one, such as Contracts.")
        if any(index.name.casefold() == name.casefold() and index.id != id_ for index in self.all()):
            raise InputError(f"There is already an index called {name}.", hint="Choose another name.")
        return name

    def _sweep(self) -> None:
        oldest = time.time() - STALE_SECONDS
        for path in [*self._folder.glob("*.part"), *self._folder.glob("*.gone")]:
            with suppress(OSError):  # another process was faster
                if path.suffix == ".gone" or path.stat().st_mtime < oldest:
                    shutil.rmtree(path)


def display_name(name: str) -> str:
    """The name on one line, of NAME_CHARS at most."""
    return " ".join("".join(each if each.isprintable() else " " for each in name).split())[
        :NAME_CHARS
    ].strip()


def bytes_in(folder: Path) -> int:
    """The size of all files in a folder and its subfolders."""
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            total += path.lstat().st_size if path.is_file() else 0
    return total


def _read_about(path: Path) -> dict[str, object]:
    """The name and time of an index. Empty for a damaged file, because the documents are more important than
    their name."""
    try:
        about = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return about if isinstance(about, dict) else {}
