"""Uploaded copies of libraries that wait until a person has seen what they contain."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lectern.export.backup import Copied
from lectern.export.restore import CopySummary, inspect_copy
from lectern.library import Library
from lectern.ui import labels
from lectern.ui.i18n import _, ngettext, numeral
from ragcore.schema import new_id

MAX_OFFERS = 10  # An older copy that nobody has decided about is deleted.


@dataclass(frozen=True, slots=True)
class OfferedCopy:
    """`name`: of the uploaded file; `library`: where it was dropped; `new_index`: to be created from it."""

    id: str
    name: str
    path: Path
    library: Library
    summary: CopySummary
    new_index: bool


class OfferedCopies:
    """Shared by all sessions of the process."""

    def __init__(self) -> None:
        self._offers: dict[str, OfferedCopy] = {}
        self._lock = threading.Lock()

    def offer(self, library: Library, uploaded: Path, name: str, *, new_index: bool = False) -> OfferedCopy:
        """Read what the uploaded copy contains, and take over its file. The errors of `inspect_copy`."""
        summary = inspect_copy(library, uploaded, name=name)
        path = uploaded.rename(uploaded.with_suffix(".offered"))
        offered = OfferedCopy(new_id(), name, path, library, summary, new_index)
        with self._lock:
            self._offers[offered.id] = offered
            old = list(self._offers)[:-MAX_OFFERS]
        for id_ in old:
            self.withdraw(id_)
        return offered

    def dropped_into(self, library: Library) -> list[OfferedCopy]:
        """The copies to be added to this library."""
        with self._lock:
            offers = list(self._offers.values())
        return [offer for offer in offers if offer.library is library and not offer.new_index]

    def get(self, id_: str) -> OfferedCopy | None:
        return self._offers.get(id_)

    def accept(self, id_: str) -> OfferedCopy | None:
        """The copy, which is no longer offered. None if another tab was faster."""
        with self._lock:
            return self._offers.pop(id_, None)

    def withdraw(self, id_: str) -> None:
        """Delete the file of a copy that nobody wants."""
        offered = self.accept(id_)
        if offered is not None:
            with suppress(OSError):
                offered.path.unlink(missing_ok=True)


def copy_summary(copied: Copied) -> str:
    """How many files and conversations a copy has added."""
    texts = [
        _("{files} and {conversations} added.").format(
            files=labels.count(copied.files, "file"),
            conversations=labels.count(copied.conversations, "conversation"),
        )
    ]
    if copied.known:
        known = ngettext(
            "{number} file was already in your library.",
            "{number} files were already in your library.",
            copied.known,
        )
        texts.append(known.format(number=numeral(copied.known)))
    if copied.left_out:
        texts.append(left_out_rows(copied.left_out))
    return " ".join(texts)


def left_out_rows(rows: int) -> str:
    """How many rows of a copy cannot be read."""
    return ngettext(
        "{number} row of the copy cannot be read and is left out.",
        "{number} rows of the copy cannot be read and are left out.",
        rows,
    ).format(number=numeral(rows))
