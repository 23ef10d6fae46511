"""Reads the files that are attached to a message."""

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
    """(name, text) of each file with text, including the files of forwarded messages."""
    for part in message.walk():
        if isinstance(part, EmailMessage) and _is_content(part):
            name = file_name(part)
            try:
                yield name, inside.read(name, payload_of(part))
            except UnreadableFileError as error:
                # such as a photograph
                if not (isinstance(error, NoTextError) and part.get_content_maintype() == "image"):
                    inside.add_unread(name)


def is_attached(part: EmailMessage) -> bool:
    """Whether the part is a file and not a text that the message shows."""
    attached = part.get_content_disposition() == "attachment" or part.get_content_maintype() != "text"
    return not part.is_multipart() and attached and bool(file_name(part))


def file_name(part: EmailMessage) -> str:
    """The name on one line; "" if the part is not a file. A file without a name is named after its type."""
    try:
        name = " ".join(clean(part.get_filename() or "").split())
    except (ValueError, IndexError, AttributeError, TypeError, LookupError):
        return "a file without a readable name"
    kind = part.get_content_type()
    if name or part.get_content_maintype() != "application" or part["Content-ID"] or _SEALS.search(kind):
        return name
    return (
        "winmail.dat" if kind == "application/ms-tnef" else f"unnamed{mimetypes.guess_extension(kind) or ''}"
    )


def _is_content(part: EmailMessage) -> bool:
    """Whether the part is a file, and not a logo, a part of a web page or a signature."""
    looks = part.get_content_maintype() == "image" and part.get_content_disposition() != "attachment"
    return (
        is_attached(part)
        and not looks
        and part.get_content_type() not in _SIGNATURES
        and not part["Content-Location"]
    )
