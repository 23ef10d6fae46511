"""The package of .docx, .pptx, .epub and OpenDocument files: a zip of XML parts, whose size is checked before
it is read."""

from __future__ import annotations

import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ragcore.errors import DamagedFileError, EncryptedFileError, TooLargeError
from ragcore.readers.web import safe_xml
from ragcore.schema import Scalar

if TYPE_CHECKING:
    from lxml.etree import _Element

Element: TypeAlias = "_Element"  # lxml is imported when the first part is read

MAX_UNPACKED = 1_000_000_000  # bytes of all parts together
MAX_PART = 300_000_000  # bytes of one part that is XML
MAX_RATIO = 250  # of the larger parts: honest XML shrinks to a tenth or a fiftieth
RATIO_FROM = 20_000_000  # bytes of a part, from which its ratio is limited
MAX_PARTS = 50_000


class Package:
    """The parts of a file by their path in the zip."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self._archive = archive
        self._name = name
        self.parts = {entry.filename.replace("\\", "/").lstrip("/"): entry for entry in archive.infolist()}

    def __contains__(self, part: str) -> bool:
        return part in self.parts

    def bytes(self, part: str) -> bytes:
        """DamagedFileError if the part is missing or cannot be unpacked."""
        entry = self.parts.get(part)
        if entry is None:
            raise damaged_error(self._name, f"its part {part} is missing")
        if entry.flag_bits & 1:
            raise EncryptedFileError(
                f"{self._name} is protected with a password.",
                hint="Save a copy without password and add that.",
            )
        if entry.file_size > MAX_PART:
            raise too_large_error(self._name)
        try:
            with self._archive.open(entry) as stream:
                data = stream.read(MAX_PART + 1)
        except (zipfile.BadZipFile, OSError, EOFError, ValueError, NotImplementedError, zlib.error) as error:
            raise damaged_error(self._name, f"its part {part} cannot be unpacked") from error
        if len(data) > MAX_PART:
            raise too_large_error(self._name)
        return data

    def xml(self, part: str) -> Element:
        return safe_xml.parse(self.bytes(part), self._name)

    def optional(self, part: str) -> Element | None:
        """The root of a part; None if it is missing or damaged."""
        try:
            return self.xml(part)
        except DamagedFileError:
            return None

    def main(self, usual: str, what: str) -> str:
        """The part that refers to the others. DamagedFileError, which says that the file is not `what`, if
        there is none."""
        for part in (*self.linked_parts("", "officeDocument"), usual):
            if part in self:
                return part
        raise damaged_error(self._name, f"its content is not {what}")

    def links(self, part: str) -> dict[str, tuple[str, str]]:
        """The parts that `part` refers to: id to (kind, path); {} if it refers to none."""
        folder, file = posixpath.split(part)
        relations = posixpath.join(folder, "_rels", f"{file}.rels")
        if relations not in self:
            return {}
        links = {}
        for link in self.xml(relations):
            if safe_xml.local(link) != "Relationship" or link.get("TargetMode") == "External":
                continue
            target = link.get("Target") or ""
            path = (
                target.lstrip("/")
                if target.startswith("/")
                else posixpath.normpath(posixpath.join(folder, target))
            )
            links[link.get("Id") or ""] = ((link.get("Type") or "").rpartition("/")[2], path)
        return links

    def linked_parts(self, part: str, kind: str) -> list[str]:
        """The paths of the existing parts of one kind that `part` refers to."""
        return [path for link, path in self.links(part).values() if link == kind and path in self]


@contextmanager
def package(path: Path, name: str) -> Iterator[Package]:
    """DamagedFileError if it is not a zip, TooLargeError if it would unpack to far more than an honest
    file."""
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise damaged_error(name, "its end is missing, or it is not what its name says") from error
    with archive:
        check_sizes(archive, name)
        yield Package(archive, name)


def check_sizes(archive: zipfile.ZipFile, name: str) -> None:
    entries = archive.infolist()
    unpacked = sum(entry.file_size for entry in entries)
    if unpacked > MAX_UNPACKED or len(entries) > MAX_PARTS:
        raise too_large_error(name)
    for entry in entries:
        if entry.file_size > RATIO_FROM and entry.file_size > MAX_RATIO * max(entry.compress_size, 1):
            raise too_large_error(name)


def too_large_error(name: str) -> TooLargeError:
    return TooLargeError(
        f"{name} would unpack to far more than such a file ever holds, and was not opened.",
        hint="If you trust it, open it in the program it comes from, save it again, and add that.",
    )


def damaged_error(name: str, why: str) -> DamagedFileError:
    return DamagedFileError(
        f"{name} could not be read: {why}.",
        hint="Open it in the program it comes from and save it again, or copy it again.",
    )


def title_and_author(root: Element | None) -> dict[str, Scalar]:
    """The first title and author below `root`, if it has them."""
    metadata: dict[str, Scalar] = {}
    for element in () if root is None else root.iter("{*}title", "{*}creator", "{*}initial-creator"):
        if value := " ".join((element.text or "").split()):
            metadata.setdefault("title" if safe_xml.local(element) == "title" else "author", value)
    return metadata
