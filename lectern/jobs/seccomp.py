"""Makes the Linux kernel refuse system calls that a process which reads files never needs, with EPERM: calls
for the network, other processes, their limits and priorities, shared memory and messages, programs in memory,
and news about files; and the modes, owners, times and attributes of files, which Landlock does not restrict.
Calls that are not known here do not exist for the process (ENOSYS), as on an older kernel.

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
# Instructions of the classic BPF machine.
LOAD, AND, RETURN = 0x20, 0x54, 0x06
JUMP_EQUAL, JUMP_GREATER, JUMP_GREATER_OR_EQUAL, JUMP_SET = 0x15, 0x25, 0x35, 0x45
ALLOW = 0x7FFF_0000  # SECCOMP_RET_ALLOW
REFUSE, UNKNOWN = 0x0005_0001, 0x0005_0026  # SECCOMP_RET_ERRNO with EPERM, and with ENOSYS
NUMBER_AT, ARCHITECTURE_AT = 0, 4  # in struct seccomp_data
FIRST_ARGUMENT_AT, SECOND_ARGUMENT_AT = 16, 24
HIGHEST = 0xFFFF_FFFF  # x86-64 has a third set of calls, x32, from 0x4000_0000 on
LAST_KNOWN = 462  # mseal; the numbers from 424 on are alike on all processors
NAMESPACES = 0x7E02_0000  # the flags of clone(2) that begin with CLONE_NEW
# The class of ioctl(2) for terminals and descriptors. All others are about file systems and devices. Of this
# class, TIOCSTI and TIOCLINUX type into a terminal.
TERMINAL_CLASS, TYPES_INTO_TERMINAL = 0x5400, (0x5412, 0x541C)

# Each call with its number on x86-64 and on ARM64.
_REFUSED = """
socket 41 198, socketpair 53 199
ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271, process_madvise 440 440
process_mrelease 448 448, kcmp 312 272, pidfd_open 434 434, pidfd_getfd 438 438, pidfd_send_signal 424 424
setpriority 141 140, sched_setparam 142 118, sched_setscheduler 144 119, sched_setaffinity 203 122
sched_setattr 314 274, ioprio_set 251 30, migrate_pages 256 238, move_pages 279 239
add_key 248 217, request_key 249 218, keyctl 250 219, bpf 321 280, perf_event_open 298 241, syslog 103 116
userfaultfd 323 282, io_uring_setup 425 425, io_uring_enter 426 426, io_uring_register 427 427
memfd_create 319 279, memfd_secret 447 447, execveat 322 281
inotify_init 253 -, inotify_init1 294 26, inotify_add_watch 254 27
fanotify_init 300 262, fanotify_mark 301 263
mount 165 40, umount2 166 39, chroot 161 51, pivot_root 155 41, open_tree 428 428, move_mount 429 429
fsopen 430 430, fsconfig 431 431, fsmount 432 432, fspick 433 433, mount_setattr 442 442
statmount 457 457, listmount 458 458, unshare 272 97, setns 308 268, quotactl 179 60, quotactl_fd 443 443
name_to_handle_at 303 264, open_by_handle_at 304 265
shmget 29 194, shmctl 31 195, shmat 30 196, shmdt 67 197, semget 64 190, semctl 66 191, semtimedop 220 192
semop 65 193, msgget 68 186, msgctl 71 187, msgrcv 70 188, msgsnd 69 189, mq_open 240 180, mq_unlink 241 181
mq_timedsend 242 182, mq_timedreceive 243 183, mq_notify 244 184, mq_getsetattr 245 185
truncate 76 45, chmod 90 -, fchmod 91 52, fchmodat 268 53, fchmodat2 452 452, chown 92 -, fchown 93 55
lchown 94 -, fchownat 260 54, utime 132 -, utimes 235 -, futimesat 261 -, utimensat 280 88
setxattr 188 5, lsetxattr 189 6, fsetxattr 190 7, removexattr 197 14, lremovexattr 198 15, fremovexattr 199 16
getxattr 191 8, lgetxattr 192 9, fgetxattr 193 10, listxattr 194 11, llistxattr 195 12, flistxattr 196 13
"""
_REFUSED_OF_GROUPS = "setsid 112 157, setpgid 109 154"

_Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, value


@dataclass(frozen=True, slots=True)
class _Processor:
    """The numbers of the architecture and of calls. `column`: of its numbers in the tables above. `unknown`:
    the first and last numbers of ranges without known calls."""

    architecture: int
    column: int
    unknown: tuple[tuple[int, int], ...]
    seccomp: int
    prlimit64: int
    clone: int
    ioctl: int


_PROCESSORS = {
    "x86_64": _Processor(0xC000_003E, 1, ((337, 423), (LAST_KNOWN + 1, HIGHEST)), 317, 302, 56, 16),
    "aarch64": _Processor(0xC000_00B7, 2, ((295, 423), (LAST_KNOWN + 1, HIGHEST)), 277, 261, 220, 29),
}
CLONE3 = 435


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def can_refuse_calls() -> bool:
    """Whether the numbers of this system's calls are known."""
    return sys.platform == "linux" and platform.machine() in _PROCESSORS and sys.maxsize > 2**32


def refuse_calls() -> None:
    """Refuse the calls in this thread and its children. Call it before another thread is started. OSError."""
    _install(call_filter(platform.machine()))


def refuse_groups() -> None:
    """As `refuse_calls`: this thread and its children stay in their group of processes."""
    _install(call_filter(platform.machine(), groups=True))


def _install(code: bytes) -> None:
    program = _Program(len(code) // 8, code)
    if libc().prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc().syscall(
        _PROCESSORS[platform.machine()].seccomp, SET_MODE_FILTER, SPEC_ALLOW, ctypes.byref(program)
    ):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def call_filter(machine: str, *, groups: bool = False) -> bytes:
    """The BPF program for a processor, "x86_64" or "aarch64": instructions of 8 bytes each. With `groups` it
    also refuses to leave the group of processes."""
    processor = _PROCESSORS[machine]
    refused = _numbers(_REFUSED, processor) + (_numbers(_REFUSED_OF_GROUPS, processor) if groups else [])
    program = [
        (LOAD, 0, 0, ARCHITECTURE_AT),
        (JUMP_EQUAL, 1, 0, processor.architecture),
        (RETURN, 0, 0, REFUSE),
        (LOAD, 0, 0, NUMBER_AT),
    ]
    for first, last in processor.unknown:
        program += [
            (JUMP_GREATER_OR_EQUAL, 0, 2, first),
            (JUMP_GREATER, 1, 0, last),
            (RETURN, 0, 0, UNKNOWN),
        ]
    # Its flags are in memory, where they cannot be compared. Without it, libc calls clone.
    program += [(JUMP_EQUAL, 0, 1, CLONE3), (RETURN, 0, 0, UNKNOWN)]
    for number in refused:
        program += [(JUMP_EQUAL, 0, 1, number), (RETURN, 0, 0, REFUSE)]
    program += _compare_arguments(processor)
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def _numbers(calls: str, processor: _Processor) -> list[int]:
    """The numbers of a table's calls on this processor."""
    numbers = [call.split()[processor.column] for call in calls.strip().replace("\n", ",").split(",")]
    return [int(number) for number in numbers if number != "-"]


def _compare_arguments(processor: _Processor) -> list[_Instruction]:
    """The end of the program. It refuses `prlimit64` of any process but the caller, which is 0; all but the
    harmless commands of `ioctl`; and new namespaces by `clone`. It allows all other calls."""
    return [
        (JUMP_EQUAL, 0, 6, processor.prlimit64),
        (LOAD, 0, 0, FIRST_ARGUMENT_AT),
        (JUMP_EQUAL, 0, 3, 0),
        (LOAD, 0, 0, FIRST_ARGUMENT_AT + 4),
        (JUMP_EQUAL, 0, 1, 0),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, REFUSE),
        (JUMP_EQUAL, 0, 7, processor.ioctl),
        (LOAD, 0, 0, SECOND_ARGUMENT_AT),
        *((JUMP_EQUAL, jump, 0, command) for jump, command in zip((4, 3), TYPES_INTO_TERMINAL, strict=True)),
        (AND, 0, 0, 0xFF00),
        (JUMP_EQUAL, 0, 1, TERMINAL_CLASS),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, REFUSE),
        (JUMP_EQUAL, 0, 3, processor.clone),
        (LOAD, 0, 0, FIRST_ARGUMENT_AT),
        (JUMP_SET, 0, 1, NAMESPACES),
        (RETURN, 0, 0, REFUSE),
        (RETURN, 0, 0, ALLOW),
    ]
