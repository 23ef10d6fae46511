"""What is attached to a message, each file read as it would be alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from email.message import EmailMessage

from ragcore.errors import NoTextError, UnreadableFileError, UnsupportedFileError
from ragcore.readers.base import ReadOptions
from ragcore.readers.encodings import clean
from ragcore.readers.registry import read_file
from ragcore.readers.temporary_file import nameless

TOLD = 5  # names of files that were not read

_SIGNATURES = ("application/pkcs7-signature", "application/x-pkcs7-signature", "application/pgp-signature")


class Attachments:
    """Reads those of one file's messages, and keeps the names of those that cannot be read."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._unread: list[str] = []
        self._steps = 0  # of all attachments together, so that each is seen to get on

    def texts(self, message: EmailMessage) -> Iterator[tuple[str, str]]:
        """(name, text) of each that has text, also of those of messages that are forwarded in this one."""
        for part in message.walk():
            if isinstance(part, EmailMessage) and _counts(part):
                name = file_name(part)
                try:
                    text = self._text(part, name)
                except UnreadableFileError as error:
                    if not (isinstance(error, NoTextError) and part.get_content_maintype() == "image"):  # such as a photograph
                        self._unread.append(name)
                    continue
                yield name, f"{name}\n\n{text}"

    def tell(self) -> None:
        """Which were not read."""
        if not self._unread:
            return
        unread = list(dict.fromkeys(self._unread))
        names = ", ".join(unread[:TOLD] + ["…"] * (len(unread) > TOLD))
        self._options.left_out(
            UnsupportedFileError(
                f"{self._options.name} was read without what is attached to it as {names}.",
                hint="Save it from your mail program, in a format that is read here, and add that.",
            )
        )

    def _text(self, part: EmailMessage, name: str) -> str:
        payload = part.get_payload(decode=True)
        done = self._steps

        def progress(steps: int, total: int) -> None:
            self._steps = done + steps
            self._options.progress(self._steps, 0)

        with nameless() as copy:
            copy.write_bytes(payload if isinstance(payload, bytes) else b"")
            return read_file(copy, replace(self._options, name=name, progress=progress)).text


def is_attached(part: EmailMessage) -> bool:
    """Whether it is a file, and none of the texts that the message shows."""
    attached = part.get_content_disposition() == "attachment" or part.get_content_maintype() != "text"
    return not part.is_multipart() and attached and bool(file_name(part))


def file_name(part: EmailMessage) -> str:
    """On one line; "" when it has none."""
    try:
        return " ".join(clean(part.get_filename() or "").split())
    except (ValueError, IndexError, AttributeError, TypeError, LookupError):
        return "a file without a readable name"


def _counts(part: EmailMessage) -> bool:
    """Not what belongs to the message's look, such as a logo or what a web page shows, or seals it."""
    looks = part.get_content_maintype() == "image" and part.get_content_disposition() != "attachment"
    return is_attached(part) and not looks and part.get_content_type() not in _SIGNATURES and not part["Content-Location"]
