"""Words in a row, numbers with their signs, and "not": what may not differ in two sentences that say the
same."""

from __future__ import annotations

import pytest

from ragcore.extractive.verbatim_match import figures_in, is_negated, missing_figures, readings_in, stem_text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("It costs 20 €.", "it costs €20"),
        ("It costs 1,234.50 euros.", "It costs 1 234.50 euros."),
        ("CHF 1'234", "CHF 1.234"),
        ("minus 5 °C", "−5 °C"),
        ("٣ doors", "3 doors"),
        ("Say -> 5", "Say 5"),
        ("It costs £1,860.", "It costs 1860.00 pounds."),
        ("It costs £1,860.", "It costs GBP 1860."),
        ("5 percent of 20.0 km", "5% of 20 km"),
        ("5-10 kg", "5–10 kg"),
    ],
)
def test_one_notation_makes_the_same_row(one: str, other: str) -> None:
    assert stem_text(one) == stem_text(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("5 °C", "−5 °C"), ("< 30", "> 30"), ("≤30", "<30"), ("$20", "20 €"), ("5%", "5"), ("1 2 3", "123")],
)
def test_a_sign_belongs_to_its_number(one: str, other: str) -> None:
    assert stem_text(one) not in stem_text(other)
    assert stem_text(other) not in stem_text(one)


@pytest.mark.parametrize(
    ("claim", "text", "missing"),
    [
        ("1 234 people, 3,5 hours", "1,234 people, 3.5 hours", []),
        ("$20 on day 3", "€20 on day 3", ["$20"]),
        ("20 euros", "€20", []),
        ("-5 °C", "5 °C", ["-5"]),
        ("5 pm", "open 9:00 to 17:00", []),
        ("17:00", "open 9 am to 5 pm", []),
        ("18:00", "open 9 am to 5 pm", ["18"]),
        ("120", "120 130 145", []),
        ("£1,860", "1860.00 pounds", []),
        ("2.00 and 1.2.0", "2.01 and 1.2", ["2", "1.2.0"]),
    ],
)
def test_the_numbers_that_a_text_does_not_say(claim: str, text: str, missing: list[str]) -> None:
    assert missing_figures(figures_in(claim), readings_in(text)) == missing


def test_two_denials_are_none() -> None:
    assert [is_negated(text) for text in ("Dogs may come.", "No dogs.", "Nobody may bring no dog.")] == [
        False,
        True,
        False,
    ]
    assert [is_negated(text) for text in ("Il ne vient pas.", "Il n’a rien vu.", "Ningún perro.")] == [
        True,
        True,
        True,
    ]
