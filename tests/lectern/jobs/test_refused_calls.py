"""What the filter of system calls answers: to a reader that a file took over, and for every number of both
processors."""

from __future__ import annotations

import json
import os
import platform
import struct
from pathlib import Path

import pytest

from lectern.jobs.seccomp import call_filter
from tests.lectern.jobs.hijacking import Attack, filtered, secret

pytestmark = pytest.mark.usefixtures("new_process")


@filtered
def test_modes_times_and_attributes_of_files_stay(attack: Attack, tmp_path: Path) -> None:
    there = secret(tmp_path / "outside" / "there.txt")
    there.chmod(0o640)
    os.setxattr(there, "user.origin", b"words")
    answer = attack(
        f"there, at, name = {os.fsencode(there)!r}, ctypes.c_int(-100), b'user.origin'\n"
        "value = ctypes.create_string_buffer(b'other')\n"
        "args, attr = struct.pack('QII', ctypes.addressof(value), 5, 0), bytes(24)\n"
        "calls = [(463, at, there, 0, name, args, 16), (464, at, there, 0, name, args, 16)]\n"
        "calls += [(465, at, there, 0, value, 6), (466, at, there, 0, name), (469, at, there, attr, 24, 0)]\n"
        "calls += [(467, at, there, 1), (468, at, there, attr, 24, 0), (452, at, there, 0, 0)]\n"
        "results = [outcome(libc.syscall(*call)) for call in calls]\n"
        "results += [outcome(libc.getxattr(there, name, value, 6))]\n"
        "results += [outcome(libc.listxattr(there, value, 6))]\n"
        "results += [outcome(libc.setxattr(there, name, value, 5, 0)), outcome(libc.chmod(there, 0))]\n"
        "flags = ctypes.c_long(64)\n"  # FS_NODUMP_FL
        "with path.open('rb') as file:\n"
        "    results.append(outcome(libc.ioctl(file.fileno(), ctypes.c_ulong(0x40086602), "
        "ctypes.byref(flags))))\n"
        "return Document(json.dumps(results))"
    )
    assert json.loads(answer.text) == ["ENOSYS"] * 7 + ["EPERM"] * 6
    assert os.getxattr(there, "user.origin") == b"words"
    assert there.stat().st_mode & 0o777 == 0o640


@filtered
def test_no_program_in_memory_and_no_news_of_files(attack: Attack) -> None:
    answer = attack(
        "program = libc.memfd_create(b'program', 0)\n"
        "results = [outcome(program), outcome(libc.inotify_init()), outcome(libc.inotify_init1(0))]\n"
        "results += [outcome(libc.inotify_add_watch(0, b'/', 0xFFF))]\n"
        "results += [outcome(libc.execveat(0, b'', None, None, 0))]\n"
        "results += [outcome(libc.syscall(number, 0, 0, 0, 0, 0, 0)) for number in "
        "(424, 425, 426, 427, 428, 430, 434, 440, 447, 448)]\n"
        "pair = (ctypes.c_int * 2)()\n"
        "results += [outcome(libc.socketpair(1, 2, 0, pair)), outcome(libc.chroot(b'/'))]\n"
        "return Document(json.dumps(results))"
    )
    assert json.loads(answer.text) == ["EPERM"] * 17


@filtered
def test_threads_start_and_namespaces_do_not(attack: Attack) -> None:
    clone = {"x86_64": 56, "aarch64": 220}[platform.machine()]
    answer = attack(
        "import threading\nstarted = []\nthread = threading.Thread(target=lambda: started.append(1))\n"
        "thread.start()\nthread.join()\n"
        f"results = [outcome(libc.syscall({clone}, ctypes.c_ulong(flag | 17), None, None, None, None)) "
        "for flag in (0x20000, 0x10000000, 0x40000000)]\n"
        "results += [outcome(libc.syscall(number, bytes(64), ctypes.c_ulong(64))) for number in "
        "(435, 423, 470, 512, 0x40000000 + 90, 0xFFFFFFF0)]\n"
        "return Document(json.dumps([len(started), *results]))"
    )
    assert json.loads(answer.text) == [1, *["EPERM"] * 3, *["ENOSYS"] * 6]


ALLOW, EPERM, ENOSYS = 0x7FFF_0000, 0x5_0001, 0x5_0026


def run_filter(code: bytes, architecture: int, number: int, first: int = 0, second: int = 0) -> int:
    """What the kernel does with a call: a machine for the few instructions of classic BPF that filters have,
    see https://docs.kernel.org/networking/filter.html."""
    data = struct.pack("=iIQQQ4Q", number - (number >> 31 << 32), architecture, 0, first, second, 0, 0, 0, 0)
    instructions = list(struct.iter_unpack("=HBBI", code))
    position = value = 0
    while True:
        operation, if_true, if_false, constant = instructions[position]
        position += 1
        if operation == 0x06:
            return constant
        if operation == 0x20:
            (value,) = struct.unpack_from("=I", data, constant)
        elif operation == 0x54:
            value &= constant
        else:
            holds = {
                0x15: value == constant,
                0x25: value > constant,
                0x35: value >= constant,
                0x45: value & constant,
            }
            position += if_true if holds[operation] else if_false


ARCHITECTURES = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}
# Calls that Python, its libraries and tesseract make: read write close fstat mmap munmap brk rt_sigaction
# readv pipe2 dup3 execve exit wait4 fcntl getdents64 unlinkat openat newfstatat futex exit_group getrandom
# statx rseq close_range openat2 faccessat2 futex_waitv set_robust_list sched_getaffinity clock_gettime.
NEEDED = {
    "x86_64": (
        *(0, 1, 3, 5, 9, 11, 12, 13, 19, 293, 292, 59, 60, 61, 72, 217, 263, 257, 262, 202, 231, 318),
        *(332, 334, 436, 437, 439, 449, 273, 204, 228),
    ),
    "aarch64": (
        *(63, 64, 57, 80, 222, 215, 214, 134, 65, 59, 24, 221, 93, 260, 25, 61, 35, 56, 79, 98, 94, 278),
        *(291, 293, 436, 437, 439, 449, 99, 123, 113),
    ),
}
CHANGING = {  # chmod or fchmodat, utimensat, setxattr, memfd_create, inotify_init1, kexec and mounts
    "x86_64": (90, 268, 280, 188, 319, 294, 165, 101, 41, 250, 452),
    "aarch64": (53, 88, 5, 279, 26, 40, 117, 198, 219, 452),
}


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_the_filter_knows_every_number_of_a_processor(machine: str) -> None:
    code, architecture = call_filter(machine), ARCHITECTURES[machine]

    def verdict(number: int, first: int = 0, second: int = 0) -> int:
        return run_filter(code, architecture, number, first, second)

    numbers = [*range(463, 3000), 0x3FFF_FFFF, *range(0x4000_0000, 0x4000_0400), 0x8000_0000, 0xFFFF_FFFF]
    assert {verdict(number) for number in numbers} == {ENOSYS}
    assert {verdict(number) for number in range(340, 424)} == {ENOSYS}
    assert {verdict(number) for number in NEEDED[machine]} == {ALLOW}
    assert {verdict(number) for number in CHANGING[machine]} == {EPERM}
    other = next(value for value in ARCHITECTURES.values() if value != architecture)
    assert {run_filter(code, other, number) for number in range(500)} == {EPERM}
    prlimit, clone, ioctl = {"x86_64": (302, 56, 16), "aarch64": (261, 220, 29)}[machine]
    assert [verdict(prlimit, pid) for pid in (0, 1, 1 << 32)] == [ALLOW, EPERM, EPERM]
    assert [verdict(clone, flags) for flags in (17, 0x3D0F00, 0x10000011, 0x20000)] == [
        *[ALLOW] * 2,
        *[EPERM] * 2,
    ]
    allowed, refused = (0x5401, 0x5451, 0x802C542A), (0x5412, 0x541C, 0x40086602, 0x401C5820, 0x5000940F)
    assert {verdict(ioctl, 0, command) for command in allowed} == {ALLOW}
    assert {verdict(ioctl, 0, command) for command in refused} == {EPERM}
    setsid = {"x86_64": 112, "aarch64": 157}[machine]
    assert verdict(setsid) == ALLOW
    assert run_filter(call_filter(machine, groups=True), architecture, setsid) == EPERM
