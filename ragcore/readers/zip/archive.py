"""Unpacks zip archives into a folder.

Members are written under new names, so that no path in an archive is ever used as a path on this machine.
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
MAX_RATIO = 250  # of unpacked to packed size, if the unpacked size is over RATIO_FROM
RATIO_FROM = 20_000_000  # bytes
MAX_DEPTH = 2  # a zip, and the zips in it
BLOCK = 1 << 20  # bytes read at once
AES = 99  # the compression method that means AES encryption, which zipfile does not support

_CANNOT_WRITE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES})


@dataclass(frozen=True, slots=True)
class Unpacked:
    """A member of an archive: its name in the archive, and the path of its file, or the error if it has
    none."""

    name: str
    path: Path
    error: RagError | None = None


def unpack(path: Path, into: Path, options: ReadOptions) -> list[Unpacked]:
    """Write the files of the archive into the folder `into`, which is created. They keep their order.
    Progress is in bytes.

    Files that operating systems add are omitted. A member that cannot be read has its error. If members are
    skipped, the last item has the name of the archive and a PassedOverError that names them. An error of the
    whole archive is raised, and `into` stays empty: UnsafeArchiveError, TooLargeError, EncryptedFileError,
    DamagedFileError, EmptyFileError, or StoreError if the disk has no room.
    """
    into.mkdir(parents=True, exist_ok=True)
    unpacker = _Unpacker(into, options)
    try:
        members = list(unpacker.members(path, "", 1))
    except BaseException:  # also an interruption: no half of an archive stays
        for file in into.glob("member-*"):
            file.unlink()
        raise
    if not members:
        raise EmptyFileError(
            f"{options.name} is an archive with no files in it.", hint="Make it again with the files in it."
        )
    if error := passed_over_error(options.name, unpacker.passed_over):
        members.append(Unpacked(options.name, path, error))
    return members


class _Unpacker:
    """Unpacks an archive and the archives in it, with limits for all of them together."""

    def __init__(self, into: Path, options: ReadOptions) -> None:
        self.passed_over: dict[str, list[str]] = {}  # names of skipped members, by kind
        self._into = into
        self._options = options
        self._files = 0
        self._bytes = 0
        self._total = 0  # bytes of the members, as the outer archive states them

    def members(self, path: Path, prefix: str, depth: int) -> Iterator[Unpacked]:
        """The members of the archive at `path`. `prefix` is its name if it is inside another one."""
        name = self._options.name
        try:
            archive = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise DamagedFileError(
                f"{prefix or name} could not be opened: it is damaged, or not a zip archive.",
                hint="Copy or download it again.",
            ) from error
        with archive:
            entries = archive.infolist()
            names = [member.replace("\\", "/") for member in names_of(entries)]
            files = [
                (entry, member)
                for entry, member in zip(entries, names, strict=True)
                if not member.endswith("/")
            ]
            for entry, member in files:
                _check_place(entry, member, name)
            _check_sizes([entry for entry, _ in files], name)
            files = [(entry, member) for entry, member in files if not _is_of_system(PurePosixPath(member))]
            readable = sum(not kind_passed_over(PurePosixPath(member)) for _, member in files)
            if self._files + readable > MAX_FILES:
                raise self._too_many()
            self._total = self._total or sum(entry.file_size for entry, _ in files)
            for entry, member in files:
                place = PurePosixPath(member)
                member = re.sub(r"[\x00-\x1f\x7f\ud800-\udfff]", "�", member) or "a file without a name"
                shown = f"{prefix}/{member}" if prefix else member
                if kind := kind_passed_over(place):
                    self.passed_over.setdefault(kind, []).append(shown)
                else:
                    yield from self._member(archive, entry, member, shown, depth)

    def _too_many(self) -> TooLargeError:
        return TooLargeError(
            f"{self._options.name} contains more than {MAX_FILES:,} files.",
            hint="Split it into several archives.",
        )

    def _member(
        self, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, filename: str, shown: str, depth: int
    ) -> Iterator[Unpacked]:
        """The file, its error, or the members if it is an archive. `shown` is its name with those of the
        archives around it."""
        self._files += 1
        if self._files > MAX_FILES:
            raise self._too_many()
        suffix = suffix_of(shown)
        target = (
            self._into
            / f"member-{self._files:05d}{suffix if re.fullmatch(r'[.][a-z0-9]{1,10}', suffix) else ''}"
        )
        is_archive = suffix == ".zip"
        try:
            if is_archive and depth == MAX_DEPTH:
                raise UnsupportedFileError(
                    f"{shown} is an archive within an archive within an archive.",
                    hint="Unpack it and add what is in it.",
                )
            if not is_archive and entry.file_size == 0:
                raise EmptyFileError(
                    f"{shown} is empty.", hint="Save it again and put it in the archive again."
                )
            self._write(archive, entry, filename, target)
            if is_archive:
                yield from self.members(target, shown, depth + 1)
            else:
                check_readable(target, shown)
                yield Unpacked(shown, target)
        except UnreadableFileError as error:
            target.unlink(missing_ok=True)
            if isinstance(error, (TooLargeError, UnsafeArchiveError, EncryptedFileError)):
                raise
            yield Unpacked(shown, target, error)
        finally:
            if is_archive:
                target.unlink(missing_ok=True)

    def _write(self, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, filename: str, target: Path) -> None:
        name, password = self._options.name, self._options.password
        if entry.compress_type == AES:
            raise _packing_error(filename)
        if entry.flag_bits & 1 and password is None:
            raise EncryptedFileError.of(name, password)
        try:
            with (
                archive.open(entry, pwd=password.encode() if password else None) as source,
                target.open("wb") as file,
            ):
                written = 0
                while block := source.read(BLOCK):
                    written += len(block)
                    self._bytes += len(block)
                    self._options.progress(min(self._bytes, self._total), self._total)
                    if self._bytes > MAX_BYTES:
                        raise _bomb(name, f"would unpack to more than {MAX_BYTES // 1_000_000:,} MB")
                    if written > RATIO_FROM and written > MAX_RATIO * max(entry.compress_size, 1):
                        raise _bomb(name, "holds a file that unpacks to many times its size")
                    file.write(block)
        except (RuntimeError, zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno in _CANNOT_WRITE:
                raise StoreError(
                    f"The contents of {name} cannot be written to {target.parent}: {error.strerror}.",
                    hint=(
                        "Check that the disk has space and that you can write to this folder, then try again."
                    ),
                ) from error
            raise _translate(error, entry, filename, self._options) from error


def _is_of_system(place: PurePosixPath) -> bool:
    """Whether an operating system added this member."""
    return "__MACOSX" in place.parts or place.name in SYSTEM_FILES


def _check_place(entry: zipfile.ZipInfo, filename: str, name: str) -> None:
    if filename.startswith("/") or re.match(r"[A-Za-z]:", filename) or ".." in filename.split("/"):
        raise UnsafeArchiveError(
            f"{name} was not unpacked: it contains a file that would be written outside its folder "
            f"({filename[:80]!r}).",
            hint="Such archives are made to do harm. Ask the sender for the files themselves.",
        )
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise UnsafeArchiveError(
            f"{name} was not unpacked: it contains a link to another place ({filename[:80]!r}).",
            hint="Make the archive again with the files themselves.",
        )


def _check_sizes(entries: list[zipfile.ZipInfo], name: str) -> None:
    packed = sum(entry.compress_size for entry in entries)
    unpacked = sum(entry.file_size for entry in entries)
    if unpacked > MAX_BYTES:
        raise _bomb(name, f"would unpack to more than {MAX_BYTES // 1_000_000:,} MB")
    if unpacked > RATIO_FROM and unpacked > MAX_RATIO * max(packed, 1):
        raise _bomb(name, f"would unpack to {unpacked // max(packed, 1):,} times its size")


def _translate(error: Exception, entry: zipfile.ZipInfo, filename: str, options: ReadOptions) -> RagError:
    if isinstance(error, NotImplementedError):
        return _packing_error(filename)
    if isinstance(error, RuntimeError) or (
        entry.flag_bits & 1 and isinstance(error, zipfile.BadZipFile | zlib.error)
    ):
        return EncryptedFileError.of(options.name, options.password)
    return DamagedFileError(f"{filename} is damaged inside {options.name}.", hint="Make the archive again.")


def _packing_error(filename: str) -> UnsupportedFileError:
    return UnsupportedFileError(
        f"{filename} is packed or encrypted in a way that cannot be read here.",
        hint="Unpack the archive yourself and add the files in it.",
    )


def _bomb(name: str, why: str) -> UnsafeArchiveError:
    return UnsafeArchiveError(
        f"{name} was not unpacked: it {why}.",
        hint="If you trust it, unpack it yourself and add the files in it.",
    )
