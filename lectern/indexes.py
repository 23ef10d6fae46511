"""The indexes of one person. Each is a library of its own: its documents, passages and conversations.

The first, "main", is the library in the folder itself; the others are in `indexes/ID` below it, each with its name in
`index.json`. Language models, keys and ways of answering are those of the first for all of them; how files become passages is
each one's own. A library on a server is alone.

An index is made under another name and gets its own when it is whole, so nobody ever sees half of one; it is deleted by taking
its name away first. So any number of processes may use the same indexes.
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

from lectern.export.backup import Copied, read_copy, write_copy
from lectern.library import Library
from lectern.settings import ABOUT, INDEXES, IngestSettings, on_server, read_settings, write_settings
from ragcore.errors import DamagedFileError, InputError, StoreError
from ragcore.schema import new_id
from ragcore.storage.atomic_file import replace_file

MAIN = "main"
FIRST_NAME = "My documents"
NAME_CHARS = 60
LEFT_SECONDS = 24 * 3600.0  # before what was never made whole, or never wholly deleted, is deleted
_ID = re.compile(r"[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Index:
    """`where` is what `Library` opens; `made` in seconds since the epoch."""

    id: str
    name: str
    where: Path | str
    made: float = 0.0


class Indexes:
    """The indexes beside the library `where`. `open_library` opens one of them."""

    def __init__(self, where: Path | str, open_library: Callable[[Path | str], Library] = Library.open) -> None:
        self._where = where
        self._open = open_library
        self.one_only = on_server(where)
        self._folder = Path(where) / INDEXES
        if not self.one_only:
            self._sweep()

    def all(self) -> list[Index]:
        """The first, then the others, oldest first."""
        first = Index(MAIN, FIRST_NAME, self._where)
        if self.one_only:
            return [first]
        name = _about(self._folder / "main.json").get("name", FIRST_NAME)
        names = [path.name for path in self._folder.iterdir()] if self._folder.is_dir() else []
        others = [found for found in map(self.get, filter(_ID.fullmatch, names)) if found is not None]
        return [Index(MAIN, str(name), self._where), *sorted(others, key=lambda index: (index.made, index.id))]

    def get(self, id_: str) -> Index | None:
        """None for what is not, or no longer, the id of an index."""
        if id_ == MAIN:
            return Index(MAIN, str(_about(self._folder / "main.json").get("name", FIRST_NAME)), self._where)
        if not self.has(id_):
            return None
        folder = self._folder / id_
        about = _about(folder / ABOUT)
        made = about.get("made")
        return Index(id_, str(about.get("name", id_)), folder, made if isinstance(made, float) else 0.0)

    def has(self, id_: str) -> bool:
        """Whether `get` gives an index; its name is not read for that."""
        return id_ == MAIN or (not self.one_only and _ID.fullmatch(id_) is not None and (self._folder / id_ / ABOUT).is_file())

    def create(self, name: str, *, ingest: IngestSettings | None = None) -> Index:
        """An empty one. `ingest`: how its files become passages, by default as in the first. InputError for the name."""
        return self._made(name, ingest, lambda library: None)

    def rename(self, id_: str, name: str) -> None:
        """InputError for a name that is taken, or none."""
        index = self._must(id_)
        name = self._free(name, id_)
        path = self._folder / "main.json" if id_ == MAIN else Path(index.where) / ABOUT
        replace_file(path, json.dumps({"name": name, "made": index.made}))

    def duplicate(self, id_: str, source: Library, name: str, told: Callable[[float], None] = lambda fraction: None) -> Index:
        """Another index with the same files, passages and conversations; nothing is embedded again, but its worker has to read
        the files. `source` is the library of the index `id_`, open; `told` how far it is, 0 to 1: what it raises ends the
        work."""
        self._must(id_)
        size, overlap = source.store.versions.sizes() or (None, None)
        ingest = source.settings.ingest
        if size and overlap is not None:
            splitter = source.store.versions.splitter()
            ingest = ingest.model_copy(update={"chunk_size": size, "chunk_overlap": overlap, "splitter": splitter})
        copy = source.incoming / f"{new_id()}.part"

        def fill(library: Library) -> None:
            write_copy(source, copy, lambda fraction: told(fraction / 2))
            read_copy(library, copy, told=lambda fraction: told((1 + fraction) / 2))

        try:
            return self._made(name, ingest, fill)
        finally:
            copy.unlink(missing_ok=True)

    def take_in(
        self, copy: Path, name: str, *, called: str = "", told: Callable[[float], None] = lambda fraction: None
    ) -> tuple[Index, Copied]:
        """A new index from a copy of a library, see lectern.export.backup. `called`: what errors call it; `told` as for
        `duplicate`.
        UnreadableFileError."""
        copied: list[Copied] = []
        try:
            made = self._made(name, None, lambda library: copied.append(read_copy(library, copy, name=called, told=told)))
        except DamagedFileError as error:  # what could be read of it goes with the index
            raise DamagedFileError(error.what, hint="Make the copy again. No index was made from this one.") from error
        return made, copied[0]

    def delete(self, id_: str) -> int:
        """Delete an index with everything in it; gives the bytes that are free now. Whoever has it open closes it before.

        The first stays: it holds what all share. InputError.
        """
        if id_ == MAIN:
            raise InputError(
                "The first index cannot be deleted.", hint="It holds the settings of all indexes. Delete its documents instead."
            )
        folder = Path(self._must(id_).where)
        gone = folder.with_name(f"{id_}.gone")
        try:
            folder.rename(gone)
            freed = bytes_in(gone)
            shutil.rmtree(gone)
        except OSError as error:
            raise StoreError(
                f"Part of the index could not be deleted: {error.strerror or error}.",
                hint="Close other programs that use its files. The rest is deleted the next time Lectern starts.",
            ) from error
        return freed

    def free_name(self, name: str) -> str:
        """The name, or "name 2" where an index has it."""
        taken = {index.name.casefold() for index in self.all()}
        name = shown_name(name) or FIRST_NAME
        number, free = 2, name
        while free.casefold() in taken:
            free, number = f"{name[: NAME_CHARS - 4]} {number}", number + 1
        return free

    def _made(self, name: str, ingest: IngestSettings | None, fill: Callable[[Library], None]) -> Index:
        if self.one_only:
            raise InputError(
                "A library on a server holds a single index.", hint="For another index, start Lectern with another database."
            )
        name, id_ = self._free(name), new_id()[:12]
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
            shutil.rmtree(draft, ignore_errors=True)  # there only when it was not made
        return self._must(id_)

    def _must(self, id_: str) -> Index:
        index = self.get(id_)
        if index is None:
            raise InputError("This index no longer exists.", hint="It was deleted. Choose another one.")
        return index

    def _free(self, name: str, id_: str = "") -> str:
        name = shown_name(name)
        if not name:
            raise InputError("The index has no name.", hint="Type one, such as Contracts.")
        if any(index.name.casefold() == name.casefold() and index.id != id_ for index in self.all()):
            raise InputError(f"There is already an index called {name}.", hint="Choose another name.")
        return name

    def _sweep(self) -> None:
        oldest = time.time() - LEFT_SECONDS
        for path in [*self._folder.glob("*.part"), *self._folder.glob("*.gone")]:
            with suppress(OSError):  # another process was quicker
                if path.suffix == ".gone" or path.stat().st_mtime < oldest:
                    shutil.rmtree(path)


def shown_name(name: str) -> str:
    """On one line, and not endless."""
    return " ".join("".join(each if each.isprintable() else " " for each in name).split())[:NAME_CHARS].strip()


def bytes_in(folder: Path) -> int:
    """Of all files in a folder and below; what goes meanwhile counts as it was or not at all."""
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            total += path.lstat().st_size if path.is_file() else 0
    return total


def _about(path: Path) -> dict[str, object]:
    """What an index says about itself; nothing where it says nothing, or nothing that can be read: a name is not worth the
    documents that it names."""
    try:
        about = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return about if isinstance(about, dict) else {}
