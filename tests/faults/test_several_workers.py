"""Two worker processes on one library in a folder, while the application adds, replaces and deletes."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from lectern.library import Library
from ragcore.embeddings.hashing import HashEmbedding
from tests.faults.test_kill_anywhere import is_sound
from tests.lectern.jobs.libraries import add, paragraphs, small_passages

ROOT = Path(__file__).parents[2]
WORKER = """
import sys, time
from pathlib import Path
from ragcore.embeddings.hashing import HashEmbedding
from lectern.library import Library
from tests.faults.test_kill_anywhere import in_this_process
from tests.lectern.jobs.libraries import worker_of
in_this_process()
library = Library(Path(sys.argv[1]), embedder=HashEmbedding())
at_work = worker_of(library)
while not (library.folder / "enough").exists():
    if not at_work.run_once():
        time.sleep(0.02)
while at_work.run_once():
    pass
library.close()
"""


def test_two_workers_and_a_deleting_application_lose_nothing(tmp_path: Path) -> None:
    library = Library(tmp_path, embedder=HashEmbedding())
    small_passages(library)
    workers = [subprocess.Popen([sys.executable, "-c", WORKER, str(tmp_path)], cwd=ROOT) for _ in range(2)]
    expected: dict[str, str] = {}
    for number in range(24):
        name = f"tower {number % 16}.txt"
        expected[name] = paragraphs(10 + number, f"tower{number}")
        given = add(library, expected[name], name)
        if number % 3 == 2:
            time.sleep(0.05)
            library.delete_file(given.id)
            del expected[name]
    (tmp_path / "enough").touch()
    for process in workers:
        assert process.wait(120) == 0
    assert is_sound(library) == (expected, 16)
    assert all(file.ready for file in library.files.all())
    with library.database.snapshot() as db:
        assert db.execute("SELECT count(*) FROM drafts").fetchone()[0] == 0
    library.close()
