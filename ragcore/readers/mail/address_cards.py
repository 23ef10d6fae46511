"""Address cards (vCard 2.1 and RFC 6350): names, addresses and notes of people."""

from __future__ import annotations

import re
from pathlib import Path

from ragcore.errors import NoTextError
from ragcore.readers.base import ReadOptions, decode_text
from ragcore.readers.encodings import clean
from ragcore.readers.mail.content_lines import content_lines, unescape, unfold
from ragcore.schema import Document

SUFFIXES = (".vcf", ".vcard")

_LABELS = {
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
    text = decode_text(unfold(data) if b"BEGIN:V" in data.upper() else data, options)
    if _BEGINS.search(text):  # files with variants of a genome have the same ending
        text = clean(_cards_text(text))
    if not text.strip():
        raise NoTextError(
            f"{options.name} is an address card with nothing on it.",
            hint="Save it again from the program it comes from.",
        )
    return Document(text, metadata={"file_name": options.name})


def _cards_text(cards: str) -> str:
    """A line for each property of a person, with an empty line between people."""
    people: list[dict[str, None]] = [{}]
    names: list[str] = [""]  # from the parts of a name, for a card without a full name
    for line in content_lines(cards):
        if line.name == "BEGIN":
            people.append({})
            names.append("")
        elif line.name == "N":
            family, first, middle, prefix, suffix = (*line.fields, *[""] * 5)[:5]
            names[-1] = " ".join(filter(None, (prefix, first, middle, family, suffix)))
        elif line.name in _LABELS:
            fields = line.fields if line.name in _IN_PARTS else [unescape(line.value)]
            if value := ", ".join(filter(None, fields)):
                people[-1][f"{_LABELS[line.name]}: {value.removeprefix('tel:').removeprefix('mailto:')}"] = (
                    None
                )
    for card, name in zip(people, names, strict=True):
        if name and not any(each.startswith("Name: ") for each in card):
            card[f"Name: {name}"] = None
    return "\n\n".join(
        "\n".join(sorted(card, key=lambda each: not each.startswith("Name: "))) for card in people if card
    )
