"""A plugin of pytest for the peer's own tests: installs the import shim, and reports each test on a line.

It is imported by its file name, as `tests` is the peer's folder where it runs.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import shim

if os.environ["COMPATIBILITY_SIDE"] == "ours":
    shim.install(placeholders=True)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when != "call" and not report.failed:
        return
    crash = getattr(report.longrepr, "reprcrash", None)
    problem = "" if report.passed else str(crash.message if crash else report.longrepr)[:300] or "failed"
    with Path(os.environ["COMPATIBILITY_REPORT"]).open("a", encoding="utf-8") as out:
        print(json.dumps((report.nodeid, problem)), file=out)
