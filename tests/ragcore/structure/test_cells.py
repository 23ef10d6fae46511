"""Questions about a few cells of a two-way table: what they compute, and what is left to reading."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.structure.cells import compute_cells, without_operation
from ragcore.structure.two_way_tables import two_way_tables_of

ACCOUNTS = """\
| (in thousands) | 2020 | 2021 | 2022 |
| Membership fees | 1,000 | 1,200 | 1,500 |
| Donations: |  |  |  |
| from members | 300 | 250 | 100 |
| from others | 80 | 90 | 10 |
| Total income | 1,380 | 1,540 | 1,610 |
| Income before rent | 900 | 800 | 850 |
| Income after rent | 500 | 450 | 440 |
| Result | (40) | 10 | (25) |
| Loss of value | (40) | (10) | (25) |
| Share of members under 18 | 20% | 22% | 25% |
"""


def results(question: str, text: str = ACCOUNTS, name: str = "") -> list[str]:
    found = compute_cells(question, two_way_tables_of(text), name, text)
    return [computed.sentence.split("**")[1] for computed in found]


@pytest.mark.parametrize(
    ("question", "result"),
    [
        ("What was the percentage change in membership fees from 2020 to 2021?", "20%"),
        ("What is the change in membership fees between 2021 and 2022?", "300"),
        ("What was the increase / (decrease) in the total income in 2022 from 2021?", "70"),
        ("What is the change in donations from members from 2020 to 2022?", "-200"),
        ("What is the difference in total income between 2020 and 2021?", "160"),
        ("What was the average membership fees for 2020-2022?", "1,233.33"),
        ("What were the average membership fees from 2020 to 2022?", "1,233.33"),
        ("What was the average income before rent in 2021 and 2022?", "825"),
        ("What is the sum of membership fees in 2020 and 2021?", "2,200"),
        ("What is the change in result from 2020 to 2021?", "50"),
        ("What percentage of total income was membership fees in 2021?", "77.92%"),
        ("What is the ratio of membership fees to total income in 2022?", "0.93"),
        ("In 2022, what is the difference between income before rent and income after rent?", "410"),
        ("What is the change in the share of members under 18 from 2020 to 2022?", "5%"),
        ("By how much did membership fees increase from FY20 to FY22?", "500"),
        ("How much did donations from members fall from 2020 to 2022?", "-200"),
        ("By how many percent did membership fees grow from 2020 to 2022?", "50%"),
    ],
)
def test_computes(question: str, result: str) -> None:
    assert results(question) == [result]


@pytest.mark.parametrize(
    "question",
    [
        "What is the change in income from 2020 to 2021?",  # which income?
        "What is the change in income before tax from 2020 to 2021?",
        "What is the change in membership fees from 2019 to 2021?",
        "What is the change in membership fees of women from 2020 to 2021?",
        "What is the change in membership fees from 2022 to 2020?",  # which way?
        "What is the percentage change in the result from 2020 to 2021?",  # of a loss
        "What was the average loss of value in 2020 and 2021?",  # are they negative?
        "What is the percentage change in the share of members under 18 from 2020 to 2022?",
        "What is the sum of the share of members under 18 in 2020 and 2022?",
        "What was the change in others between 2020 and 2021?",
        "How much were the membership fees in 2021?",
        "Why did membership fees increase?",
        "Why did membership fees increase from 2020 to 2021?",
        "In 2021, when did the total income increase from 2020?",
        "Who decided the increase in membership fees from 2020 to 2021?",
        "",
    ],
)
def test_leaves_to_reading(question: str) -> None:
    assert results(question) == []


@pytest.mark.parametrize(
    ("question", "text", "result"),
    [
        ("Wie groß war die Veränderung der Miete von 2021 auf 2022?", "Miete", "100,5"),
        ("Was ist der Durchschnitt der Miete in 2021 und 2022?", "Miete", "1.250,25"),
        ("Quelle est la variation du loyer de 2021 à 2022 ?", "Loyer", "100,5"),
        ("Quelle est la variation en pourcentage du loyer entre 2021 et 2022 ?", "Loyer", "8,38%"),
        ("¿Cuál fue la variación del alquiler entre 2021 y 2022?", "Alquiler", "100,5"),
        ("¿Cuál es la variación porcentual del alquiler de 2021 a 2022?", "Alquiler", "8,38%"),
        ("租金从2021年到2022年的变化是多少？", "租金", "100,5"),
        ("租金从2021年到2022年的变化百分比是多少？", "租金", "8,38%"),
    ],
)
def test_in_five_languages(question: str, text: str, result: str) -> None:
    table = f"| | 2021 | 2022 |\n| {text} | 1.200,0 | 1.300,5 |\n| X | 1,5 | 2,5 |"
    assert results(question, table) == [result]


def test_a_company_is_named_by_its_own_report_alone() -> None:
    question = "What is the change in Acme's membership fees from 2020 to 2021?"
    assert results(question) == []
    assert results(question, f"{ACCOUNTS}\n\nAcme was founded in 1950.") == ["200"]
    assert results("What is the change in acme membership fees from 2020 to 2021?", name="acme-2021") == [
        "200"
    ]


def test_rates_are_not_added() -> None:
    rates = "| | 2021 | 2022 |\n| Cost per member | 12 | 14 |\n| Average age | 40 | 42 |"
    assert results("What is the average cost per member in 2021 and 2022?", rates) == ["13"]
    assert results("What is the sum of cost per member in 2021 and 2022?", rates) == []


def test_two_rows_or_columns_that_fit_are_unclear() -> None:
    twice = "| | 2021 | 2022 |\n| Cash | 1 | 2 |\n| Cash | 3 | 4 |"
    assert results("What is the change in cash from 2021 to 2022?", twice) == []
    columns = "| | 2021 plan | 2021 | 2022 |\n| Cash | 1 | 2 | 5 |"
    assert results("What is the change in cash from 2021 to 2022?", columns) == ["3"]
    assert results("What is the change in the planned cash from 2021 to 2022?", columns) == []


def test_the_row_with_exactly_these_words_comes_first() -> None:
    two = "| (cash) | 2021 | 2022 |\n| Flow | 1 | 2 |\n\n| | 2021 | 2022 |\n| Cash flow | 3 | 7 |"
    assert results("What is the change in cash flow from 2021 to 2022?", two) == ["4"]


def test_what_was_computed_is_said_with_its_cells() -> None:
    (computed,) = compute_cells(
        "What was the change in rent from 2021 to 2022?",
        two_way_tables_of("2021 | 2022\nRent | 2021: $1,200; 2022: $1,300"),
    )
    assert computed.sentence == "**100** is the change in Rent from $1,200 (2021) to $1,300 (2022)."
    assert [row.text for row in computed.rows] == ["Rent | 2021: $1,200; 2022: $1,300"]


def test_the_words_of_an_operation_are_left_out_of_a_search() -> None:
    assert "change" not in without_operation("What is the percentage change in rent from 2021 to 2022?")
    assert without_operation("What is the rent?") == ""


@given(st.decimals(1, 10**9, places=2), st.decimals(1, 10**9, places=2))
def test_numbers_are_exact(first: Decimal, last: Decimal) -> None:
    text = f"| | 2021 | 2022 |\n| Rent | {first:,} | {last:,} |"
    (change,) = results("What is the change in rent from 2021 to 2022?", text)
    assert Decimal(change.replace(",", "")) == last - first
