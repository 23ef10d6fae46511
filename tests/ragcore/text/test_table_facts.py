"""What is told of a table: its rows, its columns, and from where to where its dates and numbers go."""

from __future__ import annotations

import pytest

from ragcore.readers.table_rows import lines
from ragcore.text.table_facts import WORDINGS, Range, describe, grids_in, list_names, tables_in


def table(*rows: str) -> str:
    return "\n".join(lines([row.split("|") for row in rows], names_first=True))


def test_a_table_is_described_by_its_rows_columns_and_ranges() -> None:
    text = table(
        "Day|What|Amount", "2025-03-01|Rent|-1240.00", "2025-01-15|Salary|3150.00", "2025-02-02|Bread|-3.10"
    )
    (found,) = tables_in(text)
    assert found.rows == 3
    assert found.columns == ("Day", "What", "Amount")
    assert found.ranges == (Range("Day", "2025-01-15", "2025-03-01"), Range("Amount", "-1240.00", "3150.00"))
    assert describe(found, "de") == (
        "3 Zeilen; Spalten Day, What, Amount; Day 2025-01-15 bis 2025-03-01; Amount -1240.00 bis 3150.00."
    )


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        (["1.234,50", "99,10", "12,00"], "12,00", "1.234,50"),
        (["1,234.50", "99.10", "1,000"], "99.10", "1,234.50"),
        (["€ 5", "€ 12", "−€ 3"], "−€ 3", "€ 12"),
        (["40 km", "7 km", "112 km"], "7 km", "112 km"),
        (["28.02.2025", "03.11.2024", "01.12.2024"], "03.11.2024", "28.02.2025"),
        (["3/31/2025", "12/1/2024"], "12/1/2024", "3/31/2025"),
    ],
)
def test_values_are_ordered_by_their_meaning(values: list[str], low: str, high: str) -> None:
    (found,) = tables_in(
        table("Name|Value", *(f"n{chr(97 + at)}|{value}" for at, value in enumerate(values)))
    )
    assert found.ranges == (Range("Value", low, high),)


def test_ambiguous_dates_and_words_have_no_range() -> None:
    (found,) = tables_in(table("Day|Who", "03/04/2025|Ann", "05/06/2025|Ben"))
    assert found.ranges == ()


def test_a_row_too_long_for_a_line_is_one_row() -> None:
    columns = [f"column {at}" for at in range(30)]
    text = table(
        "|".join(["Key", *columns]), *("|".join([f"key {row}", *(["word " * 8] * 30)]) for row in range(4))
    )
    (found,) = tables_in(text)
    assert text.count("\n") > 6
    assert (found.rows, len(found.columns)) == (4, 31)


def test_rows_that_begin_with_the_same_cell_stay_apart() -> None:
    (found,) = grids_in(table("Date|Debit|Credit", "2024-01-05|100|", "2024-01-05||200", "2024-01-06|3|"))
    assert found.rows == (
        {"Date": "2024-01-05", "Debit": "100"},
        {"Date": "2024-01-05", "Credit": "200"},
        {"Date": "2024-01-06", "Debit": "3"},
    )


def test_a_text_with_a_row_or_two_is_no_table() -> None:
    assert (
        tables_in("The prices.\nChildren are free.\nOn Mondays all is closed.\nTicket: Adult; Price: £2.50")
        == []
    )


def test_table_facts_exist_in_each_language_and_count_the_rest() -> None:
    (found,) = tables_in(table("A|B", "x|1"))
    assert {language: describe(found, language) for language in WORDINGS} == {
        "en": "1 row; columns A, B.",
        "de": "1 Zeile; Spalten A, B.",
        "es": "1 fila; columnas A, B.",
        "fr": "1 ligne ; colonnes A, B.",
        "zh": "1 行；列包括A、B。",
    }
    assert describe(found, "") == "1 row; columns A, B."
    assert list_names(["a", "b", "c", "d"], 2, "en") == "a, b and 2 more"


def test_grid_has_the_non_empty_cells_of_each_row() -> None:
    (found,) = grids_in(table("Day|Km|Note", "2025-05-01|12|", "2025-05-02||rain"))
    assert found.columns == ("Day", "Km", "Note")
    assert found.rows == ({"Day": "2025-05-01", "Km": "12"}, {"Day": "2025-05-02", "Note": "rain"})
