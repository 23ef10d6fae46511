"""The files of the library are counted as they stand."""

from __future__ import annotations

from collections import Counter

from lectern.ui.widgets.files import _counted


def test_those_that_wait_for_a_password_are_counted_apart_from_those_that_cannot_be_read() -> None:
    tally = Counter(ready=4, failed=6)
    assert _counted(tally, 5) == ["10 files", "4 ready", "5 could not be read", "1 waits for a password"]
    assert _counted(tally, 4)[2:] == ["4 could not be read", "2 wait for a password"]
    assert _counted(tally, 6)[2:] == ["6 could not be read"]
    assert _counted(Counter(ready=9), 0) == ["9 files", "9 ready"]
