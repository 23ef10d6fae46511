"""How many files and connections a process may have open at once."""

from __future__ import annotations

import sys

ENOUGH = 16_384  # files; systems begin with 256 or 1,024, which a library with many visitors and indexes can use up


def raise_open_files() -> int:
    """Raise this process's soft limit, and so that of those it starts, as far as the system lets it; gives the limit. 0 on
    Windows, which has none."""
    if sys.platform == "win32":
        return 0
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = ENOUGH if hard == resource.RLIM_INFINITY else min(ENOUGH, hard)
    for wanted in (most, min(most, 10_240)):  # macOS names no limit and refuses more than the second
        if soft != resource.RLIM_INFINITY and soft < wanted:
            try:
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            except (ValueError, OSError):
                continue
            return wanted
    return ENOUGH if soft == resource.RLIM_INFINITY else soft
