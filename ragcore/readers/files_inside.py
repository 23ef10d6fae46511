"""Reads the files inside another file, such as the attachments of a message or a PDF, with their own
readers."""

from __future__ import annotations

from ragcore.errors import UnsupportedFileError
from ragcore.readers.base import ReadOptions
from ragcore.readers.registry import read_file
from ragcore.readers.temporary_file import unnamed_file

LISTED = 5  # names of unread files in a message


class FilesInside:
    """Reads the files inside one file, and collects the names of the files that cannot be read."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._unread: dict[str, None] = {}  # an ordered set
        self._steps = 0  # of all files together, as the progress of each begins at 0

    def read(self, name: str, data: bytes) -> str:
        """The name of the file with its text below. UnreadableFileError."""
        steps = self._steps

        def progress(done: int, total: int) -> None:
            self._steps = steps + done
            self._options.progress(self._steps, 0)

        with unnamed_file() as copy:
            copy.write_bytes(data)
            return f"{name}\n\n{read_file(copy, self._options.inside(name, progress)).text}"

    def add_unread(self, name: str) -> None:
        self._unread[name] = None

    def report(self) -> None:
        """Report the names of the unread files to `options.on_loss`."""
        if self._unread:
            names = ", ".join([*self._unread][:LISTED] + ["…"] * (len(self._unread) > LISTED))
            self._options.on_loss(
                UnsupportedFileError(
                    f"{self._options.name} was read without the files inside it: {names}.",
                    hint="Save them as separate files, in a format that can be read, and add those.",
                )
            )
