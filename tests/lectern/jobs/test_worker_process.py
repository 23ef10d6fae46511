"""The worker process of an open library, where it dies."""

from __future__ import annotations

from collections.abc import Callable

from lectern.jobs.file_rows import Stage
from lectern.library import Library
from tests.lectern.test_library import TOWER, worker_of


def test_a_file_that_kills_workers_is_abandoned(open_library: Callable[..., Library]) -> None:
    library = open_library()
    path = library.incoming / "given"
    path.write_text(TOWER, "utf-8")
    file = library.intake.add(path, "tower.txt").file
    stages = []
    for process in ("71-here", "72-here", "73-here"):
        library.files.queue.claim(f"{process}-w")
        library.worker._release(process)
        after = library.files.get(file.id)
        assert after is not None
        stages.append(after.stage)
    assert stages == [Stage.QUEUED, Stage.QUEUED, Stage.FAILED]
    assert after.problem is not None
    assert "tower.txt was given up" in after.problem.what
    library.files.queue.retry(file.id)
    assert worker_of(library).run_once()
    assert library.files.get(file.id).ready  # type: ignore[union-attr]
