"""Tables drawn on pages that are turned, or whose contents are, for the tests of PDFs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

A4 = (595.276, 841.89)  # points

ROWS = [
    ["Station", "Keeper", "Height", "Built"],
    ["Cliff Top", "Ada Penrose", "41 m", "1871"],
    ["Low Rock", "Ben Hale", "17 m", "1902"],
    ["Far Skerry", "Cay Dunn", "29 m", "1888"],
]


def turned_page(path: Path, draw: Callable[[Any], None], *, turns: int = 0, rotate: int = 0) -> Path:
    """What `draw` draws upright, turned by so many quarters anticlockwise, on a page with /Rotate."""
    import pypdfium2
    from reportlab.pdfgen.canvas import Canvas

    width, height = A4[::-1] if turns % 2 else A4
    canvas = Canvas(str(path), pagesize=(width, height))
    canvas.saveState()
    canvas.translate(*[(0, 0), (width, 0), (width, height), (0, height)][turns])
    canvas.rotate(90 * turns)
    draw(canvas)
    canvas.restoreState()
    canvas.save()
    if rotate:
        turned = path.with_suffix(".turned")
        with pypdfium2.PdfDocument(path) as pdf:
            pdf[0].set_rotation(rotate)
            pdf.save(turned)
        turned.replace(path)
    return path


def table(
    canvas: Any,
    rows: Sequence[Sequence[str]] = ROWS,
    *,
    ruled: bool = True,
    top: float = 700,
    title: str = "",
) -> None:
    """Cells of 120 by 20 points."""
    canvas.setFont("Helvetica", 16)
    canvas.drawString(60, top + 20, title)
    canvas.setFont("Helvetica", 10)
    for number, row in enumerate(rows):
        for column, cell in enumerate(row):
            canvas.drawString(65 + 120 * column, top - 14 - 20 * number, cell)
    if ruled:
        canvas.grid(
            [60 + 120 * column for column in range(len(rows[0]) + 1)],
            [top - 20 * y for y in range(len(rows) + 1)],
        )


def written(canvas: Any, x: float, y: float, text: str, turns: int) -> None:
    """The text from (x, y) on, turned by so many quarters anticlockwise."""
    canvas.saveState()
    canvas.translate(x, y)
    canvas.rotate(90 * turns)
    canvas.drawString(0, 0, text)
    canvas.restoreState()
