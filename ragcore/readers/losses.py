"""Reports what a reader does not read in a file, with a sentence for each kind."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from ragcore.errors import UnreadableFileError
from ragcore.readers.base import ReadOptions

if TYPE_CHECKING:
    from ragcore.readers.office.package import Package

MAX_COLUMNS = 2_000  # of a sheet that are read
MIN_PICTURE = 20_000  # bytes; smaller pictures are bullets, lines, icons and logos
MIN_AREA = 150_000  # pixels; with more, a small file may have black letters on white
_OBJECTS = frozenset({"oleObject", "package", "video", "audio"})


class Losses:
    """Collects losses while a file is read; `report` reports each kind once."""

    def __init__(self) -> None:
        self.hidden = 0  # pieces of text that the file hides
        self.sheets: list[str] = []  # names of hidden sheets
        self.formulas = 0  # without a result
        self.far_cells = 0  # cells with a value beyond MAX_COLUMNS
        self.objects: set[str] = set()
        self._pictures: set[str] = set()

    def add_hidden(self, count: int) -> None:
        self.hidden += count

    def add_picture(self, parts: Package, path: str) -> None:
        if path in parts and _may_hold_text(parts, path):
            self._pictures.add(path)

    def add_links(self, parts: Package, part: str) -> None:
        """Count the pictures and embedded files of a part."""
        for kind, path in parts.links(part).values():
            if kind == "image":
                self.add_picture(parts, path)
            elif kind in _OBJECTS and path in parts:
                self.objects.add(path)

    def report(self, options: ReadOptions) -> None:
        name = options.name
        reports: dict[str, tuple[object, str]] = {
            f"Hidden text in {name} was left out (places: {self.hidden}).": (
                self.hidden,
                (
                    "If it is meant to be found, show it in the program it comes from, save the file and "
                    "add it again."
                ),
            ),
            f"Hidden sheets of {name} were left out: {', '.join(self.sheets)}.": (
                self.sheets,
                (
                    "If they are meant to be found, show them in the program it comes from, save it and add "
                    "it again."
                ),
            ),
            f"Formulas of {name} have no results in the file and were not read (cells: {self.formulas}).": (
                self.formulas,
                "Open it in a spreadsheet program, save it there and add it again.",
            ),
            f"Cells of {name} beyond column {MAX_COLUMNS:,} were not read (cells: {self.far_cells}).": (
                self.far_cells,
                "Move them to the first columns or to another sheet, save the file and add it again.",
            ),
            f"Text in pictures of {name} was not read (pictures: {len(self._pictures)}).": (
                self._pictures,
                "If they hold text, save the file as PDF and add that: pictures in a PDF are read.",
            ),
            f"Files and objects inside {name} were not read (number: {len(self.objects)}).": (
                self.objects,
                "Open them in the program it comes from, save each as a file of its own, and add that.",
            ),
        }
        for what, (count, hint) in reports.items():
            if count:
                options.on_loss(UnreadableFileError(what, hint=hint))


def _may_hold_text(parts: Package, path: str) -> bool:
    """Whether the picture is large enough for text. Only its first bytes, with its size, are read."""
    if parts.parts[path].file_size >= MIN_PICTURE:
        return True
    from PIL import Image

    try:
        with Image.open(io.BytesIO(parts.bytes(path))) as picture:
            return picture.width * picture.height >= MIN_AREA
    except (OSError, ValueError, Image.DecompressionBombError):
        return False  # a drawing, or damaged
