"""Mailboxes: many messages in one file, each after a line `From address date` (RFC 4155, with >From
quoting)."""

from __future__ import annotations

import re
from pathlib import Path

from ragcore.errors import DamagedFileError, EmptyFileError, NoTextError
from ragcore.readers.base import ReadOptions, report_broken
from ragcore.readers.files_inside import FilesInside
from ragcore.readers.mail.attachments import attached_texts
from ragcore.readers.mail.eml import header, text_or_headers
from ragcore.readers.mail.message_parsing import parse_message
from ragcore.readers.page_spans import join_pages
from ragcore.schema import Document

SUFFIXES = (".mbox", ".mbx")

_BEGIN = re.compile(rb"(?:\A|(?<=\n))From [^\n]*\n(?=[!-9;-~]+:|>?From )")
_ALONE = re.compile(rb"\AFrom [^\n]*\n")  # before a message without headers
_QUOTED = re.compile(rb"(?m)^>(>*From )")


def read(path: Path, options: ReadOptions) -> Document:
    data = path.read_bytes().replace(b"\r\n", b"\n")
    if not data.strip():
        raise EmptyFileError(
            f"{options.name} is empty.", hint="Export the mailbox again from your mail program."
        )
    begins = list(_BEGIN.finditer(data)) or list(_ALONE.finditer(data))
    if not begins:
        raise DamagedFileError(
            f"The content of {options.name} is not a mailbox.",
            hint="Export the mailbox again from your mail program.",
        )
    pages: list[tuple[str, str]] = []
    inside = FilesInside(options)
    broken = 0
    for number, begin in enumerate(begins):
        end = begins[number + 1].start() if number + 1 < len(begins) else len(data)
        message = parse_message(_QUOTED.sub(rb"\1", data[begin.end() : end]))
        text, count = text_or_headers(message, options.name)
        broken += count
        texts = [text, *(attached for _, attached in attached_texts(message, inside))]
        pages.append((header(message, "Subject") or str(number + 1), "\n\n".join(texts)))
        options.progress(number + 1, len(begins))
    text, spans = join_pages(pages)
    if not text:
        raise NoTextError(
            f"{options.name} contains messages without text.",
            hint="Export the mailbox again from your mail program.",
        )
    inside.report()
    report_broken(options, broken)
    return Document(text, metadata={"file_name": options.name}, pages=spans, page_word="message")
