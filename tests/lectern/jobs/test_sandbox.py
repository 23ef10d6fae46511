"""Reading in a process of its own. The hostile readers here are real files in a folder that the child finds
by PYTHONPATH."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lectern.jobs import reader_process, sandbox
from lectern.jobs.sandbox import (
    Cancelled,
    draw_isolated,
    end_readers,
    find_isolated,
    read_isolated,
    unpack_isolated,
)
from ragcore.errors import (
    DamagedFileError,
    EncryptedFileError,
    InputError,
    TooLargeError,
    UnsupportedFileError,
)
from ragcore.readers.base import ReadOptions
from ragcore.readers.pdf.page_images import highlight_boxes, render_page
from ragcore.readers.registry import read_file
from ragcore.schema import Document
from tests.making import make_pdf, make_pptx, make_text, make_zip


def isolated(
    path: Path,
    *,
    timeout: float = 30.0,
    memory_mb: int = 1_000,
    cancelled: Callable[[], bool] = lambda: False,
) -> Document:
    return read_isolated(
        path, ReadOptions(path.name), timeout=timeout, memory_mb=memory_mb, cancelled=cancelled
    )


pytestmark = pytest.mark.usefixtures("new_process")


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Makes a file whose reading runs `code` in the child, by a module that Python loads when it starts."""

    def make(code: str) -> Path:
        folder = tmp_path / "start"
        folder.mkdir()
        body = textwrap.indent(code, "    ")
        hook = (
            f"import ragcore.readers.text as reader\ndef read(path, options):\n{body}\nreader.read = read\n"
        )
        (folder / "sitecustomize.py").write_text(hook)
        root = str(Path(__file__).parents[3])
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), root]))
        return make_text(tmp_path / "evil.txt", "words")

    return make


def test_it_reads_what_read_file_reads(tmp_path: Path) -> None:
    for path in (
        make_pdf(tmp_path / "a.pdf", ["Grüße.", "Second."], title="T"),
        make_pptx(tmp_path / "a.pptx", [("Łódź 🚋", "x")]),
        make_text(tmp_path / "a b.txt", "plain"),
    ):
        here, there = read_file(path, ReadOptions(path.name)), isolated(path)
        assert (here.text, here.metadata, here.pages, here.page_word) == (
            there.text,
            there.metadata,
            there.pages,
            there.page_word,
        )


def test_archive_is_unpacked_in_the_sandbox_and_cleaned_up(tmp_path: Path) -> None:
    members = {"a.txt": b"The lamp.", "b/c.exe": b"MZ" + bytes(60), "d.md": b"The kettle."}
    path, into, options = make_zip(tmp_path / "a.zip", members), tmp_path / "into", ReadOptions("a.zip")
    found = unpack_isolated(path, into, options, timeout=30, memory_mb=1_000, cancelled=lambda: False)
    assert [(each.name, type(each.error)) for each in found] == [
        ("a.txt", type(None)),
        ("b/c.exe", UnsupportedFileError),
        ("d.md", type(None)),
    ]
    assert [each.path.read_bytes() for each in found if each.error is None] == [b"The lamp.", b"The kettle."]
    asked = iter([False, False, *[True] * 9])
    large = make_zip(tmp_path / "b.zip", {f"{number}.txt": os.urandom(3_000_000) for number in range(30)})
    with pytest.raises(Cancelled):
        unpack_isolated(large, into, options, timeout=30, memory_mb=1_000, cancelled=lambda: next(asked))
    assert not into.exists()


def test_page_images_and_quote_boxes_equal_those_in_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_pdf(tmp_path / "a.pdf", ["The lamp is lit at dusk.", "The kettle sings."])
    options = ReadOptions("a.pdf")
    assert draw_isolated(path, 1, options, scale=1.0, memory_mb=1_000) == render_page(path, 1, scale=1.0)
    quote, parts = "The kettle sings.", [(4, 10)]
    found, of_parts = find_isolated(path, range(2), quote, options, parts=parts, memory_mb=1_000)
    assert found == [highlight_boxes(path, index, quote) for index in range(2)]
    assert of_parts == [highlight_boxes(path, index, quote, parts=parts) for index in range(2)]
    assert any(of_parts)
    assert [len(boxes) for boxes in found] == [0, 1]
    with pytest.raises(InputError, match="no page 6"):
        draw_isolated(path, 5, options, scale=1.0, memory_mb=1_000)
    (tmp_path / "start").mkdir()
    (tmp_path / "start" / "sitecustomize.py").write_text(
        "import os\nimport ragcore.readers.pdf.page_images as pages\npages.render_page = lambda *given, "
        "**more: os.abort()\n"
        "pages.highlight_boxes = pages.render_page\n"
    )
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(tmp_path / "start"), str(Path(__file__).parents[3])])
    )
    end_readers()
    with pytest.raises(DamagedFileError, match=r"a\.pdf"):
        draw_isolated(path, 0, options, scale=1.0, memory_mb=1_000)
    with pytest.raises(DamagedFileError, match=r"a\.pdf"):
        find_isolated(path, [0], "The kettle sings.", options, memory_mb=1_000)


def test_errors_come_back_as_they_are(tmp_path: Path) -> None:
    path = make_pdf(tmp_path / "a.pdf", ["Secret."], password="sesame")
    with pytest.raises(EncryptedFileError, match=r"a\.pdf is protected") as caught:
        isolated(path)
    assert caught.value.hint == "Enter its password to read it."
    options = ReadOptions("a.pdf", "sesame")
    assert (
        read_isolated(path, options, timeout=30, memory_mb=1_000, cancelled=lambda: False).text == "Secret."
    )


def test_progress_comes_through(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    path = make_pdf(tmp_path / "a.pdf", [f"Page {number}" for number in range(30)])
    options = ReadOptions("a.pdf", progress=lambda done, total: seen.append((done, total)))
    read_isolated(path, options, timeout=30, memory_mb=1_000, cancelled=lambda: False)
    assert seen[-1] == (30, 30)
    assert seen == sorted(seen)


def test_a_reader_that_hangs_is_stopped(hostile: Callable[[str], Path]) -> None:
    path = hostile("import time\ntime.sleep(60)")
    began = time.monotonic()
    with pytest.raises(TooLargeError, match=r"evil\.txt made no progress for 1 seconds"):
        isolated(path, timeout=1)
    assert time.monotonic() - began < 5


PAGES = """\
import time
from ragcore.schema import Document
for page in range(1, 9):
    time.sleep(0.4)
    options.progress({done}, 8)
return Document("words")
"""


def test_a_reader_that_gets_on_may_take_longer(
    hostile: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = hostile(PAGES.format(done="page"))
    assert isolated(path, timeout=2).text == "words"
    monkeypatch.setattr(sandbox, "MAX_TIMEOUTS", 1.25)
    monkeypatch.setattr(reader_process, "MAX_TIMEOUTS", 1.25)
    with pytest.raises(TooLargeError, match=r"evil\.txt took longer than 2\.5 seconds"):
        isolated(path, timeout=2)


def test_a_reader_that_says_the_same_again_is_stopped(hostile: Callable[[str], Path]) -> None:
    with pytest.raises(TooLargeError, match="made no progress"):
        isolated(hostile(PAGES.format(done="1")), timeout=1)


def test_a_reader_that_crashes_is_one_damaged_file(hostile: Callable[[str], Path]) -> None:
    with pytest.raises(DamagedFileError, match=r"evil\.txt.*crash"):
        isolated(hostile("import os\nos.abort()"))


@pytest.mark.skipif(sys.platform != "linux", reason="address space is limited on Linux alone")
def test_a_reader_that_takes_too_much_memory_is_stopped(hostile: Callable[[str], Path]) -> None:
    with pytest.raises(TooLargeError, match=r"evil\.txt needs more memory"):
        isolated(hostile("x = bytearray(3_000_000_000)"), memory_mb=500)


def test_cancelling_ends_the_child_at_once(hostile: Callable[[str], Path], tmp_path: Path) -> None:
    path = hostile("import os, time\noptions.progress(os.getpid(), 0)\ntime.sleep(60)")
    pids: list[int] = []
    seen: list[float] = []

    def cancelled() -> bool:
        if pids:
            seen.append(time.monotonic())
        return bool(seen)

    options = ReadOptions(path.name, progress=lambda done, total: pids.append(done))
    with pytest.raises(Cancelled):
        read_isolated(path, options, timeout=30, memory_mb=1_000, cancelled=cancelled)
    assert time.monotonic() - seen[0] < 1.0  # of the 60 seconds that it would sleep
    if sys.platform != "win32":
        with pytest.raises(ProcessLookupError):
            os.kill(pids[0], 0)


SAYS_WHOM_TO_END = (
    "import os, time\nfrom ragcore.schema import Document\noptions.progress(os.{process}(), 0)\n"
    "time.sleep({seconds})\nreturn Document('words')"
)


@pytest.mark.skipif(sys.platform == "win32", reason="it has no such signals")
@pytest.mark.parametrize("process", ["getpid", "getppid"])
@pytest.mark.parametrize("sent", ["SIGKILL", "SIGTERM"])
def test_file_of_a_reader_ended_from_outside_is_read_again(
    hostile: Callable[[str], Path], process: str, sent: str
) -> None:
    path = hostile(SAYS_WHOM_TO_END.format(process=process, seconds=1))
    ended: list[int] = []

    def end_first(pid: int, _total: int) -> None:
        if not ended:
            os.kill(pid, getattr(signal, sent))
        ended.append(pid)

    options = ReadOptions(path.name, progress=end_first)
    document = read_isolated(path, options, timeout=30, memory_mb=1_000, cancelled=lambda: False)
    assert document.text == "words"
    assert len(set(ended)) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="it has no such signals")
@pytest.mark.parametrize("sent", ["SIGKILL", "SIGTERM"])
def test_memory_is_blamed_once_a_reader_is_ended_again(hostile: Callable[[str], Path], sent: str) -> None:
    path = hostile(SAYS_WHOM_TO_END.format(process="getpid", seconds=60))
    ended: list[int] = []

    def end(pid: int, _total: int) -> None:
        os.kill(pid, getattr(signal, sent))
        ended.append(pid)

    options = ReadOptions(path.name, progress=end)
    with pytest.raises(TooLargeError, match=r"evil\.txt needs more memory"):
        read_isolated(path, options, timeout=30, memory_mb=1_000, cancelled=lambda: False)
    assert len(ended) == 2


def test_our_own_failure_is_not_reported_as_a_bad_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text("import ragcore.readers.registry as r\ndel r.read_file\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(Path(__file__).parents[3])]))
    with pytest.raises(RuntimeError, match="read_file"):
        isolated(make_text(tmp_path / "a.txt", "words"))


def test_plain_text_loads_nothing_of_other_formats(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    noted = tmp_path / "imported"
    noted.mkdir()
    (tmp_path / "sitecustomize.py").write_text(
        f"import os, sys\nnoted = open(os.path.join({str(noted)!r}, str(os.getpid())), 'a')\n"
        "sys.addaudithook(lambda event, about: print(about[0], file=noted, flush=True) if event == "
        "'import' else None)\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(Path(__file__).parents[3])]))
    isolated(make_text(tmp_path / "a.txt", "words"))
    end_readers()
    of_each = [
        {name.partition(".")[0] for name in process.read_text().split()} for process in noted.iterdir()
    ]
    imported = set().union(*(names for names in of_each if "ragcore" in names))
    # `org` is tried for the sake of Jython.
    assert imported - sys.stdlib_module_names == {"org", "lectern", "ragcore"}


def test_output_of_a_parser_does_not_count_as_progress(hostile: Callable[[str], Path]) -> None:
    path = hostile(
        "import os\nfrom ragcore.schema import Document\nprint('two words', flush=True)\nos.write(1, "
        "b'7 3\\n')\n"
        "return Document(path.read_text())"
    )
    seen: list[tuple[int, int]] = []
    options = ReadOptions(path.name, progress=lambda done, total: seen.append((done, total)))
    assert read_isolated(path, options, timeout=30, memory_mb=1_000, cancelled=lambda: False).text == "words"
    assert seen == []


SAYS_ITS_PIDS = (
    "import os\nfrom ragcore.schema import Document\nreturn Document(f'{os.getppid()} {os.getpid()}')"
)


@pytest.mark.skipif(sys.platform == "win32", reason="it cannot fork")
def test_one_process_forks_a_child_per_file_up_to_a_limit(
    hostile: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "FILES_PER_PROCESS", 3)
    sandbox.end_readers()
    path = hostile(SAYS_ITS_PIDS)
    pids = [isolated(path).text.split() for _ in range(4)]
    assert len({own for _, own in pids}) == 4
    assert len({parent for parent, _ in pids[:3]}) == 1
    assert pids[3][0] != pids[0][0]


def test_a_process_reads_on_after_a_file_with_an_error(tmp_path: Path) -> None:
    with pytest.raises(DamagedFileError):
        isolated(make_text(tmp_path / "a.pdf", "no pdf"))
    assert isolated(make_text(tmp_path / "a.txt", "words")).text == "words"


@pytest.mark.skipif(sys.platform == "win32", reason="no limit of processor time there")
def test_processor_time_is_counted_for_each_file_anew(hostile: Callable[[str], Path]) -> None:
    path = hostile(
        "import resource, time\nfrom ragcore.schema import Document\nend = time.process_time() + 1.2\n"
        "left = resource.getrlimit(resource.RLIMIT_CPU)[0] - time.process_time()\n"
        "while time.process_time() < end:\n    pass\nreturn Document(str(left))"
    )
    first, second = float(isolated(path, timeout=20).text), float(isolated(path, timeout=20).text)
    allowed = 20 * sandbox.MAX_TIMEOUTS
    assert allowed < first < allowed + 3
    assert allowed < second < allowed + 3


OUTSIDE = {
    "connecting": "import socket\nsocket.create_connection(('127.0.0.1', {port}), 2)",
    "looking a name up": "import socket\nsocket.getaddrinfo('localhost', {port})",
    "another program": "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'pass'], check=True)",
    "a shell": "import os\nos.system('true')",
}


@pytest.mark.parametrize("code", OUTSIDE.values(), ids=OUTSIDE.keys())
def test_nothing_outside_is_reached(code: str, hostile: Callable[[str], Path]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        path = hostile(code.format(port=server.getsockname()[1]) + "\nreturn")
        with pytest.raises(DamagedFileError) as caught:
            isolated(path)
        assert "could not be read" in caught.value.what
        server.settimeout(0.1)
        with pytest.raises(TimeoutError):
            server.accept()


@pytest.mark.skipif(
    sys.platform != "linux" or subprocess.run(["unshare", "-Un", "true"], check=False).returncode != 0,
    reason="this kernel gives an ordinary process no network of its own",
)
def test_native_code_finds_no_network_either(hostile: Callable[[str], Path]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        code = (
            "import ctypes, socket, struct\nfrom ragcore.schema import Document\nc = ctypes.CDLL(None, "
            "use_errno=True)\n"
            "s = c.socket(2, 1, 0)\n"
            f"address = struct.pack('=HHI8x', 2, socket.htons({server.getsockname()[1]}), 0x0100007f)\n"
            "return Document(f'{c.connect(s, address, 16)}')"
        )
        assert isolated(hostile(code)).text == "-1"


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_sandbox_and_its_children_end_with_their_parent(
    hostile: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "tesseract"
    shutil.copy(shutil.which("sleep") or "", tool)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    path = hostile(
        f"import os, subprocess, time\nstarted = subprocess.Popen([{str(tool)!r}, '60'])\n"
        "options.progress(os.getpid(), started.pid)\ntime.sleep(60)"
    )
    program = (
        "from pathlib import Path\nfrom lectern.jobs.sandbox import read_isolated\n"
        "from ragcore.readers.base import ReadOptions\n"
        "options = ReadOptions('evil.txt', progress=lambda *pids: print(*pids, flush=True))\n"
        f"read_isolated(Path({str(path)!r}), options, timeout=60, memory_mb=1000, cancelled=lambda: False)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        left = [int(pid) for pid in parent.stdout.readline().split()]
        parent.kill()
    assert len(left) == 2
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and any(map(_alive, left)):
        time.sleep(0.05)
    assert not any(map(_alive, left))


def _alive(process: int) -> bool:
    """Whether the process runs; one that has ended and only waits to be collected does not."""
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True, check=False
    ).stdout
    return bool(state) and not state.startswith("Z")
