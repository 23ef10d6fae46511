"""The files of the library are counted as they stand."""

from __future__ import annotations

from collections import Counter

from lectern.jobs.file_rows import FileRow, Stage
from lectern.ui import labels
from lectern.ui.widgets.files import _count_facts, _unreadable
from ragcore.errors import PassedOverError, Problem, UnreadableFileError


def test_files_awaiting_a_password_count_apart_from_failures() -> None:
    tally = Counter(ready=4, failed=6)
    assert _count_facts(tally, 5) == ["10 files", "4 ready", "5 could not be read", "1 waits for a password"]
    assert _count_facts(tally, 4)[2:] == ["4 could not be read", "2 wait for a password"]
    assert _count_facts(tally, 6)[2:] == ["6 could not be read"]
    assert _count_facts(Counter(ready=9), 0) == ["9 files", "9 ready"]


def test_row_about_skipped_files_is_neither_failed_nor_read() -> None:
    def row(problem: Problem) -> FileRow:
        return FileRow("1", "project", "", "", 0, 0.0, Stage.FAILED, 0, 0, 0, 0, problem)

    passed = row(
        Problem.of(PassedOverError("One file in project was passed over.", hint="Add it by itself."))
    )
    assert (passed.state, labels.file_facts(passed), _unreadable(passed)) == ("passed", "Skipped", False)
    failed = row(Problem.of(UnreadableFileError("It is empty.", hint="Save it again.")))
    assert (failed.state, labels.file_facts(failed), _unreadable(failed)) == (
        "failed",
        "Could not be read",
        True,
    )
