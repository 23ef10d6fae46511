"""Confines a process that reads files to its file, the libraries of Python and the system, and the program
that recognises text in pictures. Of the environment it gets only the variables for these.

On Linux the kernel enforces this, for native code too. On other systems only Python's own calls are refused.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lectern.jobs import landlock, seccomp

CLONE_NEWUSER, CLONE_NEWNET = 0x1000_0000, 0x4000_0000  # unshare(2)
PR_SET_PDEATHSIG = 1  # prctl(2)
ENVIRONMENT = frozenset(
    {
        *("LANG", "LC_ALL", "LC_CTYPE", "TZ"),
        *(
            "PYTHONPATH",
            "PYTHONHOME",
            "PYTHONUTF8",
            "LD_LIBRARY_PATH",
            "DYLD_LIBRARY_PATH",
            "TESSDATA_PREFIX",
        ),
        *("SYSTEMROOT", "WINDIR", "TEMP", "TMP", "TMPDIR"),
    }
)
# One thread and one heap, because the memory limit counts the memory that each further one reserves.
LIMITS = {"OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}

_SYSTEM = (
    *(
        "/usr/lib",
        "/usr/lib32",
        "/usr/lib64",
        "/usr/share",
        "/usr/local/lib",
        "/usr/local/lib64",
        "/usr/local/share",
    ),
    *(
        "/lib",
        "/lib32",
        "/lib64",
        "/nix/store",
        "/gnu/store",
        "/sys/devices/system/cpu",
        "/proc/cpuinfo",
        "/proc/meminfo",
    ),
    *("/etc/ld.so.cache", "/etc/localtime", "/etc/mime.types", "/etc/fonts", "/dev/urandom"),
)
_LOADER = re.compile(rb"(/[!-~]*/ld[-.0-9a-z][!-~]*)\0")  # the loader of a program, as ELF names it
_REFUSED_EVENTS = frozenset(
    {
        *(
            "socket.connect",
            "socket.bind",
            "socket.sendto",
            "socket.sendmsg",
            "socket.getaddrinfo",
            "socket.gethostbyname",
        ),
        *("os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "os.startfile"),
    }
)


def confines_files() -> bool:
    """Whether this system's kernel can confine a process to a few files."""
    return landlock.landlock_version() > 0


def describe_confinement() -> str:
    """How this system confines a process that reads files, in one line."""
    if confines_files() and seccomp.can_refuse_calls():
        return "Each file is read on its own: what reads it sees no other file of yours, and has no network."
    if confines_files():
        return (
            "Each file is read on its own: what reads it sees no other file of yours, and Python keeps "
            "it off the network."
        )
    return (
        "Files are read by a process that this system does not isolate: a file that took it over could read "
        "whatever you can read. Linux 5.13 or newer with Landlock isolates it."
    )


def environment(scratch: Path | None) -> dict[str, str]:
    """The environment of a process that reads files: no keys, no addresses, and its `scratch` folder as
    home."""
    known = {name: value for name, value in os.environ.items() if name.upper() in ENVIRONMENT}
    own = {} if scratch is None else dict.fromkeys(("HOME", "TMPDIR"), str(scratch))
    return known | LIMITS | own


def confine(*, inputs: Path | None, scratch: Path | None, tesseract: str) -> None:
    """Allow this process only to read and delete files in `inputs`, write in `scratch`, and start
    `tesseract`: its absolute path, or "" for none. It cannot be undone. Call it before the first thread
    starts, and before a file is read.
    """
    os.environ["PATH"] = str(Path(tesseract).parent) if tesseract else ""
    if sys.platform == "linux":
        # An empty network of its own, if the kernel allows that for ordinary processes.
        landlock.libc().unshare(CLONE_NEWUSER | CLONE_NEWNET)
        if inputs is not None and scratch is not None:
            landlock.restrict_files(_rules(inputs, scratch, tesseract))
        if seccomp.can_refuse_calls():
            with contextlib.suppress(OSError):  # a container may forbid it; the other restrictions hold
                seccomp.refuse_calls()


def confine_further(tesseract: str, parent: int) -> None:
    """Refuse in a forked process what only its `parent` needs, and end it when the parent ends."""
    if sys.platform != "win32":
        os.setpgid(0, 0)
    if sys.platform == "linux":
        landlock.libc().prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # the parent ended before this call
            os._exit(1)
        landlock.restrict_signals()
        if seccomp.can_refuse_calls():
            with contextlib.suppress(OSError):
                seccomp.refuse_groups()

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _REFUSED_EVENTS or (event == "subprocess.Popen" and str(arguments[0]) != tesseract):
            raise PermissionError(f"{event} is not for a process that reads files")

    sys.addaudithook(refuse)


def _rules(inputs: Path, scratch: Path, tesseract: str) -> Iterator[tuple[Path, int]]:
    yield inputs, landlock.TAKE
    yield scratch, landlock.WRITE
    yield Path(os.devnull), landlock.READ | landlock.WRITE_FILE
    for folder in _SYSTEM:
        yield Path(folder), landlock.READ
    for path in _libraries():
        yield path, landlock.READ
    if data := os.environ.get("TESSDATA_PREFIX"):
        yield Path(data), landlock.READ
    if tesseract:
        for program in _programs(Path(tesseract)):
            yield program, landlock.READ | landlock.EXECUTE


def _libraries() -> Iterator[Path]:
    """The folders of Python's modules and installed packages. Any other folder on Python's path may be a home
    folder: of it only packages and modules."""
    prefixes = {
        Path(prefix) for prefix in (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix)
    }
    for prefix in prefixes:
        yield from (prefix / name for name in ("lib", "lib64", "share"))
    for folder in map(Path, filter(None, sys.path)):
        if (
            folder.is_file()
            or folder.name in ("site-packages", "dist-packages")
            or any(folder.glob("*.dist-info"))
        ):
            yield folder
        elif not any(folder.is_relative_to(prefix / "lib") for prefix in prefixes):
            yield from (package.parent for package in folder.glob("*/__init__.py"))
            yield from (module for suffix in ("py", "so") for module in folder.glob(f"*.{suffix}"))


def _programs(program: Path) -> Iterator[Path]:
    """A program and its loader. A script, as in Nix, starts another program in its folder."""
    program = program.resolve()
    yield program
    with program.open("rb") as file:
        head = file.read(4096)
    if head.startswith(b"#!"):
        yield program.parent
        yield from _programs(Path(os.fsdecode(head[2:].split(maxsplit=1)[0])))
    elif loader := _LOADER.search(head):
        yield Path(os.fsdecode(loader[1]))
