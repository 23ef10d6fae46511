"""Raises the maximum number of open files and connections."""

from __future__ import annotations

import sys

ENOUGH = 16_384  # The usual 256 or 1,024 are too few for a library with many visitors and indexes.


def raise_open_files() -> int:
    """Raise the soft limit of this process and its children as far as possible; returns the limit. 0 on Windows, which has
    none."""
    if sys.platform == "win32":
        return 0
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = ENOUGH if hard == resource.RLIM_INFINITY else min(ENOUGH, hard)
    for limit in (most, min(most, 10_240)):  # macOS has no hard limit, but refuses more than the second
        if soft != resource.RLIM_INFINITY and soft < limit:
            try:
                resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
            except (ValueError, OSError):
                continue
            return limit
    return ENOUGH if soft == resource.RLIM_INFINITY else soft
