"""Under which headings the conversations of the sidebar stand."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from lectern.schema import Conversation
from lectern.ui.i18n import set_request_language
from lectern.ui.widgets.conversations import find_snippet, group_by_day

TIMES = [
    datetime(2026, 3, 10, 23, 30, tzinfo=UTC),
    datetime(2026, 3, 10, 11, 30, tzinfo=UTC),
    datetime(2026, 3, 9, 22, 30, tzinfo=UTC),
    datetime(2026, 3, 3, 12, 0, tzinfo=UTC),
    datetime(2026, 3, 2, 12, 0, tzinfo=UTC),
    datetime(2026, 2, 28, 23, 30, tzinfo=UTC),
    datetime(2025, 2, 28, 12, 0, tzinfo=UTC),
]
FOUND = [
    Conversation(str(number), "chat", "", 0.0, moment.timestamp()) for number, moment in enumerate(TIMES)
]


def grouped(zone: str) -> list[tuple[str, str]]:
    now = datetime(2026, 3, 10, 23, 45, tzinfo=UTC).astimezone(ZoneInfo(zone))
    return [(name, "".join(one.id for one in group)) for name, group in group_by_day(FOUND, now)]


@pytest.mark.parametrize(
    ("zone", "groups"),
    [
        (
            "UTC",
            [
                ("Today", "01"),
                ("Yesterday", "2"),
                ("Previous 7 days", "3"),
                ("March 2026", "4"),
                ("February 2026", "5"),
                ("February 2025", "6"),
            ],
        ),
        (
            "Europe/Berlin",
            [
                ("Today", "0"),
                ("Yesterday", "1"),
                ("Previous 7 days", "2"),
                ("March 2026", "345"),
                ("February 2025", "6"),
            ],
        ),
    ],
)
def test_they_stand_under_the_days_and_months_of_the_reader(zone: str, groups: list[tuple[str, str]]) -> None:
    assert grouped(zone) == groups


@pytest.mark.parametrize(
    ("language", "month"),
    [("de", "Februar 2025"), ("es", "Febrero de 2025"), ("fr", "Février 2025"), ("zh", "2025年2月")],
)
def test_a_month_is_named_in_the_language_of_the_reader(language: str, month: str) -> None:
    set_request_language(language)
    assert grouped("UTC")[-1] == (month, "6")
    set_request_language("en")


def test_a_found_word_has_the_text_around_it_without_marks() -> None:
    texts = ["How high is it?", "The **Lighthouse** is 40 m high [1]. " + "Nobody else knows that. " * 9]
    assert find_snippet(texts, "lightHOUSE") == (
        "The ",
        "Lighthouse",
        " is 40 m high. Nobody else knows that.…",
    )
    assert find_snippet(texts, "taxi") is None
