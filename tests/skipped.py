"""A plugin of pytest: writes the files of skipped tests to the file that SKIPPED_FILES names, one a line.

With it, `.ci/run` runs again what a fresh machine cannot, and nothing else.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    path = Path(os.environ["SKIPPED_FILES"])
    files = set(path.read_text("utf-8").split()) if path.exists() else set()
    files.update(report.nodeid.split("::")[0] for report in terminalreporter.stats.get("skipped", []))
    path.write_text("".join(f"{file}\n" for file in sorted(files)), "utf-8")
