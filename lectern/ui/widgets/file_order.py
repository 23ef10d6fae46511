"""The search by name and the order of a list of files."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lectern.jobs.file_rows import FileRow
from lectern.ui.i18n import _

NEWEST = "newest"


def order_names() -> dict[str, str]:
    """The orders with their names on the screen."""
    return {
        NEWEST: _("Newest first"),
        "oldest": _("Oldest first"),
        "name": _("By name"),
        "largest": _("Largest first"),
        "type": _("By type"),
        "problems": _("Problems first"),
    }


def filter_files(files: Sequence[FileRow], search: str) -> list[FileRow]:
    """The files whose names contain every word of the search."""
    words = search.casefold().split()
    return [file for file in files if all(word in file.name.casefold() for word in words)]


def sort_files(newest_first: Sequence[FileRow], order: str) -> list[FileRow]:
    """The files, which come newest first, in one of the orders. An order of equal files stays."""
    if order == "oldest":
        return sorted(newest_first, key=lambda file: file.added)
    if order == "name":
        return sorted(newest_first, key=name_key)
    if order == "largest":
        return sorted(newest_first, key=lambda file: file.size, reverse=True)
    if order == "type":
        return sorted(newest_first, key=lambda file: (file.kind, name_key(file)))
    if order == "problems":
        return sorted(
            newest_first, key=lambda file: (file.state not in ("failed", "stopped"), file.problem is None)
        )
    return list(newest_first)


def name_key(file: FileRow) -> list[tuple[int, int, str]]:
    """A key that sorts by name, without capitals, and by numbers in the name: "page 9" before "page 10"."""
    parts = re.split(r"(\d+)", file.name.casefold())
    return [
        (0, int(part), "") if part.isdecimal() and len(part) < 20 else (1, 0, part) for part in parts if part
    ]
