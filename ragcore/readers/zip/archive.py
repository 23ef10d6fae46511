"""Zip archives: the files in one, unpacked where nothing can be overwritten, or the reason why not.

Members are written under names of our own, so that no path in the archive is ever used as a path on this machine.
"""

from __future__ import annotations

import errno
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ragcore.errors import (
    DamagedFileError,
    EmptyFileError,
    EncryptedFileError,
    RagError,
    StoreError,
    TooLargeError,
    UnreadableFileError,
    UnsafeArchiveError,
    UnsupportedFileError,
)
from ragcore.readers.base import ReadOptions
from ragcore.readers.file_listing import SYSTEM_FILES, kind_passed_over, passed_over_error
from ragcore.readers.registry import check_readable, suffix_of
from ragcore.readers.zip.member_names import names_of

MAX_FILES = 2_000
MAX_BYTES = 2_000_000_000  # of all members, unpacked
MAX_RATIO = 250  # unpacked to packed, of members over RATIO_FROM
RATIO_FROM = 20_000_000  # bytes
MAX_DEPTH = 2  # a zip, and the zips in it
BLOCK = 1 << 20  # bytes read at once
AES = 99  # the way of packing that stands for encryption with AES, which zipfile does not know

_NOT_WRITTEN = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES})


@dataclass(frozen=True, slots=True)
class Unpacked:
    """A member: its name in the archive, and where it lies now, or why it does not."""

    name: str
    path: Path
    error: RagError | None = None


class _Budget:
    def __init__(self, options: ReadOptions) -> None:
        self.options = options
        self.files = 0
        self.bytes = 0
        self.passed_over: dict[str, list[str]] = {}  # members, by their kind
        self.total = 0  # of the members, as the archive says; those of archives in it come on top

    def take(self, count: int) -> None:
        self.bytes += count
        self.options.progress(min(self.bytes, self.total), self.total)
        if self.bytes > MAX_BYTES:
            raise _bomb(self.options.name, f"would unpack to more than {MAX_BYTES // 1_000_000:,} MB")


def unpack(path: Path, into: Path, options: ReadOptions) -> list[Unpacked]:
    """The files in the archive, in its order, written into the folder `into`, which is made if need be. Progress is in bytes.

    What systems add is left out. A member that cannot be read is in the list with its error. Where files are passed over, the
    last one has the name of the archive, and a PassedOverError that names them. Errors of the whole archive are raised, and
    nothing stays in `into`: UnsafeArchiveError, TooLargeError, EncryptedFileError, DamagedFileError, EmptyFileError; StoreError
    where there is no room for them.
    """
    into.mkdir(parents=True, exist_ok=True)
    budget = _Budget(options)
    found: list[Unpacked] = []
    try:
        for member in _members(path, into, "", 1, budget):
            found.append(member)
    except BaseException:  # whatever broke it off, nothing half unpacked stays; it goes on
        for file in into.glob("member-*"):
            file.unlink()
        raise
    if not found:
        raise EmptyFileError(f"{options.name} is an archive with no files in it.", hint="Make it again with the files in it.")
    if left := passed_over_error(options.name, budget.passed_over):
        found.append(Unpacked(options.name, path, left))
    return found


def _members(path: Path, into: Path, prefix: str, depth: int, budget: _Budget) -> Iterator[Unpacked]:
    name = budget.options.name
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise DamagedFileError(
            f"{prefix or name} could not be opened: it is damaged, or not a zip archive.",
            hint="Copy or download it again.",
        ) from error
    with archive:
        everything = archive.infolist()
        named = [(each, member.replace("\\", "/")) for each, member in zip(everything, names_of(everything), strict=True)]
        files = [(entry, member) for entry, member in named if not member.endswith("/")]
        for entry, member in files:
            _check_place(entry, member, name)
        entries = [entry for entry, _ in files]
        _check_sizes(entries, name)
        budget.total = budget.total or sum(entry.file_size for entry in entries)
        for entry, member in files:
            place = PurePosixPath(member)
            if "__MACOSX" in place.parts or place.name in SYSTEM_FILES:
                continue
            if kind := kind_passed_over(place):
                budget.passed_over.setdefault(kind, []).append(_shown(f"{prefix}/{member}" if prefix else member))
            else:
                yield from _member(archive, entry, _shown(member), into, prefix, depth, budget)


def _member(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, member: str, into: Path, prefix: str, depth: int, budget: _Budget
) -> Iterator[Unpacked]:
    shown = f"{prefix}/{member}" if prefix else member
    budget.files += 1
    if budget.files > MAX_FILES:
        raise TooLargeError(
            f"{budget.options.name} contains more than {MAX_FILES:,} files.", hint="Split it into several archives."
        )
    target = into / f"member-{budget.files:05d}{_safe_suffix(shown)}"
    nested = suffix_of(shown) == ".zip"
    error = _refusal(shown, entry, nested, depth)
    if error is None:
        try:
            _write(archive, entry, member, target, budget)
            if not nested:
                check_readable(target, shown)
        except UnreadableFileError as failure:
            target.unlink(missing_ok=True)
            if isinstance(failure, (TooLargeError, UnsafeArchiveError, EncryptedFileError)):
                raise
            error = failure
    if error is not None:
        yield Unpacked(shown, target, error)
    elif nested:
        yield from _nested(target, into, shown, depth, budget)
    else:
        yield Unpacked(shown, target)


def _nested(path: Path, into: Path, shown: str, depth: int, budget: _Budget) -> Iterator[Unpacked]:
    try:
        yield from _members(path, into, shown, depth + 1, budget)
    except DamagedFileError as error:
        yield Unpacked(shown, path, error)
    finally:
        path.unlink(missing_ok=True)


def _refusal(shown: str, entry: zipfile.ZipInfo, nested: bool, depth: int) -> RagError | None:
    if nested:
        if depth < MAX_DEPTH:
            return None
        return UnsupportedFileError(
            f"{shown} is an archive within an archive within an archive.", hint="Unpack it and add what is in it."
        )
    return (
        EmptyFileError(f"{shown} is empty.", hint="Save it again and put it in the archive again.")
        if entry.file_size == 0
        else None
    )


def _check_place(entry: zipfile.ZipInfo, filename: str, name: str) -> None:
    if filename.startswith("/") or re.match(r"[A-Za-z]:", filename) or ".." in filename.split("/"):
        raise UnsafeArchiveError(
            f"{name} was not unpacked: it contains a file that would be written outside its folder ({filename[:80]!r}).",
            hint="Such archives are made to do harm. Ask the sender for the files themselves.",
        )
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise UnsafeArchiveError(
            f"{name} was not unpacked: it contains a link to another place ({filename[:80]!r}).",
            hint="Make the archive again with the files themselves.",
        )


def _check_sizes(entries: list[zipfile.ZipInfo], name: str) -> None:
    if sum(entry.file_size for entry in entries) > MAX_BYTES:
        raise _bomb(name, f"would unpack to more than {MAX_BYTES // 1_000_000:,} MB")
    packed = sum(entry.compress_size for entry in entries)
    unpacked = sum(entry.file_size for entry in entries)
    if unpacked > RATIO_FROM and unpacked > MAX_RATIO * max(packed, 1):
        raise _bomb(name, f"would unpack to {unpacked // max(packed, 1):,} times its size")


def _write(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, member: str, target: Path, budget: _Budget) -> None:
    name, password = budget.options.name, budget.options.password
    if entry.compress_type == AES:
        raise _unreadable(member)
    if entry.flag_bits & 1 and password is None:
        raise EncryptedFileError(f"{name} is protected with a password.", hint="Enter its password to read it.")
    try:
        with archive.open(entry, pwd=password.encode() if password else None) as source, target.open("wb") as file:
            written = 0
            while block := source.read(BLOCK):
                written += len(block)
                budget.take(len(block))
                if written > RATIO_FROM and written > MAX_RATIO * max(entry.compress_size, 1):
                    raise _bomb(name, "holds a file that unpacks to many times its size")
                file.write(block)
    except (RuntimeError, zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno in _NOT_WRITTEN:
            raise StoreError(
                f"The contents of {name} cannot be written to {target.parent}: {error.strerror}.",
                hint="Check that the disk has space and that you can write to this folder, then try again.",
            ) from error
        raise _translated(error, entry, member, name) from error


def _translated(error: Exception, entry: zipfile.ZipInfo, filename: str, name: str) -> RagError:
    if isinstance(error, NotImplementedError):
        return _unreadable(filename)
    if isinstance(error, RuntimeError) or (entry.flag_bits & 1 and isinstance(error, zipfile.BadZipFile | zlib.error)):
        return EncryptedFileError(f"The password for {name} is not right.", hint="Enter the password again.")
    return DamagedFileError(f"{filename} is damaged inside {name}.", hint="Make the archive again.")


def _unreadable(filename: str) -> UnsupportedFileError:
    return UnsupportedFileError(
        f"{filename} is packed or encrypted in a way that cannot be read here.",
        hint="Unpack the archive yourself and add the files in it.",
    )


def _bomb(name: str, why: str) -> UnsafeArchiveError:
    return UnsafeArchiveError(
        f"{name} was not unpacked: it {why}.", hint="If you trust it, unpack it yourself and add the files in it."
    )


def _shown(path: str) -> str:
    """A member's name as a person may see it: no control characters."""
    return re.sub(r"[\x00-\x1f\x7f\ud800-\udfff]", "�", path) or "a file without a name"


def _safe_suffix(name: str) -> str:
    suffix = PurePosixPath(name).suffix.lower()
    return suffix if re.fullmatch(r"\.[a-z0-9]{1,10}", suffix) else ""
