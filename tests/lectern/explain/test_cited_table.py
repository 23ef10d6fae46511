"""The table of a cited passage: which of its rows an answer quotes, how it sorts, and how it is saved."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from lectern.explain.cited_table import CitedTable, GridTable, find_cited_table
from lectern.library import Library
from lectern.runs.answer_runs import AnswerRuns
from lectern.schema import Ask, Message
from ragcore.structure.tables import tables_of
from tests.lectern.test_library import finished, take_in, worker_of
from tests.ragcore.structure.test_tables import write_csv, write_docx, write_html, write_md, write_pdf

SHELVES = "Tool,Shelf,Price\nSaw,A1,12.50\nPlane,B2,30.00\nVice,B2,81.25\n"


def ask(library: Library, question: str) -> Message:
    message = library.conversations.message(finished(library, AnswerRuns(library), Ask(question)))
    assert message is not None
    return message


def cited(library: Library, message: Message) -> CitedTable:
    (source,) = message.sources
    found = find_cited_table(library, source, message)
    assert found is not None
    return found


def grid(*lines: str) -> GridTable:
    return GridTable(tables_of("\n".join(lines))[0])


def test_the_rows_of_an_answer_are_marked(open_library: Callable[..., Library]) -> None:
    library = open_library()
    take_in(library, SHELVES, "tools.csv")
    found = cited(library, ask(library, "Which tools are on shelf B2?"))
    assert [found.table.rows[number].cells["Tool"] for number in found.marked] == ["Plane", "Vice"]
    assert found.is_quoted


@pytest.mark.parametrize("write", [write_csv, write_docx, write_html, write_pdf, write_md])
def test_the_table_of_every_format_opens(
    write: Callable[[Path], None], open_library: Callable[..., Library]
) -> None:
    library = open_library()
    path = library.incoming / "given"
    name = f"stations.{write.__name__.removeprefix('write_')}"
    write(path)
    library.intake.add(path, name)
    assert worker_of(library).run_once()
    message = ask(library, "Height of the stations")
    names = cited(library, message).table.names
    assert "Height (m)" in names


def test_only_the_table_of_the_passage_is_opened(open_library: Callable[..., Library]) -> None:
    library = open_library()
    tents = "Tent | Beds\nTent: Otter; Beds: 6\nTent: Heron; Beds: 9"
    boats = "Boat | Oars\nBoat: Eider; Oars: 4\nBoat: Gull; Oars: 2"
    take_in(library, f"{tents}\n\n{boats}", "camp.txt")
    message = ask(library, "Tent Otter beds")
    (source,) = message.sources
    message = replace(message, text=f"Boat: Gull; Oars: 2 [{source.number}]")
    found = cited(library, message)
    assert (found.table.names, found.marked) == (("Boat", "Oars"), (1,))


def test_a_sentence_beside_a_table_is_not_of_it(open_library: Callable[..., Library]) -> None:
    library = open_library()
    take_in(
        library,
        "The gate closes at ten.\n\nTent | Beds\nTent: Otter; Beds: 6\nTent: Heron; Beds: 9",
        "camp.txt",
    )
    found = cited(
        library, replace(ask(library, "When does the gate close?"), text="The gate closes at ten. [1]")
    )
    assert (found.is_quoted, found.marked) == (False, ())


def test_a_changed_document_has_no_table_of_its_former_passages(open_library: Callable[..., Library]) -> None:
    library = open_library()
    take_in(library, SHELVES, "tools.csv")
    message = ask(library, "Which tools are on shelf B2?")
    take_in(library, SHELVES.replace("81.25", "95.00"), "tools.csv")
    assert find_cited_table(library, message.sources[0], message) is None


def test_rows_that_the_answer_only_counts_are_marked_too(open_library: Callable[..., Library]) -> None:
    library = open_library()
    rows = [f"Room {number},{number},{'no' if number % 6 else 'yes'}" for number in range(30)]
    take_in(library, "\n".join(["Room,Seats,Projector", *rows]), "rooms.csv")
    message = ask(library, "Which rooms have no projector?")
    assert message.text.count("Projector: no") < 25
    found = find_cited_table(library, message.sources[0], message)
    assert found is not None
    assert list(found.marked) == [number for number in range(30) if number % 6]


def test_columns_sort_by_value_unless_a_cell_would_be_lost() -> None:
    table = grid(
        "Item | Price | Code | Left | Due",
        "Item: Tea; Price: € 1.240,50; Code: 0042; Left: none; Due: 03.12.2025",
        "Item: Cake; Price: € -9,50; Code: 0017; Left: 5; Due: 14.01.2026",
        "Item: Jam; Price: € 30,00; Code: 0103; Left: 12; Due: 02.02.2026",
        "Item: Egg; Price: € 0,40; Code: 0104; Left: 30; Due: 05.02.2026",
        "Item: Fig; Price: € 2,20; Code: 0105; Left: 9; Due: 09.02.2026",
    )
    columns = table.frame.to_dict("list")
    assert columns["Price"] == [1240.5, -9.5, 30, 0.4, 2.2]
    assert columns["Code"][:2] == ["0042", "0017"]
    assert columns["Left"] == ["none", "5", "12", "30", "9"]
    assert columns["Due"][:2] == [date(2025, 12, 3), date(2026, 1, 14)]


@pytest.mark.parametrize(
    ("cells", "form"),
    [
        (("€ 1.240,50", "€ 9,50"), "€ %.2f"),  # no comma that a reader of decimal commas mistakes
        (("1,240", "-3"), "%,.0f"),
        (("5 %", "12 %"), "%.0f %%"),
        (("2.5 kg", "3 kg"), "%s kg"),
        (("-12.50", "8.00"), "%.2f"),
    ],
)
def test_numbers_are_shown_with_their_unit_and_decimals(cells: tuple[str, str], form: str) -> None:
    table = grid(
        "Item | Much", *(f"Item: {name}; Much: {cell}" for name, cell in zip("ab", cells, strict=True))
    )
    assert table.formats == {"Much": form}


def test_rows_of_totals_stand_where_they_are_in_the_document() -> None:
    table = grid("Item | Euro", "Item: Tea; Euro: 3", "Item: Cake; Euro: 5", "Item: Total; Euro: 8")
    assert table.frame["Item"].tolist() == ["Tea", "Cake", "Total"]


def test_saved_rows_have_the_cells_of_the_document_and_run_nothing() -> None:
    table = grid("Item | Euro", "Item: =1+1; Euro: -12.5", "Item: Jam; Euro: 30.00")
    read = list(csv.reader(io.StringIO(table.to_csv([0, 1]).decode("utf-8-sig"))))
    assert read == [["Item", "Euro"], ["'=1+1", "-12.5"], ["Jam", "30.00"]]
    assert list(csv.reader(io.StringIO(table.to_csv([1]).decode("utf-8-sig")))) == [read[0], read[2]]
