from __future__ import annotations

import pytest

from lectern.ui.widgets.reading_progress import share_of


def test_bar_of_all_files_does_not_go_back_when_one_is_done() -> None:
    batch: set[str] = set()
    shares = [
        share_of(batch, active)
        for active in ({"a": 0.5, "b": 0.0}, {"a": 0.99, "b": 0.0}, {"b": 0.0}, {"b": 0.4})
    ]
    assert shares == pytest.approx([0.25, 0.495, 0.5, 0.7])
