"""Calendars and invitations in mails (iCalendar, RFC 5545): what, when and where, and what is said of it."""

from __future__ import annotations

import re
from pathlib import Path

from ragcore.errors import NoTextError
from ragcore.readers.base import ReadOptions, decoded
from ragcore.readers.encodings import clean
from ragcore.readers.mail.content_lines import content_lines, unescaped, unfolded
from ragcore.schema import Document

SUFFIXES = (".ics", ".ical", ".ifb")

_SHOWN = {
    "SUMMARY": "Event",
    "DTSTART": "Begins",
    "DTEND": "Ends",
    "DUE": "Due",
    "RRULE": "Repeats",
    "LOCATION": "Place",
    "ORGANIZER": "Organizer",
    "ATTENDEE": "Attendee",
    "CATEGORIES": "Categories",
    "URL": "Website",
    "DESCRIPTION": "Description",
    "COMMENT": "Comment",
}
_EVENTS = frozenset({"VEVENT", "VTODO", "VJOURNAL"})
_NOT_SHOWN = frozenset({"VALARM", "VTIMEZONE"})
_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(?:\d\d)?(Z)?)?")


def read(path: Path, options: ReadOptions) -> Document:
    text = decoded(unfolded(path.read_bytes()), options)
    if "BEGIN:VCALENDAR" in text.upper():
        text = clean(event_text(text))
    if not text.strip():
        raise NoTextError(f"{options.name} is a calendar without events.", hint="Export it again from your calendar program.")
    return Document(text, metadata={"file_name": options.name})


def event_text(calendar: str) -> str:
    """A line for each of these of every event, in the order of the calendar, with an empty line between events; "" where there
    is no event."""
    events: list[list[str]] = [[]]
    within: list[str] = []
    for name, value in content_lines(calendar):
        if name == "BEGIN":
            within.append(value.upper())
            if within[-1] in _EVENTS:
                events.append([])
        elif name == "END":
            within = within[:-1]
        elif name in _SHOWN and value and not _NOT_SHOWN.intersection(within):
            events[-1].append(f"{_SHOWN[name]}: {_value(name, value)}")
    return "\n\n".join("\n".join(event) for event in events if event)


def _value(name: str, value: str) -> str:
    if name in ("ORGANIZER", "ATTENDEE"):
        return value.removeprefix("mailto:").removeprefix("MAILTO:")
    if time := _TIME.fullmatch(value):
        year, month, day, hour, minute, universal = time.groups()
        clock = f" {hour}:{minute}{' UTC' if universal else ''}" if hour else ""
        return f"{year}-{month}-{day}{clock}"
    return unescaped(value)
