"""Raises the maximum number of open files and connections."""

from __future__ import annotations

import sys

MAX_OPEN_FILES = 16_384  # The default of 256 or 1,024 is too low for many visitors and indexes.


def raise_open_files() -> int:
    """Raise the soft limit of this process and its children as far as possible; returns the limit. 0 on
    Windows, which has none."""
    if sys.platform == "win32":
        return 0
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(MAX_OPEN_FILES, hard)
    for limit in (most, min(most, 10_240)):  # macOS has no hard limit, but refuses more than the second
        if soft != resource.RLIM_INFINITY and soft < limit:
            try:
                resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
            except (ValueError, OSError):
                continue
            return limit
    return MAX_OPEN_FILES if soft == resource.RLIM_INFINITY else soft
