"""Reads each file that is attached to a PDF like a separate file."""

from __future__ import annotations

from collections.abc import Iterator

from ragcore.errors import UnreadableFileError
from ragcore.readers.base import ReadOptions
from ragcore.readers.encodings import clean
from ragcore.readers.files_inside import FilesInside
from ragcore.readers.pdf import pdfium

MAX_BYTES = 200_000_000  # bytes of all attached files


class AttachedFiles:
    """Copies the files while the PDF is open, and reads them afterwards."""

    def __init__(self, options: ReadOptions) -> None:
        self._inside = FilesInside(options)
        self._files: list[tuple[str, bytes]] = []
        self._bytes_left = MAX_BYTES

    def add(self, attachment: pdfium.PdfAttachment) -> None:
        name = " ".join(clean(attachment.get_name()).split()) or "a file without a name"
        try:
            data = bytes(attachment.get_data())
        except (pdfium.PdfiumError, ValueError):
            data = b""
        self._bytes_left -= len(data)
        if data and self._bytes_left >= 0:
            self._files.append((name, data))
        else:
            self._inside.add_unread(name)

    def texts(self) -> Iterator[str]:
        """The name and the text of each file that has text."""
        for name, data in self._files:
            try:
                yield self._inside.read(name, data)
            except UnreadableFileError:
                self._inside.add_unread(name)

    def report(self) -> None:
        """Name the files that were not read."""
        self._inside.report()
