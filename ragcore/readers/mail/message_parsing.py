"""Messages whose form is broken, as old and careless programs write them: parsed so that each still has its body."""

from __future__ import annotations

import base64
import binascii
import quopri
import re
from email import policy
from email.errors import MissingHeaderBodySeparatorDefect
from email.headerregistry import BaseHeader, HeaderRegistry
from email.message import EmailMessage
from email.parser import BytesFeedParser, BytesHeaderParser
from functools import lru_cache

_FIRST_HEADER = re.compile(
    rb"(?mi)^(?:From|To|Subject|Date|Received|Return-Path|Delivered-To|Message-ID|MIME-Version|Reply-To|Sender|X-[\w-]+):"
)
_HEADERS_OF_MAIL = re.compile(
    r"(?i)(?:from|to|cc|bcc|subject|date|received|return-path|delivered-to|message-id|mime-version|reply-to|sender|references"
    r"|in-reply-to|importance|priority|precedence|user-agent|organization|thread-\w+|errors-to|dkim-\w+|authentication-results"
    r"|received-spf|auto-submitted|[ax]-.*|arc-.*|list-.*|resent-.*|content-.*|disposition-.*|feedback-.*)"
)
_BOUNDARY = re.compile(rb"(?m)^--(\S{1,200})[ \t]*\r?\n(?=Content-[\w-]+:)")
_BASE64_LINES = re.compile(rb"\s*(?:[A-Za-z0-9+/]{16,}={0,2}\s*?\r?\n?)+\s*")
_CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f]")
_QUOTED_BYTE = re.compile(rb"=[0-9A-F]{2}")
_HAS_BODY = re.compile(rb"\n\r?\n\s*\S")

DEEPEST_PART = 50  # parts inside each other; the parser's time grows with the square of their number
LONGEST_PARSED = 50_000  # characters of a header; the time of its parser grows with their square


class _CachedHeaders(HeaderRegistry):
    """The standard library parses a header again each time that it is looked at, and these once."""

    def __init__(self) -> None:
        super().__init__()
        self._cached = lru_cache(1_000)(super().__call__)

    def __call__(self, name: str, value: str) -> BaseHeader:
        try:
            return self._cached(name, value[:LONGEST_PARSED])
        except RecursionError:  # of comments in brackets, which a kind needs none of
            if not name.lower().startswith("content-"):
                raise
            return self._cached(name, value.partition("(")[0])


_POLICY = policy.default.clone(header_factory=_CachedHeaders())
_HEADERS_ONLY = BytesHeaderParser(policy=_POLICY)


def parsed(data: bytes) -> EmailMessage:
    """The message, without what stands above its headers, and with the parts that its boundaries would have given."""
    data = data.lstrip()
    message = _parsed(data)
    if not message.keys() and (first := _FIRST_HEADER.search(data[:10_000])):
        message = _parsed(data[first.start() :])
    _restore_body(message)
    _restore_parts(message)
    return message


def parts_of(part: EmailMessage) -> list[EmailMessage]:
    """Those directly inside it."""
    return [inner for inner in part.iter_parts() if isinstance(inner, EmailMessage)]


def payload_of(part: EmailMessage) -> bytes:
    """The bytes of a part that has no others, by the encoding that it names, unless they are plainly in another one."""
    stated = str(part.get("Content-Transfer-Encoding", "")).strip().lower()
    raw = _raw(part)
    if stated.startswith("base64"):
        return _without_base64(raw)
    if stated.startswith("quoted-printable"):
        return quopri.decodestring(raw)
    if stated.startswith(("x-uue", "uue")):
        decoded = part.get_payload(decode=True)
        return decoded if isinstance(decoded, bytes) else raw
    if part.get_content_maintype() == "text" and _BASE64_LINES.fullmatch(raw) and b"\n" in raw.strip():
        decoded = _without_base64(raw)
        return raw if _CONTROLS.search(decoded) else decoded  # such as a list of licence keys
    if len(_QUOTED_BYTE.findall(raw)) > 2 and re.search(rb"(?m)=\r?$", raw):
        return quopri.decodestring(raw)
    return raw


class _TooDeep(Exception):
    """More than DEEPEST_PART parts are inside each other."""


class _Parser(BytesFeedParser):
    def _new_message(self) -> None:  # The parser calls this where a part begins.
        if len(self._msgstack) > DEEPEST_PART:  # type: ignore[attr-defined]
            raise _TooDeep
        super()._new_message()  # type: ignore[misc]


def _parsed(data: bytes) -> EmailMessage:
    parser = _Parser(policy=_POLICY)
    try:
        parser.feed(data)
        message = parser.close()
    except _TooDeep:
        message = _HEADERS_ONLY.parsebytes(data)
        _put_side_by_side(message)
    assert isinstance(message, EmailMessage)
    return message


def _put_side_by_side(message: EmailMessage) -> None:
    """Give a message that was not divided all its parts, however deep they are inside each other, without the empty ones."""
    pieces = _BOUNDARY.split(b"\n" + _raw(message))[::2]
    parts = [_HEADERS_ONLY.parsebytes(piece) for piece in pieces if _HAS_BODY.search(piece)]
    for part in parts:
        if part.get_content_maintype() in ("multipart", "message"):
            part.replace_header("Content-Type", "text/plain")
    message.set_payload([*parts])
    del message["Content-Type"]
    message["Content-Type"] = "multipart/mixed"


def _raw(part: EmailMessage) -> bytes:
    """The payload as it stands in the file, as the standard library gives it where no encoding is named."""
    stated = part["Content-Transfer-Encoding"]
    del part["Content-Transfer-Encoding"]
    payload = part.get_payload(decode=True)
    if stated is not None:
        part["Content-Transfer-Encoding"] = str(stated)
    return payload if isinstance(payload, bytes) else b""


def _without_base64(raw: bytes) -> bytes:
    """What is no base64, such as a footer that a mailing list put behind it, is as it stands."""
    lines = raw.strip().splitlines()
    count = _base64_lines(lines)
    packed = re.sub(rb"[^A-Za-z0-9+/]", b"", b"".join(lines[:count]))
    try:
        decoded = base64.b64decode(packed[: len(packed) - (len(packed) % 4 == 1)] + b"=" * (-len(packed) % 4))
    except binascii.Error:
        return raw
    rest = b"\n".join(lines[count:])
    return b"\n".join(filter(None, [decoded, rest]))


def _base64_lines(lines: list[bytes]) -> int:
    """How many lines from the first are base64: all but the last of them are of one length."""
    width = 0
    for number, line in enumerate(lines):
        line = line.strip()
        if not line:
            continue
        if not re.fullmatch(rb"[A-Za-z0-9+/_-]*[A-Za-z0-9+/][A-Za-z0-9+/_-]*={0,2}", line):
            return number
        if line.endswith(b"=") or len(line) < width:
            return number + 1
        width = width or len(line)
    return len(lines)


def _restore_body(message: EmailMessage) -> None:
    """Without a blank line below the headers, lines of the body such as "Price: 40" are taken for headers."""
    if not any(isinstance(defect, MissingHeaderBodySeparatorDefect) for defect in message.defects):
        return
    items = [(key, str(value)) for key, value in message.raw_items()]
    first = next((place for place, (key, _) in enumerate(items) if not _HEADERS_OF_MAIL.fullmatch(key)), len(items))
    lines = [f"{key}: {value}" for key, value in items[first:]]
    for key, _ in items[first:]:
        del message[key]
    payload = message.get_payload()
    if lines and isinstance(payload, str):
        message.set_payload("\n".join([*lines, payload]))


def _restore_parts(part: EmailMessage, depth: int = 0) -> None:
    """Those of a part whose boundary is another than it says, or of a message that is packed as no message may be."""
    if part.get_content_maintype() == "multipart" and not part.is_multipart():
        raw = _raw(part)
        if depth > DEEPEST_PART:
            _put_side_by_side(part)
        elif found := _BOUNDARY.search(raw):
            again = _parsed(b'Content-Type: %s; boundary="%s"\n\n' % (part.get_content_type().encode(), found[1]) + raw)
            part.set_payload(again.get_payload())
        else:
            del part["Content-Type"]
            part["Content-Type"] = "text/html" if re.search(rb"(?i)<html|<body|<p>|<div", raw[:4_000]) else "text/plain"
    elif part.get_content_type() == "message/rfc822" and part.is_multipart():
        inner = next(part.iter_parts(), None)
        if isinstance(inner, EmailMessage) and not inner.keys() and (raw := _raw(inner).strip()):
            part.set_payload([parsed(_without_base64(raw))])
    for inner in parts_of(part):
        _restore_parts(inner, depth + 1)
