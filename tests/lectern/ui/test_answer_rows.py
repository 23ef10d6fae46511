"""Rows of tables in an answer are their own cells below the names of their columns."""

from __future__ import annotations

from lectern.ui.safetext import answer_md
from lectern.ui.widgets.answer_rows import rows_as_tables

WIDE = "Town: Ostholm; " + "; ".join(f"Item {number}: {number}" for number in range(12)) + "; Debt: 9,000 [2]"


def test_rows_with_the_same_columns_become_one_table() -> None:
    rows = "- Ticket: Adult; Price: £2 [2]\n- Ticket: Child; Price: £1 [2] [3]"
    text = f"It costs two pounds. [1]\n\n{rows}\n\nEnd."
    assert rows_as_tables(text, "price?") == (
        "It costs two pounds. [1]\n\n| Ticket | Price |\n| --- | --- |\n| Adult | £2 [2] |\n"
        "| Child | £1 [2] [3] |\n\nEnd."
    )


def test_of_many_columns_the_eight_of_the_question_come_first() -> None:
    head, _rule, *lines, note = [
        line for line in rows_as_tables(WIDE, "What is the debt of Ostholm?").splitlines() if line
    ]
    assert head == "| Debt | 9,000 [2] |"
    assert lines == ["| Town | Ostholm |", *(f"| Item {number} | {number} |" for number in range(6))]
    assert note == "*8 of 14 columns. The whole sheet has the others.*"


def test_many_wide_rows_have_four_columns_side_by_side() -> None:
    rows = "\n".join(f"- {WIDE.replace('Ostholm', name)}" for name in ("Ostholm", "Westholm", "Sund", "Vik"))
    head, _rule, first, *_others = rows_as_tables(rows, "debt").splitlines()
    assert head == "| Debt | Town | Item 0 | Item 1 |"
    assert first == "| 9,000 | Ostholm | 0 | 1 [2] |"


def test_blank_cells_of_many_columns_are_left_out() -> None:
    rows = "\n".join(f"Town: {name}; Blank:  ; Area: 1; Debt: 2; Tax: 3" for name in "ABCD")
    assert rows_as_tables(rows, "town").splitlines()[0] == "| Town | Area | Debt | Tax |"
    blank = "\n".join("A:  ; B:  ; C:  ; D:  ; E:  " for _row in range(4))
    assert rows_as_tables(blank, "town").splitlines()[0] == "| A | B | C | D |"


def test_sentences_and_code_stay_as_they_are() -> None:
    for text in (
        "The tower stands. It was built in 1871. [1]",
        "Name: Ada",
        "```\na: 1; b: 2\n```",
        "Note: wet; Note: cold [1]",
    ):
        assert rows_as_tables(text, "tower") == text


def test_a_cell_stays_text_in_its_own_cell() -> None:
    row = "Name: ![](http://127.0.0.1/x); Note: a [link](http://127.0.0.1), $x$ \\; Sum: 5 [1]"
    written = answer_md(rows_as_tables(row, "sum"), {1: "#p"})
    assert "![](" not in written
    assert "[link](" not in written
    assert written.splitlines()[-1].endswith("| 5 [1](#p) |")
