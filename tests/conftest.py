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
from hypothesis import HealthCheck, settings
from pytest_rerunfailures import StatusDB

from tests.chroma import end_server

HERE = Path(__file__).parent
EXAMPLES = 50  # random ones of a property; a tenth where each takes long
NIGHTLY_EXAMPLES = 300
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
        "--nightly",
        action="store_true",
        default=False,
        help="the tests marked `nightly` as well, and more random examples of each property",
    )


def pytest_configure(config: pytest.Config) -> None:
    settings.register_profile(
        "suite",
        settings(),  # with CI=true, the same examples each time
        max_examples=EXAMPLES,
        deadline=None,  # a busy machine is not a slow function
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )
    settings.register_profile("nightly", settings.get_profile("suite"), max_examples=NIGHTLY_EXAMPLES)
    settings.load_profile("nightly" if config.getoption("--nightly") else "suite")


def pytest_sessionstart(session: pytest.Session) -> None:
    """A process that runs tests would ask the one that hands them out, byte by byte, how often each has
    crashed before. That takes both more than a millisecond, and the number is 0: where files are handed out
    whole, no crash gets a second try."""
    if hasattr(session.config, "workerinput"):
        session.config.failures_db.sock.close()  # type: ignore[attr-defined]
        session.config.failures_db = StatusDB()  # type: ignore[attr-defined]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The tests marked `nightly` are left out, unless a file or a test is named.

    The browser's tests come last: its driver keeps an event loop running in this thread, where others
    start their own.
    """
    for item in items:
        if item.get_closest_marker("late"):
            item.add_marker(pytest.mark.flaky(reruns=1))
    if not config.getoption("--nightly") and not any(".py" in name for name in config.args):
        nightly = [item for item in items if item.get_closest_marker("nightly")]
        config.hook.pytest_deselected(items=nightly)
        items[:] = [item for item in items if not item.get_closest_marker("nightly")]
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
