"""Sources of documents other than uploads: a link, pasted text, a folder of the server, a database, a cloud
storage.

Each returns local files for `Intake.take`. A file may have an `origin`: a later file from there replaces it,
whatever its name.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from lectern.jobs.files import check_file, too_large
from lectern.settings import AllowedSources, IngestSettings
from ragcore.errors import InputError, MissingPackageError, RagError, TooLargeError
from ragcore.readers import table_rows
from ragcore.readers.database import READ_ONLY, DatabaseReader, limit_connections
from ragcore.readers.encodings import is_text, is_text_file
from ragcore.readers.file_listing import Listing, LocalFiles, name_of, passed_over_error, readable_files
from ragcore.readers.registry import has_reader, suffix_of
from ragcore.readers.web.download import Limits, anywhere, fetch, is_public, plain_name, public_address
from ragcore.schema import new_id
from ragcore.sql.sqlite import NoRoomError

if TYPE_CHECKING:
    from sqlalchemy import URL

TITLE_CHARS = 60
# Other options of a database's address may name files and servers.
PLAIN_OPTIONS = frozenset({"charset", "sslmode"})
# fsspec knows other storages, and local files.
STORAGES = frozenset({"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "oci", "memory"})

_QUOTED = re.compile(r"""'[^'\\]*'|"[^"\\]*\"""")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to be added (it is moved), or the `problem` why there is none."""

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
) -> SourceFile:
    """Fetch a web link. InputError. `progress` is called with bytes, in this thread; its exceptions end the
    download."""
    target = into / f"{new_id()}.part"
    limits = Limits(max_mb * 1_000_000, allows=anywhere if allowed.private_network else is_public)
    with _removed_on_error(target):
        file = fetch(link, target, limits, progress)
    return SourceFile(file.path, file.name, file.link)


def from_text(text: str, title: str, into: Path) -> SourceFile:
    """A pasted text; without a title its first words are its name. InputError for an empty text."""
    if not text.strip():
        raise InputError("There is no text in it.", hint="Paste or type the text, then add it.")
    title = " ".join(title.split())[: 2 * TITLE_CHARS]
    first_words = " ".join(text.split())
    if len(first_words) > TITLE_CHARS:
        first_words = first_words[:TITLE_CHARS].rsplit(" ", 1)[0]
    target = into / f"{new_id()}.txt"
    target.write_text(text, "utf-8")
    # Two texts may begin with the same words, but a text with a title is a new version of the text with that
    # title.
    origin = "" if title else f"text:{hashlib.sha256(text.encode()).hexdigest()}"
    return SourceFile(target, f"{plain_name(title or first_words)}.txt", origin)


def from_folder(folder: str, into: Path, allowed: AllowedSources, *, max_mb: int) -> Iterator[SourceFile]:
    """All readable files in a folder of this machine and its subfolders. The last one lists the files that
    were passed over. InputError for a folder that is not allowed."""
    root = _allowed_folder(folder, allowed)

    def is_readable(path: str) -> bool:
        try:
            if not Path(path).resolve(strict=True).is_relative_to(root):
                return True  # `_copy` returns an error with its name
            return _has_known_suffix(path) or is_text_file(Path(path))
        except OSError:
            return True

    listing = readable_files(str(root), LocalFiles(), is_readable)
    passed_over = passed_over_error(root.name, listing.passed_over)
    if not listing.paths:
        what = f"There are no documents in {folder}."
        raise InputError(
            f"{what} {passed_over.what}" if passed_over else what, hint="Check the folder and its subfolders."
        )
    for path in listing.paths:
        yield _copy(Path(path), root, into, max_mb)
    if passed_over:
        yield SourceFile(root, root.name, problem=passed_over)


def from_file(path: Path, into: Path, ingest: IngestSettings | None = None) -> SourceFile:
    """A copy of a file of this machine. Its path is its origin, so other files of its name are not replaced.
    NoRoomError."""
    copy, problem = into / f"{new_id()}{path.suffix}", None
    try:
        check_file(path, path.name, ingest or IngestSettings())
        with _removed_on_error(copy):
            shutil.copyfile(path, copy)
    except InputError as error:
        problem = error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise NoRoomError(copy) from error
        raise
    return SourceFile(copy, path.name, str(path.resolve()), problem)


def from_database(
    address: str, query: str, into: Path, allowed: AllowedSources, *, title: str = "", max_mb: int
) -> SourceFile:
    """The rows of a query, each with the names of its columns. InputError, ConfigError,
    MissingPackageError."""
    if not re.match(r"\s*(?:SELECT|WITH|VALUES|TABLE)\b", query, re.I) or not _is_one_statement(query):
        raise InputError(
            "Only queries that read data can be added.", hint="Write one that begins with SELECT."
        )
    reader = DatabaseReader(uri=address.strip())
    try:
        limit_connections(reader.engine, _check_server(reader.engine.url, allowed))
        target = into / f"{new_id()}.txt"
        with _removed_on_error(target):
            _write_rows(reader, query, target, max_mb)
        place = reader.engine.url.render_as_string(hide_password=True)
    finally:
        reader.engine.dispose()
    table = re.search(r"\bFROM\s+[\"'`\[]?([\w.]+)", query, re.I)
    database = PurePosixPath(reader.engine.url.database or "").stem or reader.engine.dialect.name
    name = plain_name(title) or (f"{table[1]} from {database}" if table else f"rows from {database}")
    digest = hashlib.sha256(" ".join(query.split()).rstrip("; ").encode()).hexdigest()
    return SourceFile(target, f"{name}.txt", f"{place}#{digest[:16]}")


def is_storage(address: str) -> bool:
    """Whether a text is an address for `from_storage` rather than a link or a path."""
    return urlsplit(address).scheme in STORAGES


def from_storage(address: str, into: Path, allowed: AllowedSources, *, max_mb: int) -> Iterator[SourceFile]:
    """The file at an address of fsspec, such as s3://reports/2024.pdf, or the files in a folder there."""
    address = address.strip()
    if not is_storage(address) or "::" in address:
        raise InputError(
            f"{address} is not the address of a storage.",
            hint="Write it like s3://bucket/folder or gs://bucket.",
        )
    roots = [root.rstrip("/") for root in allowed.storage]
    if ".." in address.split("/") or not any(
        address == root or address.startswith(f"{root}/") for root in roots
    ):
        raise InputError(
            f"{address} may not be read here.",
            hint="The administrator of this server can allow it, and chooses what, with LECTERN_STORAGE.",
        )
    try:
        import fsspec
    except ImportError as error:
        raise MissingPackageError("fsspec", extra="fsspec") from error
    try:
        fs, path = fsspec.core.url_to_fs(address)
        listing = (
            readable_files(path, fs, lambda each: _is_readable(fs, each))
            if fs.isdir(path)
            else Listing([path], {})
        )
        if not listing.paths or not fs.exists(listing.paths[0]):
            raise InputError(f"There are no documents at {address}.", hint="Check the address.")
        for each in listing.paths:
            yield _download(fs, each, into, f"{urlsplit(address).scheme}://{each.lstrip('/')}", max_mb)
        name = name_of(path.rstrip("/")) or address
        if passed_over := passed_over_error(name, listing.passed_over):
            yield SourceFile(into, name, problem=passed_over)
    except ImportError as error:  # of the package for one kind of storage
        raise InputError(
            f"{address} cannot be read: {error}.", hint="Install the package that it names."
        ) from error
    except RagError:
        raise
    except Exception as error:  # each kind of storage has errors of its own
        raise _read_error(address, error) from error


def _read_error(address: str, error: Exception) -> InputError:
    return InputError(
        f"{address} could not be read: {error}.",
        hint="Check the address, and that this server is allowed to read it.",
    )


def _download(fs: Any, path: str, into: Path, origin: str, max_mb: int) -> SourceFile:
    name = name_of(path)
    target = into / f"{new_id()}{suffix_of(name)}"
    try:
        if problem := too_large(name, fs.info(path).get("size") or 0, max_mb):
            return SourceFile(target, name, origin, problem)
        with _removed_on_error(target), fs.open(path, "rb") as source, target.open("wb") as file:
            shutil.copyfileobj(source, file)
    except Exception as error:  # noqa: BLE001 - each kind of storage has errors of its own
        return SourceFile(target, name, origin, _read_error(origin, error))
    return SourceFile(target, name, origin)


@contextmanager
def _removed_on_error(target: Path) -> Iterator[None]:
    """Delete an incomplete file."""
    try:
        yield
    except BaseException:  # also when the process is ended: half a file must not stay
        target.unlink(missing_ok=True)
        raise


def _allowed_folder(folder: str, allowed: AllowedSources) -> Path:
    try:
        path = Path(folder.strip()).expanduser().resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        path = None
    if (
        path is not None
        and path.is_dir()
        and any(path.is_relative_to(root.resolve()) for root in allowed.folders)
    ):
        return path
    # The same error for a folder that does not exist, so that nobody learns which folders this machine has.
    raise InputError(
        f"{folder.strip()[:200]} is not among the folders that may be added.",
        hint="These may, and what is in them: " + ", ".join(map(str, allowed.folders)) + "."
        if allowed.folders
        else "The administrator of this server can allow folders with LECTERN_FOLDERS.",
    )


def _copy(path: Path, root: Path, into: Path, max_mb: int) -> SourceFile:
    """A copy of the file, or an error if it is a link out of the folder."""
    target = into / f"{new_id()}{path.suffix}"
    origin = str(path)
    try:
        true = path.resolve(strict=True)
        if not true.is_relative_to(root):
            raise InputError(
                f"{path.name} is a link that leads out of its folder.", hint="Add the folder it points to."
            )
        if problem := too_large(path.name, true.stat().st_size, max_mb):
            raise problem
        with (
            os.fdopen(os.open(true, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as source,
            target.open("wb") as copy,
        ):
            shutil.copyfileobj(source, copy)
    except InputError as error:
        return SourceFile(target, path.name, origin, error)
    except OSError as error:
        target.unlink(missing_ok=True)
        unread = InputError(
            f"{path.name} could not be opened: {error.strerror}.",
            hint="Check that you are allowed to read it.",
        )
        return SourceFile(target, path.name, origin, unread)
    return SourceFile(target, path.name, origin)


def _is_one_statement(query: str) -> bool:
    """Whether semicolons are only at the end, or in string literals that mean the same in every database:
    without comments, other quotes and escapes."""
    query = query.rstrip("; \n")
    return ";" not in query or not re.search(r"[;`$#\\]|--|/\*", _QUOTED.sub("", query))


def _check_server(url: URL, allowed: AllowedSources) -> str | None:
    """The address of the server to connect to; None for any address, or for a file. InputError if it is not
    allowed.

    Files need `allowed.folders`, and private servers `allowed.private_network`. A database without a
    read-only mode is refused.
    """
    if url.get_backend_name() not in READ_ONLY:
        raise InputError(
            f"Databases of the type {url.get_backend_name()} cannot be read.",
            hint=(
                "PostgreSQL, MySQL, MariaDB and SQLite can be read. From other databases, save the rows "
                "as CSV and add that file."
            ),
        )
    if url.get_backend_name() == "sqlite":
        path = Path(url.database or "").resolve()
        if (
            not url.database
            or not any(path.is_relative_to(root.resolve()) for root in allowed.folders)
            or not path.is_file()
        ):
            raise InputError(
                f"{url.database or 'This database'} is not among the files that may be read.",
                hint="The administrator of this server can allow folders with LECTERN_FOLDERS.",
            )
    elif not url.host or url.query.keys() - PLAIN_OPTIONS:
        # other options could open or send files of this machine
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
    """Write a paragraph for each row, with the names of the columns."""
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
                raise TooLargeError(
                    f"The query returns more than {max_mb} MB of text.", hint="Ask for fewer rows or columns."
                )
    if not names:
        raise InputError("The query returns no rows.", hint="Check what it asks for.")


def _has_known_suffix(path: str) -> bool:
    return has_reader(path) or suffix_of(path) == ".zip"


def _is_readable(fs: Any, path: str) -> bool:
    if _has_known_suffix(path):
        return True
    with fs.open(path, "rb") as file:
        return is_text(file, fs.info(path).get("size") or 0)
