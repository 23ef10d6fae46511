"""Invitations in mails (iCalendar, RFC 5545): what, when and where, and what is said of it."""

from __future__ import annotations

import re

_SHOWN = {
    "SUMMARY": "Event",
    "DTSTART": "Begins",
    "DTEND": "Ends",
    "LOCATION": "Place",
    "ORGANIZER": "Organizer",
    "DESCRIPTION": "Description",
}
_NOT_SHOWN = frozenset({"VALARM", "VTIMEZONE"})
_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(?:\d\d)?(Z)?)?")


def event_text(calendar: str) -> str:
    """A line for each of these of every event, in the order of the calendar; "" where there is no event."""
    lines: list[str] = []
    within: list[str] = []
    for line in re.sub(r"\n[ \t]", "", calendar).split("\n"):  # long lines are folded (3.1)
        key, _, value = line.partition(":")
        name = key.partition(";")[0].upper()
        if name == "BEGIN":
            within.append(value.strip().upper())
        elif name == "END":
            within = within[:-1]
        elif name in _SHOWN and value.strip() and not _NOT_SHOWN.intersection(within):
            lines.append(f"{_SHOWN[name]}: {_value(name, value.strip())}")
    return "\n".join(lines)


def _value(name: str, value: str) -> str:
    if name == "ORGANIZER":
        return value.removeprefix("mailto:").removeprefix("MAILTO:")
    if time := _TIME.fullmatch(value):
        year, month, day, hour, minute, universal = time.groups()
        clock = f" {hour}:{minute}{' UTC' if universal else ''}" if hour else ""
        return f"{year}-{month}-{day}{clock}"
    return re.sub(r"\\([,;\\])", r"\1", re.sub(r"\\[nN]", "\n", value))
