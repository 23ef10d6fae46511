"""What a reader that a file took over can reach. It speaks to the kernel by libc, past Python and its audit
hooks."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from lectern.jobs import sandbox
from lectern.jobs.confinement import confines_files, describe_confinement, environment
from lectern.jobs.landlock import landlock_version
from lectern.jobs.reader_process import ReaderProcess
from lectern.jobs.sandbox import draw_isolated, end_readers, read_isolated, start_reader, unpack_isolated
from ragcore.errors import DamagedFileError
from ragcore.readers.base import ReadOptions
from ragcore.readers.ocr.tesseract import find_program
from ragcore.readers.registry import read_file
from tests.lectern.jobs.hijacking import Attack, filtered, landlocked, read, secret
from tests.making import MAKERS, make_any, make_pdf, make_text, make_zip
from tests.needs import needs_tesseract

SIGNALS_ARE_SCOPED = landlock_version() >= 6

pytestmark = pytest.mark.usefixtures("new_process")


@landlocked
def test_no_file_but_its_own_is_read(attack: Attack, tmp_path: Path) -> None:
    home = tmp_path / "home"
    files = [
        secret(home / ".ssh" / "id_ed25519"),
        secret(home / "lectern" / "keys.json"),
        secret(home / "lectern" / "files" / "other" / "1.txt"),
        secret(home / "another library" / "library.db"),
        secret(tmp_path / "beside.txt"),
        Path.home(),
        Path("/etc/passwd"),
        Path(f"/proc/{os.getpid()}/environ"),
        Path(f"/proc/{os.getpid()}/mem"),
        Path("/"),
    ]
    answer = attack(f"return Document(json.dumps([opened(each) for each in {[*map(str, files)]!r}]))")
    assert json.loads(answer.text) == ["EACCES"] * len(files)


@landlocked
def test_its_own_file_is_read_and_not_changed(attack: Attack, tmp_path: Path) -> None:
    answer = attack(
        "results = [opened(path), opened(path, os.O_RDWR), opened(path, os.O_WRONLY | os.O_TRUNC)]\n"
        "results.append(outcome(libc.truncate(os.fsencode(path), ctypes.c_long(0))))\n"
        "return Document(path.read_text() + json.dumps(results))"
    )
    assert answer.text == 'words["done", "EACCES", "EACCES", "EPERM"]'
    assert (tmp_path / "evil.txt").read_text() == "words"


@landlocked
def test_nothing_is_changed_outside_the_scratch_folder(attack: Attack, tmp_path: Path) -> None:
    there = secret(tmp_path / "outside" / "there.txt")
    folder = there.parent
    answer = attack(
        f"there, folder = {os.fsencode(there)!r}, {os.fsencode(folder)!r}\nhere = "
        "os.fsencode(os.getcwd()) + b'/x'\n"
        "results = [opened(there.decode(), os.O_WRONLY), opened(folder.decode() + '/new', os.O_WRONLY | "
        "os.O_CREAT)]\n"
        "results += map(outcome, (libc.unlink(there), libc.mkdir(folder + b'/d', 0o700), "
        "libc.rename(there, folder + b'/r')))\n"
        "results += map(outcome, (libc.symlink(there, here), libc.link(there, here), libc.chmod(there, 0)))\n"
        "results += [outcome(libc.utimensat(-100, there, None, 0))]\n"
        "Path('own.txt').write_text('own')\n"
        "return Document(json.dumps([results, Path('own.txt').read_text()]))"
    )
    results, own = json.loads(answer.text)
    assert own == "own"
    assert set(results) <= {"EACCES", "EPERM", "EXDEV"}
    assert there.read_text() == "secret"
    assert [each.name for each in folder.iterdir()] == ["there.txt"]


@filtered
def test_native_code_cannot_open_a_socket(attack: Attack) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        answer = attack(
            "kinds = [(kind, form) for kind in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX) for "
            "form in (1, 2)]\n"
            "results = [outcome(libc.socket(*each, 0)) for each in kinds]\n"
            f"where = struct.pack('=HHI8x', 2, socket.htons({server.getsockname()[1]}), 0x0100007f)\n"
            "results.append(outcome(libc.connect(libc.socket(2, 1, 0), where, 16)))\n"
            "return Document(json.dumps(results))"
        )
        assert json.loads(answer.text) == ["EPERM"] * 6 + ["EBADF"]
        server.settimeout(0.1)
        with pytest.raises(TimeoutError):
            server.accept()


@landlocked
def test_no_program_is_started_by_native_code(attack: Attack) -> None:
    answer = attack(
        "results = []\n"
        "for program in (b'/bin/sh', b'/usr/bin/env', os.fsencode(sys.executable)):\n"
        "    child = libc.fork()\n"
        "    if not child:\n"
        "        libc.execv(program, (ctypes.c_char_p * 2)(program, None))\n"
        "        os._exit(ctypes.get_errno())\n"
        "    results.append(errno.errorcode[os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])])\n"
        "return Document(json.dumps(results))"
    )
    assert json.loads(answer.text) == ["EACCES"] * 3


@landlocked
@filtered
def test_other_processes_are_out_of_reach(attack: Attack) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        answer = attack(
            f"results = [outcome(libc.ptrace(16, {other.pid}, None, None)), outcome(libc.setsid())]\n"
            f"results.append(outcome(libc.kill({other.pid}, 0)))\nreturn Document(json.dumps(results))"
        )
        traced, left, signalled = json.loads(answer.text)
        assert (traced, left) == ("EPERM", "EPERM")
        if SIGNALS_ARE_SCOPED:
            assert signalled == "EPERM"
        other.communicate(b"\n")


def test_the_environment_holds_no_keys_and_no_addresses(
    attack: Attack, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "OPENAI_API_KEY",
        "LECTERN_DATABASE",
        "AWS_SECRET_ACCESS_KEY",
        "SSH_AUTH_SOCK",
        "LECTERN_HOME",
    ):
        monkeypatch.setenv(name, "secret")
    seen = json.loads(attack("return Document(json.dumps(dict(os.environ)))").text)
    assert "secret" not in seen.values()
    assert seen.keys() <= environment(None).keys() | {"PATH", "HOME", "TMPDIR", "LC_CTYPE"}
    if confines_files():
        assert Path(seen["HOME"]) != Path.home()


FORGED = b'{"metadata": {}, "pages": %s, "page_word": "", "left_out": []}'

# How a reader that was taken over writes to the one pipe beside the standard ones, and finds the secret of
# its order.
PIPE = """\
import fcntl, gc, time
def is_pipe(number):
    try:
        is_fifo = os.fstat(number).st_mode & 0o170000 == 0o010000
        return is_fifo and fcntl.fcntl(number, fcntl.F_GETFL) & 3 == os.O_WRONLY
    except OSError:
        return False
def say(line):
    for number in filter(is_pipe, range(3, 20)):
        os.write(number, line)
frame = sys._getframe()
while "order" not in frame.f_locals:
    frame = frame.f_back
nonce = frame.f_locals["order"]["nonce"].encode()
def answer(head, body=b"forged", nonce=nonce):
    return b"answer %s %d %d 0\\n%s%s\\n" % (nonce, len(head), len(body), head, body)
"""


@pytest.mark.parametrize(
    "line",
    [
        b"7 x\n",
        b"{}\n",
        b"begun\n",
        b"answer\n",
        b"answer x 1 1 1\n",
        b"9" * 5_000,
        b"answer %s 16000001 0 0\n",
        b"answer %s 2 4000001 0\n",
        b"answer %s 2 0 100000001\n",
        b"answer %s -1 0 0\n",
        b"answer %s 2 0 0\n{}x",
        b"died -11\n",
        b"died x\n",
    ],
)
def test_a_line_that_no_reader_says_is_a_damaged_file(line: bytes, attack: Attack) -> None:
    with pytest.raises(DamagedFileError, match=r"evil\.txt"):
        attack(f"{PIPE}say({line!r}.replace(b'%s', nonce))\ntime.sleep(20)")


@pytest.mark.parametrize(
    "head",
    [
        b"\x80\x04\x8c\x05posix\x94\x8c\x06system\x94\x93\x94\x8c\x04true\x94\x85\x94R\x94.",
        b"{",
        b"{}",
        b"7",
        b"[" * 100_000,
        b'{"text": ' * 100_000,
        FORGED % b'[["1", 0, 99]]',
        FORGED % b'[["1", 0, Infinity]]',
        FORGED % b'[["\\ud800", 0, 3]]',
        b'{"error": "SystemExit", "what": "", "hint": ""}',
        b'{"error": "LLMUnavailableError", "what": "", "hint": ""}',
        b'{"error": "InputError", "what": "\\ud800", "hint": ""}',
    ],
)
def test_an_answer_that_no_reader_gives_is_a_damaged_file(head: bytes, attack: Attack) -> None:
    with pytest.raises(DamagedFileError, match=r"evil\.txt"):
        attack(f"{PIPE}say(answer({head!r}))\ntime.sleep(20)")


@pytest.mark.parametrize("body", ["b'\\xff'", "b'x' * 1_000_001"])
def test_a_text_that_no_reader_gives_is_a_damaged_file(body: str, attack: Attack) -> None:
    with pytest.raises(DamagedFileError, match=r"evil\.txt"):
        attack(f"{PIPE}say(answer({FORGED % b'[]'!r}, {body}))\ntime.sleep(20)")


FORGERIES = {
    "of its own order": "answer(head)",
    "of another order": "answer(head) + b'begun ' + nonce + b' 1\\n' + answer(head)",
    "as if it had ended": "answer(head) + b'ended ' + nonce + b'\\n' + answer(head)",
}


@pytest.mark.parametrize("line", FORGERIES.values(), ids=FORGERIES.keys())
def test_no_result_remains_for_the_next_file(line: str, attack: Attack, tmp_path: Path) -> None:
    code = (
        f"if path.name == 'good.txt':\n    return Document(path.read_text())\n{PIPE}head = "
        f"{FORGED % b'[]'!r}\n"
    )
    assert attack(f"{code}say({line})\ntime.sleep(20)").text == "forged"
    for _ in range(2):
        assert read(make_text(tmp_path / "good.txt", "good words")).text == "good words"


def test_what_took_a_reader_over_sees_no_other_file(attack: Attack, tmp_path: Path) -> None:
    code = (
        "import time\nif path.name == 'good.txt':\n"
        "    time.sleep(1)\n    return Document(json.dumps([path.read_text(), os.listdir(path.parent), "
        "os.listdir('.')]))\n"
        "folder = path.parent\nif not libc.fork():\n"
        "    while True:\n        for name in os.listdir(folder):\n            "
        "Path(name).write_text('seen')\n"
        "return Document('words')"
    )
    assert attack(code).text == "words"
    (waiting,) = sandbox._idle
    assert json.loads(read(make_text(tmp_path / "good.txt", "good words")).text) == [
        "good words",
        ["good.txt"],
        [],
    ]
    assert sandbox._idle == [waiting]


@landlocked
def test_hijacked_reader_cannot_kill_or_stop_its_parent(attack: Attack) -> None:
    answer = attack(
        "results = [outcome(libc.kill(os.getppid(), number)) for number in (9, 19)]\n"
        "return Document(json.dumps([*results, outcome(libc.setpgid(0, os.getppid())), "
        "outcome(libc.setsid())]))"
    )
    assert json.loads(answer.text) == [*["EPERM" if SIGNALS_ARE_SCOPED else "done"] * 2, "EPERM", "EPERM"]


@filtered
def test_limits_and_priorities_of_others_do_not_change(attack: Attack) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        number = {"x86_64": 302, "aarch64": 261}[platform.machine()]
        answer = attack(
            "limits, policy = (ctypes.c_uint64 * 2)(1, 1), (ctypes.c_int * 1)(0)\n"
            f"results = [libc.syscall({number}, {other.pid}, 0, limits, None), libc.syscall({number}, "
            "0, 0, None, limits)]\n"
            f"results = [*map(outcome, results[:1]), 'done' if not results[1] else 'refused']\n"
            f"calls = [(libc.setpriority, 0, {other.pid}, 5), (libc.sched_setscheduler, {other.pid}, 3, "
            "policy)]\n"
            f"calls += [(libc.sched_setparam, {other.pid}, policy), (libc.sched_setaffinity, "
            f"{other.pid}, 4, policy)]\n"
            "calls += [(libc.shmget, 1, 4096, 0o1600), (libc.semget, 1, 1, 0o1600), (libc.msgget, 1, "
            "0o1600)]\n"
            "results += [outcome(call(*given)) for call, *given in calls]\nreturn "
            "Document(json.dumps(results))"
        )
        assert json.loads(answer.text) == ["EPERM", "done", *["EPERM"] * 7]
        assert os.getpriority(os.PRIO_PROCESS, other.pid) == os.getpriority(os.PRIO_PROCESS, 0)
        other.communicate(b"\n")


@pytest.mark.skipif(sys.platform != "linux", reason="address space is limited on Linux alone")
def test_limits_cannot_be_raised_and_a_large_file_is_not_written(attack: Attack) -> None:
    answer = attack(
        "import resource\nkinds = (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_FSIZE, "
        "resource.RLIMIT_CORE)\n"
        "results = []\nfor kind in kinds:\n"
        "    try:\n        resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))\n"
        "    except ValueError:\n        results.append('refused')\n"
        "with open('large', 'wb') as file:\n"
        "    try:\n        file.truncate(1_000_000_001)\n    except OSError as error:\n"
        "        results.append(errno.errorcode[error.errno])\n"
        "return Document(json.dumps(results))"
    )
    assert json.loads(answer.text) == ["refused"] * 4 + ["EFBIG"]


def test_a_member_outside_the_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside = secret(tmp_path / "outside.txt")
    start = tmp_path / "start"
    start.mkdir()
    (start / "sitecustomize.py").write_text(
        "import ragcore.readers.zip.archive as archive\nfrom pathlib import Path\n"
        "def unpack(path, into, options):\n    into.mkdir(parents=True)\n"
        f"    return [archive.Unpacked('a.txt', Path({str(outside)!r}))]\n"
        "archive.unpack = unpack\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(start), str(Path(__file__).parents[3])]))
    path, into = make_zip(tmp_path / "a.zip", {"a.txt": b"The lamp."}), tmp_path / "into"
    with pytest.raises(DamagedFileError):
        unpack_isolated(
            path, into, ReadOptions("a.zip"), timeout=30, memory_mb=1_000, cancelled=lambda: False
        )
    assert outside.read_text() == "secret"
    assert not into.exists()


def test_what_is_drawn_is_an_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start = tmp_path / "start"
    start.mkdir()
    (start / "sitecustomize.py").write_text(
        "import ragcore.readers.pdf.page_images as pages\npages.render_page = lambda *given, **more: "
        "b'<svg onload=alert(1)>'\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(start), str(Path(__file__).parents[3])]))
    with pytest.raises(DamagedFileError):
        draw_isolated(
            make_pdf(tmp_path / "a.pdf", ["a"]), 0, ReadOptions("a.pdf"), scale=1.0, memory_mb=1_000
        )


@pytest.mark.parametrize("suffix", MAKERS)
def test_every_kind_of_file_is_read_as_without_walls(suffix: str, tmp_path: Path) -> None:
    path = make_any(
        tmp_path / f"a{suffix}", ["The lamp is lit at dusk.", "The kettle sings at noon.", "A barrel rolls."]
    )
    here = read_file(path, ReadOptions(path.name))
    there = read_isolated(path, ReadOptions(path.name), timeout=30, memory_mb=1_500, cancelled=lambda: False)
    assert (there.text, there.metadata, there.pages) == (
        here.text,
        json.loads(json.dumps(here.metadata)),
        here.pages,
    )


def test_a_file_with_a_password_is_unlocked_within_the_walls(tmp_path: Path) -> None:
    path = locked_docx(tmp_path / "a.docx")
    options = ReadOptions("a.docx", "sesame")
    assert "kettle" in read_isolated(path, options, timeout=30, memory_mb=1_500, cancelled=lambda: False).text


def locked_docx(path: Path) -> Path:
    from msoffcrypto.format.ooxml import OOXMLFile

    plain = make_any(path.with_name("plain.docx"), ["The kettle sings."])
    with plain.open("rb") as source, path.open("wb") as target:
        OOXMLFile(source).encrypt("sesame", target)
    return path


@landlocked
def test_nothing_of_a_file_stays_where_it_was_read(tmp_path: Path) -> None:
    scratch = tmp_path / "incoming"
    scratch.mkdir()
    path = make_text(tmp_path / "a.txt", "words")
    options = ReadOptions("a.txt")
    assert (
        read_isolated(
            path, options, timeout=30, memory_mb=1_000, cancelled=lambda: False, scratch=scratch
        ).text
        == "words"
    )
    assert not [each for each in scratch.rglob("*") if each.is_file()]
    assert path.stat().st_nlink == 1
    end_readers()
    assert not list(scratch.iterdir())


@landlocked
def test_scratch_of_a_killed_program_is_swept_and_used_one_stays(tmp_path: Path) -> None:
    left = tmp_path / "lectern-reader-left"
    secret(left / "in" / "a.txt")
    os.utime(left, (0, 0))
    other = ReaderProcess(tmp_path)
    assert other.scratch is not None
    os.utime(other.scratch.folder, (0, 0))
    third = ReaderProcess(tmp_path)
    try:
        assert not left.exists()
        assert other.scratch.folder.exists()
    finally:
        other.kill()
        third.kill()


@landlocked
@needs_tesseract
def test_tesseract_is_started_where_it_is_and_reads_a_picture(tmp_path: Path) -> None:
    from PIL import Image, ImageDraw, ImageFont

    picture = Image.new("L", (900, 120), 255)
    ImageDraw.Draw(picture).text(
        (20, 30), "The kettle sings at dusk.", font=ImageFont.load_default(60), fill=0
    )
    picture.save(tmp_path / "a.png")
    text = read_isolated(
        tmp_path / "a.png", ReadOptions("a.png"), timeout=60, memory_mb=2_000, cancelled=lambda: False
    ).text
    assert "kettle sings" in text


def test_program_next_to_the_documents_is_not_run_as_tesseract(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = secret(tmp_path / ("tesseract.exe" if sys.platform == "win32" else "tesseract"))
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join(["", ".", "bin"]))
    assert find_program() == ""
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert Path(find_program()) == program


def test_the_log_says_at_the_start_what_holds(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with caplog.at_level("INFO", "lectern.jobs.sandbox"):
        start_reader()
        end_readers()
    assert caplog.messages == [describe_confinement()]
    assert "\n" not in describe_confinement()
    if sys.platform == "linux" and ctypes.CDLL(None).syscall(444, None, 0, 1) > 0:
        assert "sees no other file of yours" in describe_confinement()
    assert sandbox._idle == []
