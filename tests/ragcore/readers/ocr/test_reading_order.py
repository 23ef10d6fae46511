"""Lines of a recognised page: columns one after the other, tables row by row."""

from __future__ import annotations

from ragcore.readers.ocr.reading_order import Box, reading_order


def column(left: float, right: float, top: float, lines: int, first: int) -> list[Box]:
    return [
        Box(left, top + 30 * number, right - 17 * (number % 3), top + 30 * number + 22, first + number)
        for number in range(lines)
    ]


def order(boxes: list[Box]) -> list[list[int]]:
    return [[box.line for box in row] for row, _ in reading_order(boxes)]


def test_two_columns_between_title_and_footer_read_in_turn() -> None:
    title, footer = Box(60, 20, 700, 60, 0), Box(100, 400, 640, 420, 99)
    left, right = column(50, 350, 100, 8, 1), column(400, 700, 104, 8, 11)
    mixed = sorted([title, footer, *left, *right], key=lambda box: (box.top, box.x0))
    assert order(mixed) == [[line] for line in [0, *range(1, 9), *range(11, 19), 99]]


def test_three_columns_are_read_one_after_the_other() -> None:
    boxes = [
        box
        for number in range(3)
        for box in column(50 + 320 * number, 340 + 320 * number, 100, 5, 10 * number)
    ]
    assert order(boxes[::-1]) == [[line] for line in [*range(5), *range(10, 15), *range(20, 25)]]


def test_table_reads_row_by_row_despite_a_raised_cell() -> None:
    cells = [Box(50 + 200 * across, 100 + 40 * down + across, 110 + 200 * across, 122 + 40 * down + across,
                 3 * down + across)
             for down in range(4) for across in range(3)]  # fmt: skip
    assert order(cells[::-1]) == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]


def test_a_paragraph_begins_after_a_space_as_high_as_a_line() -> None:
    boxes = [*column(50, 350, 100, 2, 0), *column(50, 350, 190, 2, 2)]
    assert [starts for _, starts in reading_order(boxes)] == [True, False, True, False]


def test_a_page_without_lines_has_no_order() -> None:
    assert reading_order([]) == []
