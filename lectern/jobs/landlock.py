"""Landlock confines a Linux process and its children to the files that it names. It cannot be undone.

libc has no functions for its system calls: https://docs.kernel.org/userspace-api/landlock.html.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # alike on all processors
VERSION_FLAG = 1
PATH_BENEATH = 1
PR_SET_NO_NEW_PRIVS = 38

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE = (1 << bit for bit in range(6))
MAKE_DIR, MAKE_REG, TRUNCATE = 1 << 7, 1 << 8, 1 << 14
ALL_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}  # by version
ALL_RIGHTS_SINCE_5 = (1 << 16) - 1
TCP = 0b11  # to bind and to connect, since version 4
SCOPES = 0b11  # abstract sockets and signals, since version 6

READ = READ_FILE | READ_DIR
TAKE = READ | REMOVE_FILE  # read, and delete afterwards
WRITE = READ | WRITE_FILE | TRUNCATE | MAKE_REG | MAKE_DIR | REMOVE_FILE | REMOVE_DIR
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE  # the rights that a rule for a single file may name


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("rights", ctypes.c_uint64), ("descriptor", ctypes.c_int32))


@cache
def landlock_version() -> int:
    """The version of the kernel's Landlock; 0 without Landlock."""
    if sys.platform != "linux":
        return 0
    version: int = libc().syscall(CREATE_RULESET, None, 0, VERSION_FLAG)
    return max(version, 0)


def restrict_signals() -> None:
    """Forbid this thread and its children to send signals to earlier processes, with version 6. OSError."""
    if landlock_version() >= 6:
        _restrict(_Ruleset(0, 0, SCOPES), ())


def restrict_files(rules: Iterable[tuple[Path, int]]) -> None:
    """Allow this thread and its children only these rights, each below its path, and no TCP; with version 6,
    also no signals to other processes. Missing paths are ignored. Call it before another thread is started.
    OSError."""
    version = landlock_version()
    rights = ALL_RIGHTS.get(version, ALL_RIGHTS_SINCE_5)
    ruleset = _Ruleset(rights, TCP if version >= 4 else 0, SCOPES if version >= 6 else 0)
    _restrict(ruleset, ((path, allowed & rights) for path, allowed in rules))


def _restrict(ruleset: _Ruleset, rules: Iterable[tuple[Path, int]]) -> None:
    descriptor = _call(CREATE_RULESET, ctypes.byref(ruleset), ctypes.sizeof(ruleset), 0)
    try:
        for path, allowed in rules:
            with suppress(FileNotFoundError, PermissionError, NotADirectoryError):
                _allow(descriptor, path, allowed)
        if libc().prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        _call(RESTRICT_SELF, descriptor, 0)
    finally:
        os.close(descriptor)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = _PathBeneath(rights if path.is_dir() else rights & OF_FILES, opened)
        _call(ADD_RULE, ruleset, PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(opened)


def _call(number: int, *arguments: object) -> int:
    result: int = libc().syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


@cache
def libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
