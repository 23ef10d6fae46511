"""The lines of calendars (iCalendar, RFC 5545) and address cards (vCard, RFC 6350), whole again where they were folded."""

from __future__ import annotations

import quopri
import re
from collections.abc import Iterator
from typing import NamedTuple

from ragcore.readers.encodings import decode_as

_KEY = re.compile(r'((?:[^":]|"[^"]*")*):')  # a parameter in quotes may hold a colon
_FOLD = re.compile(rb"(?<!=)(?<!=\r)\r?\n[ \t]")  # behind "=" quoted-printable goes on with what is a space there
_PERSON = re.compile(r';CN=(?:"([^"]*)"|([^;]*))', re.IGNORECASE)
_DATA = re.compile(r"data:[\w.+-]+/")  # a picture or sound in the line itself
_CHARSET = re.compile(r"(?i);charset=\"?([\w-]+)")
_BASE64 = re.compile(r"(?i);(?:encoding=)?(?:b|base64)(?=;|$)")


class ContentLine(NamedTuple):
    """`name` is in capitals and without its group, `person` the parameter CN; of "ORG:Harbour;Office" the `fields` are two."""

    name: str
    value: str
    person: str = ""

    @property
    def fields(self) -> list[str]:
        return [unescaped(field).strip() for field in re.split(r"(?<!\\);", self.value)]


def unfolded(data: bytes) -> bytes:
    """Before it is decoded, as a fold may stand inside a character."""
    return data if b"\0" in data else _FOLD.sub(b"", data)


def content_lines(text: str) -> Iterator[ContentLine]:
    """Those that have a value in words: no pictures and sounds."""
    lines = iter(re.sub(r"(?<!=)\n[ \t]", "", text).split("\n"))  # in a mail they are folded still
    for line in lines:
        found = _KEY.match(line)
        key, value = (found[1], line[found.end() :]) if found else line.partition(":")[::2]
        if "QUOTED-PRINTABLE" in key.upper():
            value = _unquoted(key, [value, *_continued(value, lines)])
        if not _BASE64.search(key) and not _DATA.match(value):
            person = _PERSON.search(key)
            name = key.partition(";")[0].rpartition(".")[2].strip().upper()
            yield ContentLine(name, value.strip(), (person[1] or person[2] or "").strip() if person else "")


def _continued(line: str, lines: Iterator[str]) -> Iterator[str]:
    while line.endswith("="):
        line = next(lines, "")
        yield line


def _unquoted(key: str, lines: list[str]) -> str:
    charset = _CHARSET.search(key)
    decoded = decode_as(quopri.decodestring("\n".join(lines).encode()), charset[1] if charset else "utf-8")
    return decoded[0].replace("\r\n", "\n") if decoded else "".join(lines)


def unescaped(value: str) -> str:
    return re.sub(r"\\([nN,;:\\])", lambda found: "\n" if found[1] in "nN" else found[1], value)
