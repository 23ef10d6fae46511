"""Which documents are versions of each other, and which is the newest, in five languages."""

from __future__ import annotations

import pytest

from ragcore.text.dates import find_date
from ragcore.text.document_versions import Version, are_versions, newest_first, read_version

RULES = (
    "The daily allowance for a trip is {} euro. Hotels are paid up to {} euro a night. Rail is second class."
)


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("Minutes of January 5th, 2024", (2024, 1, 5)),
        ("Stand: März 2026", (2026, 3, 0)),
        ("vom 3. Mai 2025", (2025, 5, 3)),
        ("le 1er juillet 2024", (2024, 7, 1)),
        ("juin 2024", (2024, 6, 0)),
        ("del 5 de junio de 2025", (2025, 6, 5)),
        ("自2026年3月1日起", (2026, 3, 1)),
        ("report_20250913", (2025, 9, 13)),
        ("25/04/2025", (2025, 4, 25)),
        ("03/04/2025", (2025, 0, 0)),
    ],
)
def test_dates_are_found_in_five_languages(text: str, date: tuple[int, int, int]) -> None:
    found = find_date(text)
    assert found is not None
    assert found.date == date


@pytest.mark.parametrize("text", ["no date", "room 12345", "a decor of 120", "3.14"])
def test_other_numbers_are_no_dates(text: str) -> None:
    assert find_date(text) is None


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (("rules_v1.txt", RULES.format(34, 95)), ("rules_v2.txt", RULES.format(41, 130))),
        (("rules_2024.txt", RULES.format(34, 95)), ("rules_2026.txt", RULES.format(41, 130))),
        (("Rules draft.docx", RULES.format(34, 95)), ("Rules final (2).pdf", RULES.format(41, 130))),
        (
            (
                "Hausordnung_alt.txt",
                "Hausordnung\nStand: 1. Mai 2023\nRuhe ist ab 22 Uhr. Hunde dürfen hinein.",
            ),
            ("Hausordnung.txt", "Hausordnung\nStand: 5. März 2025\nRuhe ist ab 23 Uhr. Hunde dürfen hinein."),
        ),
        (
            ("tarifs-09.txt", "Tarifs de la piscine\nEn vigueur le 1er mai 2024\nUn adulte paie 5 euros."),
            (
                "tarifs-01.txt",
                "Tarifs de la piscine\nEn vigueur le 1er juillet 2024\nUn adulte paie 6 euros.",
            ),
        ),
        (
            ("reglamento 1.txt", "Reglamento\nVigente desde el 1 de mayo de 2024\nLa cuota es de 20 euros."),
            ("reglamento 2.txt", "Reglamento\nVigente desde el 2 de mayo de 2024\nLa cuota es de 25 euros."),
        ),
        (
            ("差旅规定_旧版.txt", "差旅规定\n自2024年1月1日起施行\n每日补贴为300元。酒店每晚不超过500元。"),
            ("差旅规定_新版.txt", "差旅规定\n自2026年3月1日起施行\n每日补贴为400元。酒店每晚不超过600元。"),
        ),
    ],
)
def test_the_newest_version_comes_first(older: tuple[str, str], newer: tuple[str, str]) -> None:
    versions = [read_version(*older, added=2.0), read_version(*newer, added=1.0)]
    assert are_versions(*versions)
    assert [version.name for version in newest_first(versions)] == [newer[0], older[0]]


def test_without_dates_and_numbers_the_file_added_last_is_the_newest() -> None:
    versions = [read_version("plan.txt", "A plan.", 1.0), read_version("plan old.txt", "A plan.", 2.0)]
    assert newest_first(versions)[0].name == "plan.txt"
    same_rank = [read_version("plan.txt", "A plan.", 1.0), read_version("plan copy.txt", "A plan.", 2.0)]
    assert newest_first(same_rank)[0].name == "plan copy.txt"


def _version(name: str, text: str = RULES) -> Version:
    return read_version(name, text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (_version("minutes_2025-09.txt"), _version("minutes_2025-10.txt")),
        (_version("newsletter_01.txt"), _version("newsletter_02.txt")),
        (_version("invoice (1).pdf"), _version("invoice (2).pdf")),
        (_version("contract Meier v1.docx"), _version("contract Schmidt v2.docx")),
        (_version("2024.txt"), _version("2025.txt")),
        (_version("report_2024.txt", "The year was wet. The roof leaked."), _version("report_2025.txt")),
        (_version("notes v1.txt", "Bread and butter are bought by Ann."), _version("notes v2.txt")),
        (_version("rules.txt"), _version("rules.txt")),
    ],
)
def test_a_series_a_template_and_other_texts_are_no_versions(one: Version, other: Version) -> None:
    assert not are_versions(one, other)
