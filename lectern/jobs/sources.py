"""Where documents come from beside uploads: a link, pasted text, a folder of the server, a database, a cloud's storage.

Each gives files on this machine, which go the way of every file from then on (Intake.take). A file that may be given again has
an `origin`: what comes from there later takes its place, whatever it is called by then.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from lectern.jobs.files import too_large
from lectern.settings import AllowedSources
from ragcore.errors import InputError, MissingPackageError, RagError, TooLargeError
from ragcore.readers import table_rows
from ragcore.readers.database import READ_ONLY, DatabaseReader, keep_to
from ragcore.readers.encodings import holds_text, is_text
from ragcore.readers.file_listing import Listing, LocalFiles, name_of, passed_over_error, readable_files
from ragcore.readers.registry import has_reader, suffix_of
from ragcore.readers.web.download import Limits, anywhere, fetch, is_public, plain_name, public_address
from ragcore.schema import new_id
from ragcore.sql.sqlite import NoRoomError

if TYPE_CHECKING:
    from sqlalchemy import URL

TITLE_CHARS = 60
PLAIN_OPTIONS = frozenset({"charset", "sslmode"})  # of a database's address; others may name files and servers
STORAGES = frozenset(
    {"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "oci", "memory"}
)  # fsspec knows others, and files

_QUOTED = re.compile(r"""'[^'\\]*'|"[^"\\]*\"""")


@dataclass(frozen=True, slots=True)
class Gathered:
    """A file to be taken in (it is moved); or why there is none, where `problem` says so."""

    path: Path
    name: str
    origin: str = ""
    problem: RagError | None = None


def from_link(
    link: str,
    into: Path,
    allowed: AllowedSources,
    *,
    max_mb: int,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Gathered:
    """What is at a web link. InputError. `progress` hears of the bytes, in this thread; what it raises ends the fetching."""
    target = into / f"{new_id()}.part"
    limits = Limits(max_mb * 1_000_000, allows=anywhere if allowed.private_network else is_public)
    try:
        found = fetch(link, target, limits, progress)
    except BaseException:  # half a file is of no use to anyone
        target.unlink(missing_ok=True)
        raise
    return Gathered(found.path, found.name, found.link)


def from_text(text: str, title: str, into: Path) -> Gathered:
    """A text that was pasted; without a title it is called by its first words. InputError for none."""
    if not text.strip():
        raise InputError("There is no text in it.", hint="Paste or type the text, then add it.")
    named = " ".join(title.split())[: 2 * TITLE_CHARS]
    name = f"{plain_name(named or _first_words(text))}.txt"
    target = into / f"{new_id()}.txt"
    target.write_text(text, "utf-8")
    # Two texts may begin alike; one that was named is a new version of the one with its name.
    return Gathered(target, name, "" if named else f"text:{hashlib.sha256(text.encode()).hexdigest()}")


def from_folder(folder: str, into: Path, allowed: AllowedSources, *, max_mb: int) -> Iterator[Gathered]:
    """The files in a folder of this machine and in those below that a reader takes; the last says which were passed over.
    InputError where it may not be read."""
    root = _allowed_folder(folder, allowed)

    def is_readable(path: str) -> bool:
        try:
            if not Path(path).resolve(strict=True).is_relative_to(root):
                return True  # and refused by its name
            return _is_taken(path) or holds_text(Path(path))
        except OSError:
            return True

    listing = readable_files(str(root), LocalFiles(), is_readable)
    left = passed_over_error(root.name, listing.passed_over)
    if not listing.paths:
        what = f"There are no documents in {folder}."
        raise InputError(f"{what} {left.what}" if left else what, hint="Check the folder and its subfolders.")
    for path in listing.paths:
        yield _copied(Path(path), root, into, max_mb)
    if left:
        yield Gathered(root, root.name, problem=left)


def from_file(path: Path, into: Path) -> Gathered:
    """A copy of a file of this machine. What comes from the same place again takes its place, and no other file of its name.
    NoRoomError on a full disk."""
    copy = into / f"{new_id()}{path.suffix}"
    try:
        shutil.copyfile(path, copy)
    except BaseException as error:  # half a file is of no use to anyone
        copy.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise NoRoomError(copy) from error
        raise
    return Gathered(copy, path.name, str(path.resolve()))


def from_database(address: str, query: str, into: Path, allowed: AllowedSources, *, title: str = "", max_mb: int) -> Gathered:
    """The rows of a query, each of which says what its values are. InputError, ConfigError, MissingPackageError."""
    if not re.match(r"\s*(?:SELECT|WITH|VALUES|TABLE)\b", query, re.I) or not _is_one_statement(query):
        raise InputError("Only queries that read data can be added.", hint="Write one that begins with SELECT.")
    reader = DatabaseReader(uri=address.strip())
    try:
        keep_to(reader.engine, _place(reader.engine.url, allowed))
        target = into / f"{new_id()}.txt"
        try:
            _write_rows(reader, query, target, max_mb)
        except BaseException:  # whatever broke it off, also a stop: nothing half written stays, and it goes on
            target.unlink(missing_ok=True)
            raise
        place = reader.engine.url.render_as_string(hide_password=True)
    finally:
        reader.engine.dispose()
    table = re.search(r"\bFROM\s+[\"'`\[]?([\w.]+)", query, re.I)
    database = PurePosixPath(reader.engine.url.database or "").stem or reader.engine.dialect.name
    name = plain_name(title) or (f"{table[1]} from {database}" if table else f"rows from {database}")
    return Gathered(
        target, f"{name}.txt", f"{place}#{hashlib.sha256(' '.join(query.split()).rstrip('; ').encode()).hexdigest()[:16]}"
    )


def from_storage(address: str, into: Path, allowed: AllowedSources, *, max_mb: int) -> Iterator[Gathered]:
    """The file at an address of fsspec's, such as s3://reports/2024.pdf, or the files in a folder there."""
    address = address.strip()
    scheme = urlsplit(address).scheme
    if scheme not in STORAGES or "::" in address:
        raise InputError(f"{address} is not the address of a storage.", hint="Write it like s3://bucket/folder or gs://bucket.")
    if ".." in address.split("/") or not any(_is_below(address, root) for root in allowed.storage):
        raise InputError(
            f"{address} may not be read here.",
            hint="The administrator of this server can allow it, and chooses what, with LECTERN_STORAGE.",
        )
    yield from _stored(address, into, max_mb)


def is_storage(address: str) -> bool:
    """Whether a text is an address for `from_storage` rather than a link or a path."""
    return urlsplit(address).scheme in STORAGES


def _stored(address: str, into: Path, max_mb: int) -> Iterator[Gathered]:
    try:
        import fsspec
    except ImportError as error:
        raise MissingPackageError("fsspec", extra="fsspec") from error
    try:
        fs, path = fsspec.core.url_to_fs(address)
        listing = readable_files(path, fs, lambda each: _is_stored_text(fs, each)) if fs.isdir(path) else Listing([path], {})
        paths = listing.paths
        scheme = urlsplit(address).scheme
        if not paths or not fs.exists(paths[0]):
            raise InputError(f"There are no documents at {address}.", hint="Check the address.")
        for each in paths:
            yield _downloaded(fs, each, into, f"{scheme}://{each.lstrip('/')}", max_mb)
        if left := passed_over_error(name_of(path.rstrip("/")) or address, listing.passed_over):
            yield Gathered(into, name_of(path.rstrip("/")) or address, problem=left)
    except ImportError as error:  # of the package for one kind of storage
        raise InputError(f"{address} cannot be read: {error}.", hint="Install the package that it names.") from error
    except RagError:
        raise
    except Exception as error:  # each kind of storage has errors of its own
        raise _unread(address, error) from error


def _unread(address: str, error: Exception) -> InputError:
    return InputError(
        f"{address} could not be read: {error}.", hint="Check the address, and that this server is allowed to read it."
    )


def _downloaded(fs: Any, path: str, into: Path, origin: str, max_mb: int) -> Gathered:
    name = name_of(path)
    target = into / f"{new_id()}{suffix_of(name)}"
    try:
        if problem := too_large(name, fs.info(path).get("size") or 0, max_mb):
            return Gathered(target, name, origin, problem)
        with fs.open(path, "rb") as source, target.open("wb") as file:
            shutil.copyfileobj(source, file)
    except Exception as error:  # noqa: BLE001 - each kind of storage has errors of its own
        target.unlink(missing_ok=True)
        return Gathered(target, name, origin, _unread(origin, error))
    except BaseException:  # half a file is of no use to anyone
        target.unlink(missing_ok=True)
        raise
    return Gathered(target, name, origin)


def _is_below(address: str, root: str) -> bool:
    return address == root.rstrip("/") or address.startswith(f"{root.rstrip('/')}/")


def _allowed_folder(folder: str, allowed: AllowedSources) -> Path:
    try:
        found = Path(folder.strip()).expanduser().resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        found = None
    if found is not None and found.is_dir() and any(found.is_relative_to(root.resolve()) for root in allowed.folders):
        return found
    # The same words for a folder that is not there, so that nobody learns what this machine has elsewhere.
    raise InputError(
        f"{folder.strip()[:200]} is not among the folders that may be added.",
        hint="These may, and what is in them: " + ", ".join(map(str, allowed.folders)) + "."
        if allowed.folders
        else "The administrator of this server can allow folders with LECTERN_FOLDERS.",
    )


def _copied(path: Path, root: Path, into: Path, max_mb: int) -> Gathered:
    """A copy of the file, unless a link leads out of the folder."""
    target = into / f"{new_id()}{path.suffix}"
    origin = str(path)
    try:
        true = path.resolve(strict=True)
        if not true.is_relative_to(root):
            raise InputError(f"{path.name} is a link that leads out of its folder.", hint="Add the folder it points to.")
        if problem := too_large(path.name, true.stat().st_size, max_mb):
            raise problem
        with os.fdopen(os.open(true, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as source, target.open("wb") as copy:
            shutil.copyfileobj(source, copy)
    except InputError as error:
        return Gathered(target, path.name, origin, error)
    except OSError as error:
        target.unlink(missing_ok=True)
        unread = InputError(
            f"{path.name} could not be opened: {error.strerror}.", hint="Check that you are allowed to read it."
        )
        return Gathered(target, path.name, origin, unread)
    return Gathered(target, path.name, origin)


def _is_one_statement(query: str) -> bool:
    """Where there are semicolons, they are at its end, or in texts that every database takes for such: no comments, no other
    quotes, nothing that is escaped."""
    query = query.rstrip("; \n")
    return ";" not in query or not re.search(r"[;`$#\\]|--|/\*", _QUOTED.sub("", query))


def _place(url: URL, allowed: AllowedSources) -> str | None:
    """Which address of the server to connect to; None where any may be, or there is none.

    A file counts as a file, a server as a link; and only what can be told to read and no more.
    """
    if url.get_backend_name() not in READ_ONLY:
        raise InputError(
            f"Databases of the type {url.get_backend_name()} cannot be read.",
            hint=(
                "PostgreSQL, MySQL, MariaDB and SQLite can be read. From other databases, save the rows as CSV and "
                "add that file."
            ),
        )
    if url.get_backend_name() == "sqlite":
        path = Path(url.database or "").resolve()
        if not url.database or not any(path.is_relative_to(root.resolve()) for root in allowed.folders) or not path.is_file():
            raise InputError(
                f"{url.database or 'This database'} is not among the files that may be read.",
                hint="The administrator of this server can allow folders with LECTERN_FOLDERS.",
            )
    elif not url.host or url.query.keys() - PLAIN_OPTIONS:  # which could make this machine open or send its files
        raise InputError(
            "The address of the database may contain a server, a user and a database, and nothing else.",
            hint="Write it like postgresql://name:password@server/database.",
        )
    elif not allowed.private_network:
        if address := public_address(url.host):
            return address
        raise InputError(
            f"{url.host} is this computer or in its network, where databases may not be read.",
            hint="The administrator of this server can allow it with LECTERN_PRIVATE_NETWORK.",
        )
    return None


def _write_rows(reader: DatabaseReader, query: str, target: Path, max_mb: int) -> None:
    """A paragraph for each row. The names of the columns stand in each."""
    names: list[str] = []

    def cells() -> Iterator[list[str]]:
        for columns, row in reader.rows(query, read_only=True):
            if not names:
                names.extend(columns)
                yield columns
            yield ["" if value is None else str(value) for value in row]

    size = 0
    with target.open("w", encoding="utf-8") as file:
        for line in table_rows.lines(cells(), name_rows=1):
            size += file.write(f"{line}\n\n")
            if size > max_mb * 1_000_000:
                raise TooLargeError(f"The query returns more than {max_mb} MB of text.", hint="Ask for fewer rows or columns.")
    if not names:
        raise InputError("The query returns no rows.", hint="Check what it asks for.")


def _is_taken(path: str) -> bool:
    """Whether the ending of a file alone says that it is taken in."""
    return has_reader(path) or suffix_of(path) == ".zip"


def _is_stored_text(fs: Any, path: str) -> bool:
    if _is_taken(path):
        return True
    with fs.open(path, "rb") as file:
        return is_text(file, fs.info(path).get("size") or 0)


def _first_words(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= TITLE_CHARS else words[:TITLE_CHARS].rsplit(" ", 1)[0]
