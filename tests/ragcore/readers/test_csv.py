"""Comma-separated values as people write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragcore.errors import TooLargeError
from ragcore.readers.base import ReadOptions
from ragcore.readers.csv import MAX_STRAY
from ragcore.readers.registry import read_file


def rows(path: Path, text: str) -> list[str]:
    path.write_text(text, encoding="utf-8")
    return read_file(path, ReadOptions(path.name)).text.split("\n")[1:]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('Item, Price, Town\nAnvil, "6,000,000", Galway\n', ["Item: Anvil; Price: 6,000,000; Town: Galway"]),
        ('"Item"; "Price"\nAnvil; "6;5"\n', ["Item: Anvil; Price: 6;5"]),
        ('Item|Price|Town\nAnvil| "6|0"|Cork\n', ["Item: Anvil; Price: 6|0; Town: Cork"]),
        ('\ufeffsep=;\nItem;Price\nAnvil; "1,5"\n', ["Item: Anvil; Price: 1,5"]),
        ('Item,Note\nAnvil,"two\nlines"\n', ["Item: Anvil; Note: two lines"]),
        ('Item,Note,Town\nAnvil, "two\nlines" , Cork\n', ["Item: Anvil; Note: two lines; Town: Cork"]),
    ],
)
def test_a_blank_before_a_quotation_mark_is_no_part_of_the_cell(
    text: str, expected: list[str], tmp_path: Path
) -> None:
    assert rows(tmp_path / "a.csv", text) == expected


def test_unclosed_quotation_mark_affects_no_other_row(tmp_path: Path) -> None:
    text = 'Item,Note,Town\nPipe,"5 inch,Cork\nBolt,"two\nlines",Galway\nNut,"9 inch,Oslo\nSaw,"x",Bergen\n'
    assert rows(tmp_path / "a.csv", text) == [
        'Item: Pipe; Note: "5 inch; Town: Cork',
        "Item: Bolt; Note: two lines; Town: Galway",
        'Item: Nut; Note: "9 inch; Town: Oslo',
        "Item: Saw; Note: x; Town: Bergen",
    ]


def test_file_of_only_open_quotation_marks_loses_no_line(tmp_path: Path) -> None:
    text = "Item,Note\n" + "".join(f'{number},"word{number}\n' for number in range(3 * MAX_STRAY))
    found = "\n".join(rows(tmp_path / "a.csv", text))
    assert all(f"word{number}" in found for number in range(3 * MAX_STRAY))


def test_table_over_the_limit_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "peaks.csv"
    path.write_text("name,year\n" + "".join(f"peak {number},{number}\n" for number in range(12_000)))
    rows_read: list[int] = []
    with pytest.raises(TooLargeError, match="more than 9,000 characters"):
        read_file(
            path,
            ReadOptions(path.name, progress=lambda done, _: rows_read.append(done), max_text_chars=9_000),
        )
    assert rows_read == [0]
