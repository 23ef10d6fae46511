"""Calendars and address cards that are files of their own: whole words, and nothing that is for programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragcore.errors import NoTextError
from ragcore.readers.base import ReadOptions
from ragcore.readers.registry import read_file

CALENDAR = (
    "BEGIN:VCALENDAR\r\nBEGIN:VTIMEZONE\r\nDTSTART:19700101T000000\r\nEND:VTIMEZONE\r\n"
    'BEGIN:VEVENT\r\nUID:77@example.org\r\nDTSTART;TZID="Europe:Berlin":20240507T093000\r\n'
    "SUMMARY:Board mee\r\n ting\\, Zürich\r\n"
    "ATTENDEE;CN=Ada:mailto:ada@example.org\r\nEND:VEVENT\r\n"
    "BEGIN:VTODO\r\nSUMMARY:Paint\r\nDUE:20240601\r\nEND:VTODO\r\nEND:VCALENDAR\r\n"
)
CARD = (
    "BEGIN:VCARD\nVERSION:2.1\nN:Lovelace;Ada;;;\nitem1.EMAIL;INTERNET:ada@example.org\nTEL;CELL:+44 20 1\n"
    "ORG:Harbour;Pilots\nNOTE;ENCODING=QUOTED-PRINTABLE;CHARSET=ISO-8859-1:Caf=E9 on the =\n=\nquay\n"
    "PHOTO;ENCODING=BASE64;TYPE=JPEG:/9j/4AAQSkZJRgABAQ\n AAAQABAAD\n\nEND:VCARD\n"
    "BEGIN:VCARD\nFN:Grace\nN:Hopper;Grace\nEND:VCARD\n"
)


def read(folder: Path, name: str, data: bytes) -> str:
    (folder / name).write_bytes(data)
    return read_file(folder / name, ReadOptions(name)).text


def test_a_calendar_says_what_when_and_where_with_whole_words(tmp_path: Path) -> None:
    data = CALENDAR.encode().replace("ü".encode(), b"\xc3\r\n \xbc")  # folded inside of a letter
    assert read(tmp_path, "team.ics", data) == (
        "Begins: 2024-05-07 09:30\nEvent: Board meeting, Zürich\nAttendee: Ada ada@example.org\n\n"
        "Event: Paint\nDue: 2024-06-01"
    )


def test_a_calendar_without_events_says_so(tmp_path: Path) -> None:
    with pytest.raises(NoTextError, match=r"empty\.ics is a calendar without events"):
        read(tmp_path, "empty.ics", b"BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n")


def test_card_is_read_without_its_photograph_in_its_encoding(tmp_path: Path) -> None:
    assert read(tmp_path, "people.vcf", CARD.encode()) == (
        "Name: Ada Lovelace\nEmail: ada@example.org\nTelephone: +44 20 1\nOrganization: Harbour, Pilots\n"
        "Note: Café on the quay\n\nName: Grace"
    )


def test_genome_variants_with_the_ending_of_cards_stay_as_is(tmp_path: Path) -> None:
    genome = "##fileformat=VCFv4.3\n#CHROM\tPOS\tID\n20\t14370\trs6054257\n"
    assert read(tmp_path, "exome.vcf", genome.encode()) == genome


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ("DESCRIPTION:C:\\\\new\\\\notes\\nBring it", "Description: C:\\new\\notes\nBring it"),
        (
            "SUMMARY:20301234\nSTATUS:CANCELLED\nDURATION:PT1H",
            "Event: 20301234\nStatus: CANCELLED\nLasts: PT1H",
        ),
        ('ORGANIZER;CN="Ann Meyer":Mailto:ann@example.org', "Organizer: Ann Meyer ann@example.org"),
        ("SUMMARY:data: review", "Event: data: review"),
    ],
)
def test_an_events_text_retains_its_meaning(lines: str, text: str, tmp_path: Path) -> None:
    assert (
        read(
            tmp_path, "a.ics", f"BEGIN:VCALENDAR\nBEGIN:VEVENT\n{lines}\nEND:VEVENT\nEND:VCALENDAR\n".encode()
        )
        == text
    )


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ("N:Smith;John;Quentin;Dr.;Jr.\nTEL:1", "Name: Dr. John Quentin Smith Jr.\nTelephone: 1"),
        ("FN:A\nURL:https://x.org/p;s=1?a=1;b=2", "Name: A\nWebsite: https://x.org/p;s=1?a=1;b=2"),
        ("FN:A\nNOTE;ENCODING=QUOTED-PRINTABLE:Call the=\n bakery", "Name: A\nNote: Call the bakery"),
    ],
)
def test_card_without_an_end_is_read_as_intended(lines: str, text: str, tmp_path: Path) -> None:
    assert read(tmp_path, "a.vcf", f"BEGIN:VCARD\n{lines}\n".encode()) == text


def test_a_text_that_speaks_of_calendars_is_a_text(tmp_path: Path) -> None:
    text = "A calendar begins with BEGIN:VCALENDAR."
    assert read(tmp_path, "a.ics", text.encode()) == text
