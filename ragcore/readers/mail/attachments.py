"""What is attached to a message, each file read as it would be alone."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Iterator
from email.message import EmailMessage

from ragcore.errors import NoTextError, UnreadableFileError
from ragcore.readers.encodings import clean
from ragcore.readers.files_inside import FilesInside
from ragcore.readers.mail.message_parsing import payload_of

_SEALS = re.compile("pgp|pkcs7")
_SIGNATURES = ("application/pkcs7-signature", "application/x-pkcs7-signature", "application/pgp-signature")


def attached_texts(message: EmailMessage, inside: FilesInside) -> Iterator[tuple[str, str]]:
    """(name, text) of each file that has text, also of those of messages that are forwarded in this one."""
    for part in message.walk():
        if isinstance(part, EmailMessage) and _counts(part):
            name = file_name(part)
            try:
                yield name, inside.read(name, payload_of(part))
            except UnreadableFileError as error:
                if not (isinstance(error, NoTextError) and part.get_content_maintype() == "image"):  # such as a photograph
                    inside.add_unread(name)


def is_attached(part: EmailMessage) -> bool:
    """Whether it is a file, and none of the texts that the message shows."""
    attached = part.get_content_disposition() == "attachment" or part.get_content_maintype() != "text"
    return not part.is_multipart() and attached and bool(file_name(part))


def file_name(part: EmailMessage) -> str:
    """On one line; "" for what is no file. A file without a name is called by its kind."""
    try:
        name = " ".join(clean(part.get_filename() or "").split())
    except (ValueError, IndexError, AttributeError, TypeError, LookupError):
        return "a file without a readable name"
    kind = part.get_content_type()
    if name or part.get_content_maintype() != "application" or part["Content-ID"] or _SEALS.search(kind):
        return name
    return "winmail.dat" if kind == "application/ms-tnef" else f"unnamed{mimetypes.guess_extension(kind) or ''}"


def _counts(part: EmailMessage) -> bool:
    """Not what belongs to the message's look, such as a logo or what a web page shows, or seals it."""
    looks = part.get_content_maintype() == "image" and part.get_content_disposition() != "attachment"
    return is_attached(part) and not looks and part.get_content_type() not in _SIGNATURES and not part["Content-Location"]
