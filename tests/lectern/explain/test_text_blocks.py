"""The blocks of a text: their kinds, and that every mark stands at exactly its characters."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lectern.explain.laid_out_text import choose_columns
from lectern.explain.text_blocks import Block, Layout, heading_levels, text_blocks
from ragcore.readers.table_rows import lines

LAYOUTS: tuple[Layout, ...] = ("article", "markdown", "mail", "slide", "sheet")


def blocks_of(text: str, layout: Layout = "article", headings: dict[str, int] | None = None) -> list[Block]:
    return text_blocks(text, 0, len(text), layout, headings)


def texts(text: str, layout: Layout = "article") -> list[tuple[str, str, str]]:
    return [(block.kind, block.mark, text[block.start : block.end]) for block in blocks_of(text, layout)]


def grid(text: str) -> tuple[tuple[str, ...], list[list[str]]]:
    """The names and cells of the only table."""
    (table,) = [block for block in blocks_of(text, "sheet") if block.kind == "table"]
    return table.columns, [[text[slice(*cell)] if cell else "" for cell in row] for row in table.rows]


def test_a_slide_has_a_title_levels_a_table_and_notes() -> None:
    text = (
        "Fares\n\n- One way\n  - Child\n1. First\n\nTicket | Price\nTicket: Adult; Price: £2\n"
        "Ticket: Child; Price: £1\n\nNotes: Greet.\nSmile.\n\nComment: Too long?"
    )
    assert texts(text, "slide") == [
        ("heading", "", "Fares"),
        ("item", "-", "One way"),
        ("item", "-", "Child"),
        ("item", "1.", "First"),
        ("table", "", "Ticket | Price\nTicket: Adult; Price: £2\nTicket: Child; Price: £1"),
        ("note", "Notes", "Greet.\nSmile."),
        ("note", "Comment", "Too long?"),
    ]
    assert [block.level for block in blocks_of(text, "slide") if block.kind == "item"] == [0, 1, 0]


def test_a_slide_that_begins_with_a_list_or_notes_has_no_title() -> None:
    assert texts("- One\n- Two", "slide")[0] == ("item", "-", "One")
    assert texts("Notes: Greet.", "slide") == [("note", "Notes", "Greet.")]


def test_short_lines_above_text_are_headings_and_an_address_is_none() -> None:
    text = "Opening hours\n\nWe open daily at nine and close at five.\n\nAda\n\n1 Quay Street\n\nPexford"
    assert [kind for kind, *_ in texts(text)] == [
        "heading",
        "paragraph",
        "paragraph",
        "paragraph",
        "paragraph",
    ]
    numbered = "2. Fares\n\nThe fare is two pounds in either direction.\n\n1. Look.\n\n2. Ring."
    assert [kind for kind, *_ in texts(numbered)] == ["heading", "paragraph", "item", "item"]


def test_headings_of_a_web_page_are_its_own_with_their_levels() -> None:
    html = "<h2>Open <b>daily</b> &amp; late?</h2><p>Yes</p><h4 class='x'>Dogs</h4><h4>unclosed<p>"
    levels = heading_levels(html)
    assert levels == {"open daily & late?": 1, "dogs": 3}
    text = "Open daily & late?\n\nYes\n\nDogs\n\nNo heading here\n\nThey are welcome in all the cars."
    assert [(block.kind, block.level) for block in blocks_of(text, "article", levels)] == [
        ("heading", 1),
        ("paragraph", 0),
        ("heading", 3),
        ("paragraph", 0),
        ("paragraph", 0),
    ]


def test_many_unclosed_headings_take_no_long_time() -> None:
    assert heading_levels("<h1 " * 200_000 + "<h1>" * 200_000) == {}


def test_markdown_keeps_code_and_hides_marks_of_headings() -> None:
    text = "## Duties\nText\n\n```\n# no heading\n\n- no item\n```\n---\nEnd"
    assert texts(text, "markdown") == [
        ("heading", "", "Duties"),
        ("paragraph", "", "Text"),
        ("code", "", "```\n# no heading\n\n- no item\n```"),
        ("line", "", "---"),
        ("paragraph", "", "End"),
    ]


def test_a_table_has_the_cells_that_the_reader_wrote() -> None:
    rows = [["Station", "Opened", "Note"], ["Cliff Top", "1871", "a; b"], ["Quay", "", "wet"]]
    text = "\n".join(lines(rows, name_rows=1))
    assert grid(text) == (("Station", "Opened", "Note"), [["Cliff Top", "1871", "a; b"], ["Quay", "", "wet"]])


def test_a_long_row_of_several_lines_is_one_row() -> None:
    rows = [
        ["Town", *(f"Column {n}" for n in range(40))],
        ["Ostholm", *(f"value {n}" * 3 for n in range(40))],
    ]
    text = "\n".join(lines(rows, name_rows=1))
    assert text.count("\n") > 1
    columns, cells = grid(text)
    assert columns == tuple(rows[0])
    assert cells == [rows[1]]


def test_rows_that_begin_with_the_same_cell_stay_apart() -> None:
    rows = [
        ["Date", "Debit", "Credit", "Note"],
        ["2024-01-05", "100", "", "rent"],
        ["2024-01-05", "", "200", ""],
        ["2024-01-06", "3", "", ""],
    ]
    # in the order of the sheet, though the first row has no credit
    text = "\n".join(lines(rows, name_rows=1))
    assert grid(text) == (tuple(rows[0]), rows[1:])
    assert grid(f"{text}\nTotal | 103 | 200") == (tuple(rows[0]), [*rows[1:], ["Total", "103", "200", ""]])


def test_rows_without_names_are_cells_in_their_order() -> None:
    assert grid("Cliff Top | 1871 | 84\nQuay | 1872 | 3") == (
        (),
        [["Cliff Top", "1871", "84"], ["Quay", "1872", "3"]],
    )


def test_a_table_loses_no_line_without_names() -> None:
    rows = "Day | Km\nDay: Monday; Km: 12\nDay: Tuesday; Km: 8\nDay: Sunday; Km: 0"
    text = f"{rows}\nTotal | 20 | a guess\nAll | 20"
    assert grid(text) == (
        ("Day", "Km"),
        [["Monday", "12"], ["Tuesday", "8"], ["Sunday", "0"], ["Total", "20 | a guess"], ["All", "20"]],
    )


def test_the_unit_above_the_names_of_rows_is_no_row() -> None:
    text = "(km) | 2021 | 2022\nRail | 2021: 5; 2022: 6\nRoad | 2021: 9; 2022: 7"
    assert grid(text) == (("(km)", "2021", "2022"), [["Rail", "5", "6"], ["Road", "9", "7"]])
    columns = [("(km)", "Rail Road"), ("2021", "5 9"), ("2022", "6 7")]
    assert choose_columns(columns, "How long were roads in 2022?") == (0, 2, 1)


def test_two_columns_of_one_name_are_two_columns() -> None:
    text = "Day: Monday; Note: wet; Note: cold\nDay: Tuesday; Note: dry"
    assert grid(text) == (("Day", "Note", "Note"), [["Monday", "wet", "cold"], ["Tuesday", "dry", ""]])


LINES = st.sampled_from(
    ["", "- a", "  - b", "1. c", "# d", "a: 1; b: 2", "a: 1; c: x: y", "x | y", "x | y | z", "```", "---",
     "Text.", "Notes: n", "Wort", "a; b"]
)  # fmt: skip


@given(st.lists(st.one_of(LINES, st.text(max_size=12)), max_size=14).map("\n".join), st.sampled_from(LAYOUTS))
def test_blocks_are_ascending_stretches_and_lose_no_word(text: str, layout: Layout) -> None:
    end = 0
    for block in blocks_of(text, layout):
        assert end <= block.start <= block.end <= len(text)
        if lost := text[end : block.start].strip():
            assert len(lost.split()) <= 1, "only the marks of an item, a heading or notes"
        end = block.end
        cells = [cell for row in block.rows for cell in row if cell]
        assert all(block.start <= first <= last <= block.end for first, last in cells)
        if block.kind == "table":
            drawn = " ".join([*block.columns, *(text[first:last] for first, last in cells)])
            assert set(re.findall(r"\w+", text[block.start : block.end])) <= set(re.findall(r"\w+", drawn))
    assert not text[end:].strip()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_empty_text_has_no_blocks(layout: Layout) -> None:
    assert blocks_of(" \n\n ", layout) == []
