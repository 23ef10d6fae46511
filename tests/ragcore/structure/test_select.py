"""What a language model proposes for a question over rows: mended, refused, and run read only."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from ragcore.llms.scripted import ScriptedLLM
from ragcore.structure.answer import Computed
from ragcore.structure.select import read_select
from ragcore.structure.selected import select_answer
from ragcore.structure.sql_table import SQLTable
from ragcore.structure.tables import Table, tables_of

BOATS = """Boat | Berths | Heated | Price a night | Launched | Harbour
Boat: Auk; Berths: 4; Heated: yes; Price a night: 85; Launched: 1998-05-02; Harbour: Skye
Boat: Gannet; Berths: 2; Heated: no; Price a night: 60; Launched: 2004-03-17; Harbour: Mull
Boat: Petrel; Berths: 6; Heated: yes; Price a night: 120; Launched: 2011-09-30; Harbour: Skye
Boat: Puffin; Berths: 2; Heated: no; Price a night: 55; Launched: 1987-06-11; Harbour: Iona
Boat: Skua; Berths: 6; Heated: yes; Price a night: 150; Launched: 2019-04-01; Harbour: Mull"""
BANK = """Date | Payee | Category | Amount | Balance
Date: 2025-01-02; Payee: Harborview; Category: Income; Amount: 3150.00; Balance: 4210.55
Date: 2025-01-06; Payee: Greenleaf; Category: Food; Amount: -84.32; Balance: 4126.23
Date: 2025-01-20; Payee: Greenleaf; Category: Food; Amount: -63.18; Balance: 4063.05
Date: 2025-02-09; Payee: Railway; Category: Travel; Amount: -142.00; Balance: 3921.05
Date: 2025-03-03; Payee: Harborview; Category: Income; Amount: 3150.00; Balance: 7071.05"""


def table(text: str) -> Table:
    (found,) = tables_of(text)
    return found


def ask(question: str, proposal: str, text: str = BOATS, name: str = "boats") -> Computed | None:
    return select_answer(question, table(text), name, ScriptedLLM([proposal]))


def names(computed: Computed | None) -> list[str]:
    assert computed is not None
    return [row.cells["Boat"] for row in computed.rows]


@pytest.mark.smoke
def test_a_listed_row_is_shown_with_the_query() -> None:
    computed = ask("Which boats are heated?", "```sql\nSELECT boat FROM boats WHERE heated = 'yes';\n```")
    assert names(computed) == ["Auk", "Petrel", "Skua"]
    assert computed is not None
    assert computed.sentence == "3 of 5 rows:"
    assert computed.select == "SELECT\n  boat\nFROM boats\nWHERE\n  heated = 'yes'"


@pytest.mark.parametrize(
    ("question", "proposal", "sentence"),
    [
        ("How many boats are heated?", "SELECT COUNT(*) FROM boats WHERE heated = 'yes'", "**3** of 5 rows."),
        (
            "What is the average price of the heated boats?",
            "SELECT AVG(price_a_night) FROM boats WHERE heated = 'yes'",
            "**118.3333** is the average of Price a night, from 3 rows.",
        ),
        (
            "How much more does Petrel cost than Auk?",
            "SELECT (SELECT price_a_night FROM boats WHERE boat = 'Petrel') - "
            "(SELECT price_a_night FROM boats WHERE boat = 'Auk')",
            "**35** is the difference, from 2 rows.",
        ),
    ],
)
def test_a_number_says_what_it_is(question: str, proposal: str, sentence: str) -> None:
    computed = ask(question, proposal)
    assert computed is not None
    assert computed.sentence == sentence


def test_equal_rows_are_not_cut_off_by_a_limit() -> None:
    proposal = "SELECT boat FROM boats ORDER BY berths DESC LIMIT 1"
    assert names(ask("Which boat has the most berths?", proposal)) == ["Petrel", "Skua"]


def test_groups_are_lines() -> None:
    proposal = "SELECT harbour, COUNT(*) FROM boats GROUP BY 1"
    computed = ask("How many boats are there in each harbour?", proposal)
    assert computed is not None
    assert computed.sentence.splitlines()[2:] == ["- **Iona; 1**", "- **Mull; 2**", "- **Skye; 2**"]


@pytest.mark.parametrize(
    ("question", "proposal", "mended"),
    [
        (  # a misspelt column
            "Which boats cost less than 80 a night?",
            "SELECT boat FROM boats WHERE price < 80",
            "SELECT boat FROM boats WHERE price_a_night < 80",
        ),
        (  # a value in quotes of names, and in other letters
            "How many boats are in Mull?",
            'SELECT COUNT(*) FROM boats WHERE harbour = "mull"',
            "SELECT COUNT(*) FROM boats WHERE harbour = 'Mull'",
        ),
        (  # a value of another column
            "How many boats are in Mull?",
            "SELECT COUNT(*) FROM boats WHERE boat = 'Mull'",
            "SELECT COUNT(*) FROM boats WHERE harbour = 'Mull'",
        ),
        (  # "more than" is not "at least"
            "Which boats have more than 4 berths?",
            "SELECT boat FROM boats WHERE berths >= 4",
            "SELECT boat FROM boats WHERE berths > 4",
        ),
        (  # the range of a column, which the description of the table says
            "Which boats are heated?",
            "SELECT boat FROM boats WHERE heated = 'yes' AND berths BETWEEN 2 AND 6",
            "SELECT boat FROM boats WHERE heated = 'yes' AND TRUE",
        ),
        (  # a sum where rows are counted
            "How many boats are heated?",
            "SELECT SUM(berths) FROM boats WHERE heated = 'yes'",
            "SELECT COUNT(*) FROM boats WHERE heated = 'yes'",
        ),
        (  # a count where rows are asked for
            "Which boats are not heated?",
            "SELECT COUNT(*) FROM boats WHERE heated <> 'yes'",
            "SELECT * FROM boats WHERE heated = 'no'",
        ),
    ],
)
def test_what_a_small_model_gets_wrong_is_mended(question: str, proposal: str, mended: str) -> None:
    with closing(SQLTable(table(BOATS), "boats")) as boats:
        select = read_select(proposal, question, boats)
        assert select is not None
        assert select.sql(dialect="sqlite") == mended


def test_what_was_spent_is_positive_and_without_what_was_received() -> None:
    question = "How much did I spend on food in total?"
    computed = ask(question, "SELECT SUM(amount) FROM bank WHERE category = 'Food'", BANK, "bank")
    assert computed is not None
    assert computed.sentence.startswith("**147.5** is the sum of Amount spent, from 2 rows.")
    biggest = ask("What was my biggest expense?", "SELECT MAX(amount) FROM bank", BANK, "bank")
    assert biggest is not None
    assert biggest.sentence.startswith("**142** is the highest Amount spent")


def test_the_end_of_a_month_is_the_last_row_up_to_it() -> None:
    question = "What was the balance at the end of February 2025?"
    proposal = "SELECT balance FROM bank WHERE date = '2025-02-28'"
    computed = ask(question, proposal, BANK, "bank")
    assert computed is not None
    assert computed.sentence.startswith("**3921.05** is the Balance of 1 of 5 rows")


@pytest.mark.parametrize(
    ("question", "proposal"),
    [
        ("Which boats are heated?", "DROP TABLE boats"),
        ("Which boats are heated?", "SELECT boat FROM boats WHERE heated = 'yes'; DELETE FROM boats"[17:]),
        ("Which boats are heated?", "SELECT sql FROM sqlite_master"),
        ("Which boats are heated?", "SELECT boat FROM boats UNION SELECT sql FROM sqlite_master"),
        ("Which boats are heated?", "SELECT boat FROM boats JOIN crew ON crew.boat = boats.boat"),
        ("Which boats are heated?", "The heated boats are Auk and Skua."),
        ("Which boats are heated?", "SELECT boat FROM boats"),  # the condition is missing
        ("Which boats are heated?", "SELECT boat FROM boats WHERE heated = 'no'"),
        ("Which boats have a sauna?", "SELECT boat FROM boats WHERE heated = 'yes'"),  # another column
        ("How many boats are in Arran?", "SELECT COUNT(*) FROM boats WHERE harbour = 'Arran'"),
        ("How many boats are in Arran?", "SELECT COUNT(*) FROM boats WHERE harbour = 'Skye'"),
        ("Which boats have more than 4 berths?", "SELECT boat FROM boats WHERE berths > 2"),
        ("Which boats have more than 4 berths?", "SELECT boat FROM boats WHERE berths < 4"),
        ("Which boat has the most berths?", "SELECT boat FROM boats ORDER BY berths LIMIT 1"),
        ("Which boat has the most berths?", "SELECT boat FROM boats ORDER BY price_a_night DESC LIMIT 1"),
        ("What is the average price of the boats?", "SELECT SUM(price_a_night) FROM boats"),
        ("How many boats were launched in 2011?", "SELECT COUNT(*) FROM boats WHERE launched > '2004-01-01'"),
        ("Which boats have more than 90 berths?", "SELECT boat FROM boats WHERE berths > 90"),  # no rows
    ],
)
def test_what_the_question_does_not_ask_is_refused(question: str, proposal: str) -> None:
    assert ask(question, proposal) is None


@pytest.fixture
def boats() -> Iterator[SQLTable]:
    with closing(SQLTable(table(BOATS), "boats")) as opened:
        yield opened


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM boats",
        "INSERT INTO boats (boat) VALUES ('Tern')",
        "ATTACH DATABASE ':memory:' AS other",
        "PRAGMA table_list",
        "CREATE TABLE other (a)",
        "SELECT load_extension('other.so')",
        "SELECT length(zeroblob(100000000))",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT MAX(i) FROM n",
    ],
)
def test_the_rows_cannot_be_changed_or_left(boats: SQLTable, sql: str) -> None:
    with pytest.raises(sqlite3.Error):
        boats.rows(sql)
    assert boats.rows("SELECT COUNT(*) FROM boats") == [(5,)]


def test_a_long_query_ends(boats: SQLTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragcore.structure.sql_table.SECONDS", 0.05)
    many = ", ".join(f"boats AS t{number}" for number in range(14))
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        boats.rows(f"SELECT COUNT(*) FROM {many}")


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("2014_murders", "murders_2014"),
        ("2019", "y2019"),
        ("Order", "order_"),
        ("Preis (€)", "preis"),
        ("Größe", "grösse"),
        ("价格", "价格"),
        ("%", "column"),
    ],
)
def test_names_of_columns_need_no_quotes(name: str, column: str) -> None:
    rows = f"Thing | {name}\nThing: a; {name}: 3\nThing: b; {name}: 4\nThing: c; {name}: 9"
    with closing(SQLTable(table(rows), "things")) as things:
        assert list(things.columns)[1] in (column, f"{column}_")
        assert things.rows(f"SELECT {list(things.columns)[1]} FROM things") == [(3,), (4,), (9,)]


def test_the_description_lists_values_or_their_range(boats: SQLTable) -> None:
    assert boats.describe().splitlines() == [
        "boats, 5 rows:",
        "- boat TEXT: 'Auk', 'Gannet', 'Petrel', 'Puffin', 'Skua'",
        "- berths REAL from 2 to 6",
        "- heated TEXT: 'yes', 'no'",
        "- price_a_night REAL from 55 to 150",
        "- launched DATE from 1987-06-11 to 2019-04-01",
        "- harbour TEXT: 'Skye', 'Mull', 'Iona'",
    ]
