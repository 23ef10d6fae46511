"""Parses messages, including those of old and careless programs with a broken format, so that each has its
body."""

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
    rb"(?mi)^(?:From|To|Subject|Date|Received|Return-Path|Delivered-To|Message-ID|MIME-Version|Reply-To"
    rb"|Sender|X-[\w-]+):"
)
_HEADERS_OF_MAIL = re.compile(
    r"(?i)(?:from|to|cc|bcc|subject|date|received|return-path|delivered-to|message-id|mime-version"
    r"|reply-to|sender|references"
    r"|in-reply-to|importance|priority|precedence|user-agent|organization|thread-\w+|errors-to|dkim-\w+"
    r"|authentication-results"
    r"|received-spf|auto-submitted|[ax]-.*|arc-.*|list-.*|resent-.*|content-.*|disposition-.*|feedback-.*)"
)
_BOUNDARY = re.compile(rb"(?m)^--(\S{1,200})[ \t]*\r?\n(?=Content-[\w-]+:)")
_BASE64_LINES = re.compile(rb"\s*(?:[A-Za-z0-9+/]{16,}={0,2}\s*?\r?\n?)+\s*")
_CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f]")
_QUOTED_BYTE = re.compile(rb"=[0-9A-F]{2}")
_HAS_BODY = re.compile(rb"\n\r?\n\s*\S")

MAX_DEPTH = 50  # levels of parts; the parser takes quadratic time
MAX_PARSED = 50_000  # characters of a header; its parser takes quadratic time


class _CachedHeaders(HeaderRegistry):
    """Parses each header only once. The standard library parses it again for each access."""

    def __init__(self) -> None:
        super().__init__()
        self._cached = lru_cache(1_000)(super().__call__)

    def __call__(self, name: str, value: str) -> BaseHeader:
        try:
            return self._cached(name, value[:MAX_PARSED])
        except RecursionError:  # by nested comments, which a content type does not need
            if not name.lower().startswith("content-"):
                raise
            return self._cached(name, value.partition("(")[0])


_POLICY = policy.default.clone(header_factory=_CachedHeaders())
_HEADERS_ONLY = BytesHeaderParser(policy=_POLICY)


def parse_message(data: bytes) -> EmailMessage:
    """The message without any text above its headers, and with the parts between its boundaries."""
    data = data.lstrip()
    message = _parse(data)
    if not message.keys() and (first := _FIRST_HEADER.search(data[:10_000])):
        message = _parse(data[first.start() :])
    _restore_body(message)
    _restore_parts(message)
    return message


def parts_of(part: EmailMessage) -> list[EmailMessage]:
    """The parts directly inside it."""
    return [inner for inner in part.iter_parts() if isinstance(inner, EmailMessage)]


def payload_of(part: EmailMessage) -> bytes:
    """The decoded bytes of a part without inner parts. An encoding that is not declared is recognised."""
    declared = str(part.get("Content-Transfer-Encoding", "")).strip().lower()
    raw = _raw(part)
    if declared.startswith("base64"):
        return _decode_base64(raw)
    if declared.startswith("quoted-printable"):
        return quopri.decodestring(raw)
    if declared.startswith(("x-uue", "uue")):
        decoded = part.get_payload(decode=True)
        return decoded if isinstance(decoded, bytes) else raw
    if part.get_content_maintype() == "text" and _BASE64_LINES.fullmatch(raw) and b"\n" in raw.strip():
        decoded = _decode_base64(raw)
        return raw if _CONTROLS.search(decoded) else decoded  # for example, a list of licence keys
    if len(_QUOTED_BYTE.findall(raw)) > 2 and re.search(rb"(?m)=\r?$", raw):
        return quopri.decodestring(raw)
    return raw


class _TooDeep(Exception):
    """There are more than MAX_DEPTH levels of parts."""


class _Parser(BytesFeedParser):
    def _new_message(self) -> None:  # called at the start of each part
        if len(self._msgstack) > MAX_DEPTH:  # type: ignore[attr-defined]
            raise _TooDeep
        super()._new_message()  # type: ignore[misc]


def _parse(data: bytes) -> EmailMessage:
    parser = _Parser(policy=_POLICY)
    try:
        parser.feed(data)
        message = parser.close()
    except _TooDeep:
        message = _HEADERS_ONLY.parsebytes(data)
        _flatten_parts(message)
    assert isinstance(message, EmailMessage)
    return message


def _flatten_parts(message: EmailMessage) -> None:
    """Set all parts of an undivided message on one level, without the empty ones."""
    pieces = _BOUNDARY.split(b"\n" + _raw(message))[::2]
    parts = [_HEADERS_ONLY.parsebytes(piece) for piece in pieces if _HAS_BODY.search(piece)]
    for part in parts:
        if part.get_content_maintype() in ("multipart", "message"):
            part.replace_header("Content-Type", "text/plain")
    message.set_payload([*parts])
    del message["Content-Type"]
    message["Content-Type"] = "multipart/mixed"


def _raw(part: EmailMessage) -> bytes:
    """The payload without decoding. The standard library returns it only if no encoding is declared."""
    declared = part["Content-Transfer-Encoding"]
    del part["Content-Transfer-Encoding"]
    payload = part.get_payload(decode=True)
    if declared is not None:
        part["Content-Transfer-Encoding"] = str(declared)
    return payload if isinstance(payload, bytes) else b""


def _decode_base64(raw: bytes) -> bytes:
    """Decode base64, without changing other text after it, such as the footer of a mailing list."""
    lines = raw.strip().splitlines()
    count = _count_base64_lines(lines)
    packed = re.sub(rb"[^A-Za-z0-9+/]", b"", b"".join(lines[:count]))
    try:
        decoded = base64.b64decode(packed[: len(packed) - (len(packed) % 4 == 1)] + b"=" * (-len(packed) % 4))
    except binascii.Error:
        return raw
    rest = b"\n".join(lines[count:])
    return b"\n".join(filter(None, [decoded, rest]))


def _count_base64_lines(lines: list[bytes]) -> int:
    """The number of lines at the beginning that are base64. All except the last have the same length."""
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
    """Move lines such as "Price: 40" from the headers to the body, if there is no blank line between them."""
    if not any(isinstance(defect, MissingHeaderBodySeparatorDefect) for defect in message.defects):
        return
    items = [(key, str(value)) for key, value in message.raw_items()]
    first = next(
        (place for place, (key, _) in enumerate(items) if not _HEADERS_OF_MAIL.fullmatch(key)), len(items)
    )
    lines = [f"{key}: {value}" for key, value in items[first:]]
    for key, _ in items[first:]:
        del message[key]
    payload = message.get_payload()
    if lines and isinstance(payload, str):
        message.set_payload("\n".join([*lines, payload]))


def _restore_parts(part: EmailMessage, depth: int = 0) -> None:
    """Find the parts of a multipart with a wrong boundary, and of a forwarded message in base64, which is not
    allowed."""
    if part.get_content_maintype() == "multipart" and not part.is_multipart():
        raw = _raw(part)
        if depth > MAX_DEPTH:
            _flatten_parts(part)
        elif boundary := _BOUNDARY.search(raw):
            again = _parse(
                b'Content-Type: %s; boundary="%s"\n\n' % (part.get_content_type().encode(), boundary[1]) + raw
            )
            part.set_payload(again.get_payload())
        else:
            del part["Content-Type"]
            part["Content-Type"] = (
                "text/html" if re.search(rb"(?i)<html|<body|<p>|<div", raw[:4_000]) else "text/plain"
            )
    elif part.get_content_type() == "message/rfc822" and part.is_multipart():
        inner = next(part.iter_parts(), None)
        if isinstance(inner, EmailMessage) and not inner.keys() and (raw := _raw(inner).strip()):
            part.set_payload([parse_message(_decode_base64(raw))])
    for inner in parts_of(part):
        _restore_parts(inner, depth + 1)
