"""Address cards (vCard, RFC 6350 and 2.1): who it is, and how to reach them."""

from __future__ import annotations

from pathlib import Path

from ragcore.errors import NoTextError
from ragcore.readers.base import ReadOptions, decoded
from ragcore.readers.encodings import clean
from ragcore.readers.mail.content_lines import content_lines, unfolded
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


def read(path: Path, options: ReadOptions) -> Document:
    text = decoded(unfolded(path.read_bytes()), options)
    if "BEGIN:VCARD" in text.upper():  # the variants of a genome have the same ending
        text = clean(cards_text(text))
    if not text.strip():
        raise NoTextError(
            f"{options.name} is an address card with nothing on it.", hint="Save it again from the program it comes from."
        )
    return Document(text, metadata={"file_name": options.name})


def cards_text(cards: str) -> str:
    """A line for each thing that is known of a person, with an empty line between people."""
    found: list[list[str]] = [[]]
    name = ""  # in its parts, for a card that has it in no other way
    for line in content_lines(cards):
        if line.name == "BEGIN":
            found.append([])
            name = ""
        elif line.name == "N":
            family, given, *_ = *line.fields, "", ""
            name = " ".join(filter(None, (given, family)))
        elif line.name == "END" and name and not any(each.startswith("Name: ") for each in found[-1]):
            found[-1].insert(0, f"Name: {name}")
        elif line.name in _SHOWN and (value := ", ".join(filter(None, line.fields))):
            found[-1].append(f"{_SHOWN[line.name]}: {value.removeprefix('tel:').removeprefix('mailto:')}")
    return "\n\n".join("\n".join(card) for card in found if card)
