"""The names of what is measured: the one that is kept says what it is in each reader's language."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lectern.db.evaluation_scores import METRICS
from lectern.db.evaluations import EvalRun, Scored
from lectern.schema import Ask
from lectern.ui.i18n import set_request_language
from lectern.ui.widgets.measurements import (
    DEFAULT_NAME,
    NamedRun,
    _figure_name,
    _setting_name,
    found_sentence,
)

RUN = EvalRun(
    "r", "s", "Ten [passages]", Ask("", None), answering=False, model="", created=0.0, state="done", done=3
)


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    yield
    set_request_language("en")


def test_measurement_as_in_settings_is_named_in_each_language() -> None:
    assert _setting_name(DEFAULT_NAME) == "As in Settings"
    set_request_language("de")
    assert _setting_name(DEFAULT_NAME) == "Wie in den Einstellungen"
    assert _setting_name("Ten passages") == "Ten passages"


@pytest.mark.parametrize("code", ["en", "de", "fr", "es", "zh"])
def test_a_figure_says_its_name_once(code: str) -> None:
    set_request_language(code)
    for metric in METRICS:
        words = _figure_name(metric).replace(":small[:gray[", " ").replace("]]", "").casefold().split()
        assert len(words) == len(set(words))


def test_one_sentence_counts_questions_with_a_right_passage() -> None:
    def measured(*hits: float | None, **others: float) -> NamedRun:
        scores = [
            Scored(f"q{n}", "?", others if hit is None else {"hit_rate": hit, **others}, 0.1)
            for n, hit in enumerate(hits)
        ]
        return NamedRun(RUN, "Ten [passages]", scores)

    sentence = found_sentence(measured(1.0, 0.0, 0.5, None))
    assert sentence.endswith(": for 2 of 3 questions, a right passage was among those found.")
    assert found_sentence(measured(1.0, 1.0, answered=0.0)).endswith("those found. Answered: 0 of 2.")
    assert found_sentence(measured(None)) == ""
