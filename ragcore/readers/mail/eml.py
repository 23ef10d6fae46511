"""Mail: the headers with people, date and subject, then the message and its attachments."""

from __future__ import annotations

import re
from dataclasses import dataclass
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.message import EmailMessage
from pathlib import Path

from ragcore.errors import (
    DamagedFileError,
    EmptyFileError,
    EncryptedFileError,
    NoTextError,
    UnreadableFileError,
)
from ragcore.readers.base import ReadOptions, read_text, report_broken
from ragcore.readers.encodings import clean, decode, decode_and_count, decode_as, is_text_file
from ragcore.readers.files_inside import FilesInside
from ragcore.readers.mail.attachments import attached_texts, file_name, is_attached
from ragcore.readers.mail.invitations import event_text
from ragcore.readers.mail.message_parsing import MAX_PARSED, parse_message, parts_of, payload_of
from ragcore.readers.mail.quoted_replies import remove_quote_marks, write_headers
from ragcore.readers.page_spans import join_pages
from ragcore.readers.web.html_text import html_text
from ragcore.schema import Document, Scalar

SUFFIXES = (".eml", ".mht", ".mhtml")
PARSERS = ("lxml.html", "selectolax.lexbor", "trafilatura")

# the standard library's form of other bytes than ASCII in a header
_RAW_BYTES = re.compile("[\udc80-\udcff]")
_LINK = re.compile(r"https?://\S+")
_WORD = re.compile(r"\w+")
_BETWEEN = re.compile(r"\?=\s+=\?")  # encoded words; the standard library decodes line by line
_HEADERS = ("From", "To", "Cc", "Date", "Subject")


def read(path: Path, options: ReadOptions) -> Document:
    data = path.read_bytes()
    if not data.strip():
        raise EmptyFileError(
            f"{options.name} is empty.", hint="Save the message again from your mail program."
        )
    message = parse_message(data)
    if not message.keys():
        if is_text_file(path):  # a body without headers
            return Document(read_text(path, options), metadata={"file_name": options.name})
        raise DamagedFileError(
            f"The content of {options.name} is not an email message.",
            hint="Save the message again from your mail program.",
        )
    inside = FilesInside(options)
    words, broken = _message_text(message, options.name)
    text, pages = join_pages([("", words), *attached_texts(message, inside)])
    if not text.strip():
        raise NoTextError(
            f"{options.name} has no text in it.", hint="Save the message again from your mail program."
        )
    metadata: dict[str, Scalar] = {"file_name": options.name}
    if subject := header(message, "Subject"):
        metadata["title"] = subject
    if sender := header(message, "From"):
        metadata["author"] = sender
    inside.report()
    report_broken(options, broken)
    return Document(text, metadata=metadata, pages=pages[1:], page_word="part")


def header(message: EmailMessage, name: str) -> str:
    """The decoded header on one line; "" if it is missing."""
    raw = next((str(raw) for key, raw in message.raw_items() if key.lower() == name.lower()), "")
    if _RAW_BYTES.search(raw):  # without a declared encoding
        return " ".join(decode(raw.encode("utf-8", "surrogateescape"), name).split())
    try:
        value = str(
            message.get(name, "")
            if len(raw) <= MAX_PARSED
            else make_header(decode_header(_BETWEEN.sub("?=\n=?", raw)))
        )
    except (ValueError, IndexError, AttributeError, TypeError, LookupError, RecursionError, HeaderParseError):
        # The standard library's parser fails on some malformed addresses, which are then not decoded.
        value = raw
    return " ".join(clean(value).split())


def text_or_headers(message: EmailMessage, name: str) -> tuple[str, int]:
    """Like `_message_text`, but only the headers of a message that cannot be read, such as an encrypted
    one."""
    try:
        return _message_text(message, name)
    except UnreadableFileError:
        return _head(message), 0


def _message_text(message: EmailMessage, name: str) -> tuple[str, int]:
    """The text, and the number of � for characters that could not be decoded. UnreadableFileError."""
    content = _content(message, name)
    if content.unread and not content.body:
        raise content.unread[0][1]
    kind = message.get_content_type()
    if kind in ("application/pkcs7-mime", "multipart/encrypted") and not content.body.strip():
        raise EncryptedFileError(
            f"{name} is an encrypted message.", hint="Open it in your mail program and save its text."
        )
    parts = [_head(message), clean(content.body).strip()]
    if content.attached:
        parts.append("Attached: " + ", ".join(content.attached))
    if content.unread:
        parts.append("Not readable: " + ", ".join(dict.fromkeys(part for part, _ in content.unread)))
    return "\n\n".join(part for part in parts if part), content.broken


def _head(message: EmailMessage) -> str:
    return "\n".join(f"{key}: {value}" for key in _HEADERS if (value := header(message, key)))


@dataclass(frozen=True, slots=True)
class _Content:
    """The content of a part of a message."""

    texts: tuple[str, ...] = ()
    attached: tuple[str, ...] = ()  # names of files
    unread: tuple[tuple[str, UnreadableFileError], ...] = ()  # names or types of parts that cannot be read
    broken: int = 0  # characters

    @property
    def body(self) -> str:
        return "\n\n".join(dict.fromkeys(text for text in self.texts if text.strip()))


def _content(part: EmailMessage, name: str) -> _Content:
    kind = part.get_content_type()
    if is_attached(part):
        return _Content(attached=(file_name(part),))
    if kind.startswith("text/") and not part.is_multipart():
        try:
            text, broken = _part_text(part, name)
            return _Content((text,), broken=broken)
        except EmptyFileError:  # only white space
            return _Content()
        except UnreadableFileError as error:
            return _Content(unread=((file_name(part) or kind, error),))
    inner = parts_of(part)
    if kind == "message/delivery-status":  # its fields are headers (RFC 3464)
        return _Content(
            tuple("\n".join(f"{key}: {header(fields, key)}" for key in fields) for fields in inner)
        )
    if kind == "message/rfc822":
        messages = [text_or_headers(message, name) for message in inner]
        return _Content(tuple(text for text, _ in messages), broken=sum(broken for _, broken in messages))
    contents = [(each.get_content_type(), _content(each, name)) for each in inner]
    chosen = (
        _choose_alternative(contents)
        if kind == "multipart/alternative"
        else [content for _, content in contents]
    )
    return _Content(
        tuple(text for content in chosen for text in content.texts),
        tuple(name for content in chosen for name in content.attached),
        tuple(part for content in chosen for part in content.unread),
        sum(content.broken for content in chosen),
    )


def _choose_alternative(contents: list[tuple[str, _Content]]) -> list[_Content]:
    """From parts with their types that should have the same content, the one with most content, preferably
    plain text, and an invitation."""
    invitations = [content for kind, content in contents if kind == "text/calendar"]
    texts = []
    for kind, content in sorted(contents, key=lambda each: each[0] != "text/plain"):  # a stable sort
        words = set(_WORD.findall(_LINK.sub("", content.body).lower()))
        if words and kind != "text/calendar":
            texts.append((content, words))
    if not texts:
        return [content for _, content in contents[-1:]]
    best, words = texts[0]
    for content, more in texts[1:]:
        if _weight(more - words) > _weight(words - more) + max(2, len(words) // 10):
            best, words = content, more
    return [best, *invitations[:1]]


def _weight(words: set[str]) -> int:
    """The information in these words: a price or a date counts more than a word."""
    return sum(3 if any(sign.isdigit() for sign in word) else 1 for word in words)


def _part_text(part: EmailMessage, name: str) -> tuple[str, int]:
    """The text, and how many characters could not be decoded."""
    data = payload_of(part)
    if not data.strip(b" \t\r\n\0"):
        return "", 0
    kind = part.get_content_type()
    decoded = decode_as(data, str(part.get_param("charset") or ""))
    text, broken = decoded or decode_and_count(data, name, declares=kind == "text/html")
    text = clean(text)
    if kind == "text/calendar":
        return event_text(text), broken
    return write_headers(html_text(text) if kind == "text/html" else remove_quote_marks(text)), broken
