"""System calls that a process which reads files never needs, refused by the Linux kernel with EPERM: those that reach the
network, other processes, and the modes, owners and times of files, which Landlock leaves alone.

https://docs.kernel.org/userspace-api/seccomp_filter.html
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from dataclasses import dataclass

PR_SET_NO_NEW_PRIVS = 38
SET_MODE_FILTER = 1
SPEC_ALLOW = 1 << 2  # no mitigation that slows all else down
LOAD, JUMP_EQUAL, JUMP_GREATER_OR_EQUAL, RETURN = 0x20, 0x15, 0x35, 0x06  # of the classic BPF machine
ALLOW, REFUSE = 0x7FFF_0000, 0x0005_0001  # SECCOMP_RET_ALLOW; SECCOMP_RET_ERRNO with EPERM
NUMBER_AT, ARCHITECTURE_AT = 0, 4  # in struct seccomp_data
X32 = 0x4000_0000  # the numbers of a third set of calls begin here on x86-64


@dataclass(frozen=True, slots=True)
class _Processor:
    """The number of the architecture, of the call `seccomp`, and of the calls that are refused, in the order of REFUSED."""

    architecture: int
    seccomp: int
    refused: tuple[int, ...]


# socket io_uring_setup ptrace process_vm_readv process_vm_writev pidfd_getfd add_key request_key keyctl bpf perf_event_open
# userfaultfd mount umount2 unshare setns setsid setpgid truncate fchmod fchmodat fchmodat2 fchown fchownat utimensat setxattr
# lsetxattr fsetxattr removexattr lremovexattr fremovexattr, and on x86-64 chmod chown lchown utime utimes futimesat
_PROCESSORS = {
    "x86_64": _Processor(
        0xC000_003E,
        317,
        (
            *(41, 425, 101, 310, 311, 438, 248, 249, 250, 321, 298, 323, 165, 166, 272, 308, 112, 109, 76, 91, 268, 452),
            *(93, 260, 280, 188, 189, 190, 197, 198, 199, 90, 92, 94, 132, 235, 261),
        ),
    ),
    "aarch64": _Processor(
        0xC000_00B7,
        277,
        (
            *(198, 425, 117, 270, 271, 438, 217, 218, 219, 280, 241, 282, 40, 39, 97, 268, 157, 154, 45, 52, 53, 452, 55),
            *(54, 88, 5, 6, 7, 14, 15, 16),
        ),
    ),
}


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def can_refuse_calls() -> bool:
    """Whether this system is one whose calls are known here."""
    return sys.platform == "linux" and platform.machine() in _PROCESSORS and sys.maxsize > 2**32


def refuse_calls() -> None:
    """From here on this thread, and what it starts, is refused the calls. Call it before another thread is started. OSError."""
    processor = _PROCESSORS[platform.machine()]
    code = _filter(processor)
    program = _Program(len(code) // 8, code)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.syscall(
        processor.seccomp, SET_MODE_FILTER, SPEC_ALLOW, ctypes.byref(program)
    ):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _filter(processor: _Processor) -> bytes:
    """Refused are the calls of another architecture, those of x32, and those listed; every other one is allowed."""
    refused = processor.refused
    body = [(JUMP_GREATER_OR_EQUAL, len(refused) + 1, 0, X32)]  # to the last instruction, as each call's jump
    body += [(JUMP_EQUAL, len(refused) - place, 0, number) for place, number in enumerate(refused)]
    program = [
        (LOAD, 0, 0, ARCHITECTURE_AT),
        (JUMP_EQUAL, 0, len(body) + 2, processor.architecture),
        (LOAD, 0, 0, NUMBER_AT),
        *body,
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, REFUSE),
    ]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
