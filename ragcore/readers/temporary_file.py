"""A temporary file for data from inside another file, such as an attachment."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def unnamed_file() -> Iterator[Path]:
    """The path of a new file. On Linux it has no name on the disk, so that it is gone even if the process is
    killed."""
    import tempfile

    if sys.platform == "linux":
        with tempfile.TemporaryFile() as file:
            yield Path(f"/proc/self/fd/{file.fileno()}")
    else:
        with tempfile.TemporaryDirectory(prefix="lectern-inside-") as folder:
            yield Path(folder) / "file"
