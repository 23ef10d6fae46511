"""Makes the Linux kernel refuse system calls that a process which reads files never needs, with EPERM: calls
for the network, other processes, their limits and priorities, shared memory and messages, and the modes,
owners and times of files, which Landlock does not restrict.

https://docs.kernel.org/userspace-api/seccomp_filter.html
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from dataclasses import dataclass

from lectern.jobs.landlock import libc

PR_SET_NO_NEW_PRIVS = 38
SET_MODE_FILTER = 1
SPEC_ALLOW = 1 << 2  # no mitigation that slows all else down
LOAD, JUMP_EQUAL, JUMP_GREATER_OR_EQUAL, RETURN = 0x20, 0x15, 0x35, 0x06  # of the classic BPF machine
ALLOW, REFUSE = 0x7FFF_0000, 0x0005_0001  # SECCOMP_RET_ALLOW; SECCOMP_RET_ERRNO with EPERM
NUMBER_AT, ARCHITECTURE_AT, FIRST_ARGUMENT_AT = 0, 4, 16  # in struct seccomp_data
X32 = 0x4000_0000  # the numbers of a third set of calls begin here on x86-64


@dataclass(frozen=True, slots=True)
class _Processor:
    """The numbers of the architecture and of calls. `refused` and `of_groups` are in the order of the comment
    below."""

    architecture: int
    seccomp: int
    prlimit64: int
    refused: tuple[int, ...]
    of_groups: tuple[int, ...]


# socket io_uring_setup ptrace process_vm_readv process_vm_writev pidfd_getfd add_key request_key keyctl bpf
# perf_event_open userfaultfd mount umount2 unshare setns truncate fchmod fchmodat fchmodat2 fchown fchownat
# utimensat setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr, and on x86-64 chmod chown
# lchown utime utimes futimesat; setpriority sched_setparam sched_setscheduler sched_setaffinity sched_setattr
# ioprio_set; shmget shmctl shmat shmdt semget semctl semtimedop semop msgget msgctl msgrcv msgsnd; mq_open
# mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr. Of groups of processes: setsid setpgid.
_PROCESSORS = {
    "x86_64": _Processor(
        0xC000_003E,
        317,
        302,
        (
            *(
                41,
                425,
                101,
                310,
                311,
                438,
                248,
                249,
                250,
                321,
                298,
                323,
                165,
                166,
                272,
                308,
                76,
                91,
                268,
                452,
                93,
                260,
                280,
            ),
            *(188, 189, 190, 197, 198, 199, 90, 92, 94, 132, 235, 261),
            *(141, 142, 144, 203, 314, 251),
            *(29, 31, 30, 67, 64, 66, 220, 65, 68, 71, 70, 69),
            *range(240, 246),
        ),
        (112, 109),
    ),
    "aarch64": _Processor(
        0xC000_00B7,
        277,
        261,
        (
            *(
                198,
                425,
                117,
                270,
                271,
                438,
                217,
                218,
                219,
                280,
                241,
                282,
                40,
                39,
                97,
                268,
                45,
                52,
                53,
                452,
                55,
                54,
                88,
            ),
            *(5, 6, 7, 14, 15, 16),
            *(140, 118, 119, 122, 274, 30),
            *(194, 195, 196, 197, 190, 191, 192, 193, 186, 187, 188, 189),
            *range(180, 186),
        ),
        (157, 154),
    ),
}


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def can_refuse_calls() -> bool:
    """Whether the numbers of this system's calls are known."""
    return sys.platform == "linux" and platform.machine() in _PROCESSORS and sys.maxsize > 2**32


def refuse_calls() -> None:
    """Refuse the calls in this thread and its children. Call it before another thread is started. OSError."""
    _install(_PROCESSORS[platform.machine()].refused)


def refuse_groups() -> None:
    """As `refuse_calls`: this thread and its children stay in their group of processes."""
    _install(_PROCESSORS[platform.machine()].of_groups)


def _install(refused: tuple[int, ...]) -> None:
    processor = _PROCESSORS[platform.machine()]
    code = _filter(processor, refused)
    program = _Program(len(code) // 8, code)
    if libc().prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc().syscall(
        processor.seccomp, SET_MODE_FILTER, SPEC_ALLOW, ctypes.byref(program)
    ):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _filter(processor: _Processor, refused: tuple[int, ...]) -> bytes:
    """Refuses the calls of another architecture, those of x32, those listed, and `prlimit64` of any process
    but the caller, which is 0; allows all others."""
    to_refuse = len(refused) + 1  # instructions from the second of `body` to the last of all
    limits = [
        (JUMP_EQUAL, 0, 4, processor.prlimit64),
        (LOAD, 0, 0, FIRST_ARGUMENT_AT),
        (JUMP_EQUAL, 0, to_refuse + 3, 0),
        (LOAD, 0, 0, FIRST_ARGUMENT_AT + 4),
        (JUMP_EQUAL, to_refuse, to_refuse + 1, 0),
    ]
    body = [(JUMP_GREATER_OR_EQUAL, to_refuse, 0, X32)]
    body += [(JUMP_EQUAL, len(refused) - place, 0, number) for place, number in enumerate(refused)]
    program = [
        (LOAD, 0, 0, ARCHITECTURE_AT),
        (JUMP_EQUAL, 0, len(limits) + len(body) + 2, processor.architecture),
        (LOAD, 0, 0, NUMBER_AT),
        *limits,
        *body,
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, REFUSE),
    ]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
