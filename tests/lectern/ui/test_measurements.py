"""The names of what is measured: the one that is kept says what it is in each reader's language."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lectern.ui.i18n import set_request_language
from lectern.ui.widgets.measurements import DEFAULT_NAME, _setting_name


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    yield
    set_request_language("en")


def test_measurement_as_in_settings_is_named_in_each_language() -> None:
    assert _setting_name(DEFAULT_NAME) == "As in Settings"
    set_request_language("de")
    assert _setting_name(DEFAULT_NAME) == "Wie in den Einstellungen"
    assert _setting_name("Ten passages") == "Ten passages"
