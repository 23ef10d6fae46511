"""Address cards (vCard, RFC 6350 and 2.1): who it is, and how to reach them."""

from __future__ import annotations

import re
from pathlib import Path

from ragcore.errors import NoTextError
from ragcore.readers.base import ReadOptions, decoded
from ragcore.readers.encodings import clean
from ragcore.readers.mail.content_lines import content_lines, unescaped, unfolded
from ragcore.schema import Document

SUFFIXES = (".vcf", ".vcard")

_SHOWN = {
    "FN": "Name",
    "NICKNAME": "Nickname",
    "ORG": "Organization",
    "TITLE": "Title",
    "ROLE": "Role",
    "EMAIL": "Email",
    "TEL": "Telephone",
    "IMPP": "Messages",
    "ADR": "Address",
    "URL": "Website",
    "BDAY": "Birthday",
    "ANNIVERSARY": "Anniversary",
    "RELATED": "Related",
    "CATEGORIES": "Categories",
    "NOTE": "Note",
}


_IN_PARTS = ("ORG", "ADR")
_BEGINS = re.compile(r"^BEGIN:VCARD", re.IGNORECASE | re.MULTILINE)


def read(path: Path, options: ReadOptions) -> Document:
    data = path.read_bytes()
    text = decoded(unfolded(data) if b"BEGIN:V" in data.upper() else data, options)
    if _BEGINS.search(text):  # the variants of a genome have the same ending
        text = clean(cards_text(text))
    if not text.strip():
        raise NoTextError(
            f"{options.name} is an address card with nothing on it.", hint="Save it again from the program it comes from."
        )
    return Document(text, metadata={"file_name": options.name})


def cards_text(cards: str) -> str:
    """A line for each thing that is known of a person, with an empty line between people."""
    found: list[dict[str, None]] = [{}]
    named: list[str] = [""]  # in its parts, for a card that has its name in no other way
    for line in content_lines(cards):
        if line.name == "BEGIN":
            found.append({})
            named.append("")
        elif line.name == "N":
            family, given, middle, before, after = (*line.fields, *[""] * 5)[:5]
            named[-1] = " ".join(filter(None, (before, given, middle, family, after)))
        elif line.name in _SHOWN:
            fields = line.fields if line.name in _IN_PARTS else [unescaped(line.value)]
            if value := ", ".join(filter(None, fields)):
                found[-1][f"{_SHOWN[line.name]}: {value.removeprefix('tel:').removeprefix('mailto:')}"] = None
    for card, name in zip(found, named, strict=True):
        if name and not any(each.startswith("Name: ") for each in card):
            card[f"Name: {name}"] = None
    return "\n\n".join("\n".join(sorted(card, key=lambda each: not each.startswith("Name: "))) for card in found if card)
