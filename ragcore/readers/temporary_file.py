"""A file for what is inside another one: unlocked, or attached to a message."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def nameless() -> Iterator[Path]:
    """A new file, which on Linux has no name that a process which is killed would leave on the disk."""
    import tempfile

    if sys.platform == "linux":
        with tempfile.TemporaryFile() as file:
            yield Path(f"/proc/self/fd/{file.fileno()}")
    else:
        with tempfile.TemporaryDirectory(prefix="lectern-inside-") as folder:
            yield Path(folder) / "file"
