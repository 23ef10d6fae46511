"""`python start.py test`: the tests in the browser run after the others, and with `--changed` only what a
change can break.

The failure of any is reported. The last line says how many passed, failed and were skipped."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from start import HERE as ROOT
from start import test as run_tests

# In place of an interpreter: it writes down each call, selects tests, and fails in the run that has FAILING.
PYTHON = """#!/bin/sh
cd "{folder}" || exit 9
echo "$*" | sed 's/ --junit-xml=[^ ]*//' >> calls
case "$*" in *tests.changed*) printf '{selected}'; exit {status};; esac
for argument in "$@"; do
  case "$argument" in
  --junit-xml=*) echo '<testsuites><testsuite tests="9" failures="1" errors="1" skipped="3"/></testsuites>' \
    > "${{argument#*=}}";;
  esac
done
case "$*" in *{failing}*) exit 1;; esac
"""
OPTIONS = "-rs -n2 --dist=loadfile --no-loadscope-reorder"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a shell")


def python(folder: Path, failing: str = "nothing", selected: str = "", status: int = 0) -> str:
    path = folder / "python"
    path.write_text(PYTHON.format(folder=folder, failing=failing, selected=selected, status=status), "utf-8")
    path.chmod(0o755)
    return str(path)


def calls(folder: Path) -> list[str]:
    return (folder / "calls").read_text("utf-8").splitlines()


@pytest.mark.parametrize("option", ["", "--nightly"])
@pytest.mark.parametrize("failing", ["nothing", "--ignore=tests/app", "tests/app"])
def test_browser_tests_come_after_the_others_and_either_may_fail(
    tmp_path: Path, failing: str, option: str, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments = option.split()
    assert bool(run_tests(python(tmp_path, failing), arguments)) == (failing != "nothing")
    given = " ".join(["-m pytest", *arguments, OPTIONS])
    assert calls(tmp_path) == [
        f"{given} --ignore=tests/app --ignore=tests/real",
        f"{given} tests/app",
    ]
    assert capfd.readouterr().out.splitlines()[-1] == "8 passed, 4 failed, 6 skipped"  # of two runs


def test_only_selected_tests_run_after_a_change(tmp_path: Path) -> None:
    selected = r"tests/test_start.py\ntests/app/test_chat.py::test_it\n"
    assert run_tests(python(tmp_path, selected=selected), ["--changed", "HEAD~1"]) == 0
    assert calls(tmp_path) == [
        "-m tests.changed HEAD~1",
        f"-m pytest -m not nightly {OPTIONS} tests/test_start.py",
        f"-m pytest -m not nightly {OPTIONS} tests/app/test_chat.py::test_it",
    ]


def test_group_without_selected_tests_is_left_out(tmp_path: Path) -> None:
    assert run_tests(python(tmp_path, selected="tests/test_start.py"), ["--changed"]) == 0
    assert len(calls(tmp_path)) == 2


def test_nothing_runs_if_the_change_cannot_be_found(tmp_path: Path) -> None:
    assert run_tests(python(tmp_path, status=3), ["--changed", "nowhere"]) == 3
    assert calls(tmp_path) == ["-m tests.changed nowhere"]


def test_compiled_code_is_cached_for_the_next_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    asked = tmp_path / "python"
    asked.write_text(
        f'#!/bin/sh\n[ -z "$PYTHONDONTWRITEBYTECODE" ] && echo kept >> {tmp_path}/answers\n', "utf-8"
    )
    asked.chmod(0o755)
    assert run_tests(str(asked), []) == 0
    assert (tmp_path / "answers").read_text("utf-8").split() == ["kept"] * 2


def test_tests_that_are_named_are_run_as_pytest_runs_them(tmp_path: Path) -> None:
    assert run_tests(python(tmp_path, "pytest"), ["tests/test_lanes.py", "-x"]) == 1
    assert run_tests(python(tmp_path), ["tests/test_lanes.py", "-x"]) == 0
    assert calls(tmp_path) == ["-m pytest tests/test_lanes.py -x"] * 2


def test_files_of_skipped_tests_are_written_for_a_second_run(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(
        "import pytest\n\ndef test_a(): pytest.skip('no')\n\ndef test_b(): ...\n"
    )
    (tmp_path / "test_none.py").write_text("import pytest\n\npytest.importorskip('nothing_of_this_name')\n")
    (tmp_path / "test_whole.py").write_text("def test_c(): ...\n")
    skipped = tmp_path / "skipped"
    skipped.write_text("tests/test_earlier.py\n")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.skipped",
        "--rootdir",
        str(tmp_path),
        str(tmp_path),
    ]
    subprocess.run(
        command, cwd=ROOT, env={**os.environ, "SKIPPED_FILES": str(skipped)}, check=True, capture_output=True
    )
    assert skipped.read_text().split() == ["test_none.py", "test_some.py", "tests/test_earlier.py"]


def test_at_most_ten_tests_may_be_late_and_each_says_why() -> None:
    reasons = []
    for path in Path(__file__).parent.rglob("*.py"):
        reasons += re.findall(r"mark\.late\(\s*(\"[^\"]{20,}\"|.{10})", path.read_text("utf-8"))
    assert len(reasons) <= 10
    assert [reason for reason in reasons if not reason.startswith('"')] == []
