"""Rows of a table as lines that can be read, searched and quoted one by one.

With a header every cell keeps its column's name, so that a row still says what its numbers are when it stands alone:

    Station: Cliff Top; Opened: 1871; Height (m): 84
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


def lines(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """One line for each row that holds anything; the header, where there is one, comes first as `a | b | c`."""
    header: Sequence[str] | None = None
    waiting = True
    for row in rows:
        cells = [" ".join(cell.split()) for cell in row]
        if not any(cells):
            continue
        if waiting:
            waiting = sum(map(bool, cells)) < 2  # a title stands alone above the table
            if is_header(cells):
                header = cells
            yield plain(cells)
        elif header is None:
            yield plain(cells)
        else:
            yield named(header, cells)


def plain(cells: Sequence[str]) -> str:
    """`a | b | c`, without the empty cells at the end."""
    last = max((place for place, cell in enumerate(cells) if cell), default=-1)
    return " | ".join(cells[: last + 1])


def named(header: Sequence[str], cells: Sequence[str]) -> str:
    """`header: cell; header: cell`, without the empty cells; a cell beyond the header has no name."""
    parts = []
    for place, cell in enumerate(cells):
        if cell:
            name = header[place] if place < len(header) else ""
            parts.append(f"{name}: {cell}" if name else cell)
    return "; ".join(parts)


def is_header(cells: Sequence[str]) -> bool:
    """At least two names, all different, none of them a number."""
    names = [cell for cell in cells if cell]
    return len(names) >= 2 and len(set(names)) == len(names) and not any(is_number(name) for name in names)


def is_number(cell: str) -> bool:
    digits = sum(character.isdigit() for character in cell)
    return digits > 0 and digits >= len(cell.strip(" %€$£+-.,()")) - 2 and not cell[0].isalpha()
