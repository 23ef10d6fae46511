"""The files inside a PDF, each read as it would be alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ragcore.errors import UnreadableFileError
from ragcore.readers.base import ReadOptions
from ragcore.readers.encodings import clean
from ragcore.readers.files_inside import FilesInside

if TYPE_CHECKING:
    import pypdfium2

LARGEST = 200_000_000  # bytes of all of them


class AttachedFiles:
    """Takes them out of the PDF while it is open, and reads them afterwards."""

    def __init__(self, options: ReadOptions) -> None:
        self._inside = FilesInside(options)
        self._files: list[tuple[str, bytes]] = []
        self._room = LARGEST

    def add(self, attachment: pypdfium2.PdfAttachment) -> None:
        import pypdfium2

        name = " ".join(clean(attachment.get_name()).split()) or "a file without a name"
        try:
            data = bytes(attachment.get_data())
        except (pypdfium2.PdfiumError, ValueError):
            data = b""
        self._room -= len(data)
        if data and self._room >= 0:
            self._files.append((name, data))
        else:
            self._inside.add_unread(name)

    def texts(self) -> Iterator[str]:
        """The name and the text of each that has text."""
        for name, data in self._files:
            try:
                yield self._inside.read(name, data)
            except UnreadableFileError:
                self._inside.add_unread(name)

    def report(self) -> None:
        """Name the files that were not read."""
        self._inside.report()
