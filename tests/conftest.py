"""What every test gets: no network but this machine's own, no account, no home folder, one thread for each
model, and files that are kept in memory where there is room."""

from __future__ import annotations

import gc
import importlib.util
import os
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings
from pytest_rerunfailures import StatusDB

from tests.chroma import end_server
from tests.sampling import sample

HERE = Path(__file__).parent
MEMORY = Path("/dev/shm")  # of Linux: a disk would be waited for at each commit of each library
ROOM = 4_000_000_000  # bytes, several times what the files of all tests take

gc.disable()  # until all tests are collected, as nothing of what that makes ever goes

if (
    not os.environ.keys() & {"TMPDIR", "PYTEST_DEBUG_TEMPROOT"}
    and MEMORY.is_dir()
    and shutil.disk_usage(MEMORY).free >= ROOM
):
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)
os.environ["HF_HUB_OFFLINE"] = "1"
# the package that carries tiktoken's vocabularies, so that nothing is downloaded
if (core := importlib.util.find_spec("llama_index.core")) is not None and core.origin is not None:
    vocabularies = Path(core.origin).parent / "_static" / "tiktoken_cache"
    os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(vocabularies))
os.environ.setdefault("OMP_NUM_THREADS", "1")
for name in (
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OLLAMA_HOST",
    "LECTERN_HOME",
    "LECTERN_DATABASE",
    "HTTP_PROXY",
    "http_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
):
    os.environ.pop(name, None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--all", action="store_true", default=False, help="every case of every test, not a sample"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "sample(most): without --all, so many of its cases are run")
    config.addinivalue_line(
        "markers", "beside(test): without --all, it is left to this quicker test of the same promise"
    )
    config.addinivalue_line("markers", "main: a test that is run without --all, too, see tests/sampling.py")
    # No deadline: a busy machine is not a slow function.
    examples = settings().max_examples if config.getoption("--all") else settings().max_examples // 4
    settings.register_profile("lectern", settings(), max_examples=examples, deadline=None)
    settings.load_profile("lectern")


def pytest_sessionstart(session: pytest.Session) -> None:
    """A process that runs tests would ask the one that hands them out, byte by byte, how often each has
    crashed before. That takes both more than a millisecond, and the number is 0: where files are handed out
    whole, no crash gets a second try."""
    if hasattr(session.config, "workerinput"):
        session.config.failures_db.sock.close()  # type: ignore[attr-defined]
        session.config.failures_db = StatusDB()  # type: ignore[attr-defined]


@pytest.fixture(scope="session")
def everything(request: pytest.FixtureRequest) -> bool:
    """Whether a test goes through all of its cases, and not through a sample of them."""
    return bool(request.config.getoption("--all"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The browser's tests come last: its driver keeps an event loop running in this thread, where others
    start their own.

    Each test has a second try, as the machine may have been too busy for something to come in time; a wrong
    one fails twice.
    """
    late = pytest.mark.flaky(reruns=1)
    for item in items:
        item.add_marker(late)
    whole = config.getoption("--all") or config.getoption("--screens", default=False)
    if not whole and not any(".py" in named for named in config.args):
        kept = sample(items)
        chosen = {*kept}
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = kept
    items.sort(key=lambda item: "app" in item.path.relative_to(HERE).parts[:1])


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()
    # each `AppTest` would look for components in all installed packages
    if "streamlit.testing.v1" in sys.modules:
        from streamlit.components.v2 import manifest_scanner

        manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What made a first try fail: what is often late shows here, though its second try hides it."""
    for report in terminalreporter.stats.get("rerun", []):
        terminalreporter.section(f"first try of {report.nodeid}")
        terminalreporter.line(report.longreprtext)


def pytest_sessionfinish() -> None:
    """Not as the process exits: one of several that run the tests may be killed before that."""
    end_server()
