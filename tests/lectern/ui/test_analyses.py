"""Analyses of a tab: each is computed once, and the oldest are dropped."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace

import pytest

from lectern.ui import analyses


def test_only_the_oldest_beyond_the_limit_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[str, Future[int]] = {}
    monkeypatch.setattr(analyses, "session", lambda: SimpleNamespace(answers=SimpleNamespace(analyses=kept)))
    for number in range(analyses.MAX_ANALYSES + 2):
        assert analyses.start_analysis(str(number), lambda: 0).result(10) == 0
    assert list(kept) == [str(number) for number in range(2, analyses.MAX_ANALYSES + 2)]
