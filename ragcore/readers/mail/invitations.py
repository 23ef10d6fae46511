"""Calendars and invitations in mails (iCalendar, RFC 5545): the events with their times, places and
descriptions."""

from __future__ import annotations

import re
from pathlib import Path

from ragcore.errors import NoTextError
from ragcore.readers.base import ReadOptions, decode_text
from ragcore.readers.encodings import clean
from ragcore.readers.mail.content_lines import ContentLine, content_lines, unescape, unfold
from ragcore.schema import Document

SUFFIXES = (".ics", ".ical")

_LABELS = {
    "SUMMARY": "Event",
    "STATUS": "Status",
    "DTSTART": "Begins",
    "DTEND": "Ends",
    "DURATION": "Lasts",
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
_TIMES = ("DTSTART", "DTEND", "DUE")
_BEGINS = re.compile(r"^BEGIN:VCALENDAR", re.IGNORECASE | re.MULTILINE)
_MAILTO = re.compile(r"^mailto:", re.IGNORECASE)
_SKIPPED = frozenset({"VALARM", "VTIMEZONE"})
_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(?:\d\d)?(Z)?)?")


def read(path: Path, options: ReadOptions) -> Document:
    text = decode_text(unfold(path.read_bytes()), options)
    if _BEGINS.search(text):
        text = clean(event_text(text))
    if not text.strip():
        raise NoTextError(
            f"{options.name} is a calendar without events.",
            hint="Export it again from your calendar program.",
        )
    return Document(text, metadata={"file_name": options.name})


def event_text(calendar: str) -> str:
    """A line for each property of an event, in the order of the calendar, and empty lines between events; ""
    for no event."""
    events: list[list[str]] = [[]]
    within: list[str] = []
    for line in content_lines(calendar):
        name, value = line.name, line.value
        if name == "BEGIN":
            if value.upper() in _EVENTS:  # events are never nested, so an event without an end stops here
                events.append([])
                within = []
            within.append(value.upper())
        elif name == "END":
            within = within[:-1]
        elif name in _LABELS and value and not _SKIPPED.intersection(within):
            events[-1].append(f"{_LABELS[name]}: {_value(line)}")
    return "\n\n".join("\n".join(event) for event in events if event)


def _value(line: ContentLine) -> str:
    name, value = line.name, line.value
    if name in ("ORGANIZER", "ATTENDEE"):
        return " ".join(filter(None, (line.person, _MAILTO.sub("", value))))
    if name in _TIMES and (time := _TIME.fullmatch(value)):
        year, month, day, hour, minute, universal = time.groups()
        clock = f" {hour}:{minute}{' UTC' if universal else ''}" if hour else ""
        return f"{year}-{month}-{day}{clock}"
    return unescape(value)
