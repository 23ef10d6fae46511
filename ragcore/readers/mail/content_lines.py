"""The unfolded lines of calendars (iCalendar, RFC 5545) and address cards (vCard, RFC 6350)."""

from __future__ import annotations

import quopri
import re
from collections.abc import Iterator
from typing import NamedTuple

from ragcore.readers.encodings import decode_as

_KEY = re.compile(r'((?:[^":]|"[^"]*")*):')  # a quoted parameter may contain a colon
# after "=" in quoted-printable the space belongs to the text
_FOLD = re.compile(rb"(?<!=)(?<!=\r)\r?\n[ \t]")
_PERSON = re.compile(r';CN=(?:"([^"]*)"|([^;]*))', re.IGNORECASE)
_DATA = re.compile(r"data:[\w.+-]+/")  # a picture or sound in the line itself
_CHARSET = re.compile(r"(?i);charset=\"?([\w-]+)")
_BASE64 = re.compile(r"(?i);(?:encoding=)?(?:b|base64)(?=;|$)")


class ContentLine(NamedTuple):
    """`name` is in capitals and without its group, `person` is the parameter CN. "ORG:Harbour;Office" has two
    `fields`."""

    name: str
    value: str
    person: str = ""

    @property
    def fields(self) -> list[str]:
        return [unescape(field).strip() for field in re.split(r"(?<!\\);", self.value)]


def unfold(data: bytes) -> bytes:
    """Join folded lines. This is done before decoding, as a fold may be inside a character."""
    return data if b"\0" in data else _FOLD.sub(b"", data)


def content_lines(text: str) -> Iterator[ContentLine]:
    """The lines, without pictures and sounds."""
    lines = iter(re.sub(r"(?<!=)\n[ \t]", "", text).split("\n"))  # the lines of a mail are still folded
    for line in lines:
        match = _KEY.match(line)
        key, value = (match[1], line[match.end() :]) if match else line.partition(":")[::2]
        if "QUOTED-PRINTABLE" in key.upper():
            value = _decode_quoted(key, value, lines)
        if not _BASE64.search(key) and not _DATA.match(value):
            person = _PERSON.search(key)
            name = key.partition(";")[0].rpartition(".")[2].strip().upper()
            yield ContentLine(name, value.strip(), (person[1] or person[2] or "").strip() if person else "")


def _decode_quoted(key: str, value: str, lines: Iterator[str]) -> str:
    """Decode quoted-printable, which continues in the next of `lines` after "="."""
    parts = [value]
    while parts[-1].endswith("="):
        parts.append(next(lines, ""))
    charset = _CHARSET.search(key)
    decoded = decode_as(quopri.decodestring("\n".join(parts).encode()), charset[1] if charset else "utf-8")
    return decoded[0].replace("\r\n", "\n") if decoded else "".join(parts)


def unescape(value: str) -> str:
    return re.sub(r"\\([nN,;:\\])", lambda match: "\n" if match[1] in "nN" else match[1], value)
