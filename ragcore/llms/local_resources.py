"""The resources available to this process: free memory and processor cores."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
OWN_CGROUPS = Path("/proc/self/cgroup")


def physical_cores() -> int:
    """The physical cores in the affinity and container quota of this process, at least 1."""
    from joblib import cpu_count

    cores: int = cpu_count(only_physical_cores=True)
    return max(1, cores)


def free_memory() -> int:
    """Bytes available without swapping, of this computer or of the container, whichever has less."""
    import psutil

    free: int = psutil.virtual_memory().available
    return max(0, min(free, *_free_in_containers(), free))


def _free_in_containers() -> list[int]:
    """The free bytes of each Linux cgroup, with its parents, that limits this process; versions 1 and 2."""
    free_bytes: list[int] = []
    with suppress(OSError):
        for line in OWN_CGROUPS.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers == "":
                root, names = CGROUPS, ("memory.max", "memory.current", "inactive_file")
            elif "memory" in controllers.split(","):
                root, names = (
                    CGROUPS / "memory",
                    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
                )
            else:
                continue
            own = root / path.lstrip("/")
            free_bytes += [
                free
                for group in (own, *own.parents)
                if group.is_relative_to(root)
                for free in _free(group, *names)
            ]
    return free_bytes


def _free(group: Path, limit_name: str, used_name: str, cache_name: str) -> list[int]:
    # no group, as a container sees the names of its host; or "max", no limit
    with suppress(OSError, ValueError):
        limit, used = int((group / limit_name).read_text()), int((group / used_name).read_text())
        pairs = (line.split() for line in (group / "memory.stat").read_text().splitlines())
        return [limit - used + next((int(value) for name, value in pairs if name == cache_name), 0)]
    return []
