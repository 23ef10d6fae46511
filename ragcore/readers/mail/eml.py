"""Mail: who wrote to whom, when and about what, then the message, and what was attached."""

from __future__ import annotations

from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

from ragcore.errors import DamagedFileError, EmptyFileError, EncryptedFileError, NoTextError, UnreadableFileError
from ragcore.readers.base import ReadOptions
from ragcore.readers.encodings import clean, decode
from ragcore.readers.mail.attachments import Attachments, file_name, is_attached
from ragcore.readers.mail.quoted_replies import laid_out, unmarked
from ragcore.readers.page_spans import joined
from ragcore.readers.web.html_text import html_text
from ragcore.schema import Document, Scalar

SUFFIXES = (".eml", ".mht", ".mhtml")

_HEADERS = ("From", "To", "Cc", "Date", "Subject")


def read(path: Path, options: ReadOptions) -> Document:
    data = path.read_bytes()
    if not data.strip():
        raise EmptyFileError(f"{options.name} is empty.", hint="Save the message again from your mail program.")
    message = parsed(data)
    if not message.keys():
        raise DamagedFileError(
            f"{options.name} is no mail message inside.", hint="Save the message again from your mail program."
        )
    attachments = Attachments(options)
    text, pages = joined([("", message_text(message, options.name)), *attachments.texts(message)])
    if not text.strip():
        raise NoTextError(f"{options.name} has no text in it.", hint="Save the message again from your mail program.")
    metadata: dict[str, Scalar] = {"file_name": options.name}
    if subject := header(message, "Subject"):
        metadata["title"] = subject
    if sender := header(message, "From"):
        metadata["author"] = sender
    attachments.tell()
    return Document(text, metadata=metadata, pages=pages[1:], page_word="part")


def parsed(data: bytes) -> EmailMessage:
    message = message_from_bytes(data.lstrip(), policy=policy.default)
    assert isinstance(message, EmailMessage)
    return message


def header(message: EmailMessage, name: str) -> str:
    """Decoded and on one line; "" when it is missing."""
    try:
        value = str(message.get(name, ""))
    except (ValueError, IndexError, AttributeError, TypeError, LookupError):
        # The standard library's parser stumbles over some malformed addresses: take them as they stand.
        value = next((str(raw) for key, raw in message.raw_items() if key.lower() == name.lower()), "")
    return " ".join(clean(value).split())


def among_others(message: EmailMessage, name: str) -> str:
    """The text of a message that is not alone; of one that cannot be read, such as an encrypted one, what stands above it."""
    try:
        return message_text(message, name)
    except UnreadableFileError:
        return _head(message)


def message_text(message: EmailMessage, name: str) -> str:
    body, attached, unread = _body(message, name)
    if message.get_content_type() in ("application/pkcs7-mime", "multipart/encrypted") and not body.strip():
        raise EncryptedFileError(f"{name} is an encrypted message.", hint="Open it in your mail program and save its text.")
    parts = [_head(message), clean(body).strip()]
    if attached:
        parts.append("Attached: " + ", ".join(attached))
    if unread:
        parts.append("Not readable: " + ", ".join(unread))
    return "\n\n".join(part for part in parts if part)


def _head(message: EmailMessage) -> str:
    return "\n".join(f"{key}: {value}" for key in _HEADERS if (value := header(message, key)))


def _body(message: EmailMessage, name: str) -> tuple[str, list[str], list[str]]:
    """The text, preferring plain to HTML where both say the same, the names of the attachments, and those of the parts that
    cannot be read, or their kinds. The first one's error where nothing can be read."""
    texts: list[str] = []
    attached: list[str] = []
    unread: dict[str, UnreadableFileError] = {}
    stack: list[EmailMessage] = [message]
    while stack:
        part = stack.pop()
        kind = part.get_content_type()
        if part.is_multipart():
            children = [child for child in part.iter_parts() if isinstance(child, EmailMessage)]
            if kind == "multipart/alternative":
                children = _best(children, name)
            elif kind == "message/rfc822" and part is not message:
                texts.extend(among_others(child, name) for child in children)
                continue
            stack.extend(reversed(children))
            continue
        if is_attached(part):
            attached.append(file_name(part))
        elif kind.startswith("text/"):
            try:
                texts.append(_part_text(part, name))
            except EmptyFileError:  # blank space
                pass
            except UnreadableFileError as error:
                unread.setdefault(file_name(part) or kind, error)
    body = "\n\n".join(text for text in texts if text.strip())
    if unread and not body:
        raise next(iter(unread.values()))
    return body, attached, list(unread)


def _best(children: list[EmailMessage], name: str) -> list[EmailMessage]:
    plain = [child for child in children if child.get_content_type() == "text/plain" and _has_text(child, name)]
    return plain[:1] or children[-1:]


def _has_text(part: EmailMessage, name: str) -> bool:
    try:
        return bool(_part_text(part, name).strip())
    except UnreadableFileError:
        return False


def _part_text(part: EmailMessage, name: str) -> str:
    payload = part.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else b""
    if not data.strip(b" \t\r\n\0"):
        return ""
    is_html = part.get_content_type() == "text/html"
    charset = str(part.get_param("charset") or "")
    try:
        text = clean(data.decode(charset))
    except (LookupError, UnicodeError):
        text = decode(data, name, declares=is_html)
    return laid_out(html_text(text) if is_html else unmarked(text))
