"""`python start.py test`: the tests in the browser run beside the others, those with a real language model
alone after them.

The failure of any is reported. The last line says how many tests passed, failed and were skipped."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from start import test as run_tests

PYTHON = """#!/bin/sh
cd "{folder}" || exit 9
case "$*" in
*--ignore=tests/app*) me=others; other=browser;;
*tests/app*) me=browser; other=others;;
*tests/real) me=real; other=none; touch none.given;;
*) me=named;;
esac
echo "$@" > $me.given
tries=0
while [ $me != named ] && [ ! -e $other.given ]; do  # each waits for the other
  tries=$((tries + 1)); [ $tries -lt 600 ] || exit 8
  sleep 0.05
done
for argument in "$@"; do
  case "$argument" in
  --junit-xml=*) echo '<testsuites><testsuite tests="9" failures="1" errors="1" skipped="3"/></testsuites>' \
    > "${{argument#*=}}";;
  esac
done
echo "said by $me"
[ $me != "{failing}" ]
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a shell")


def python(folder: Path, failing: str = "") -> str:
    """In place of an interpreter: notes what it is given, and fails where it should."""
    path = folder / "python"
    path.write_text(PYTHON.format(folder=folder, failing=failing), "utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("failing", ["", "others", "browser", "real"])
def test_both_are_run_at_once_and_either_may_fail(
    tmp_path: Path, failing: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert bool(run_tests(python(tmp_path, failing), ["--all"])) == bool(failing)
    said = capfdbinary.readouterr().out.decode().splitlines()
    real = ["The tests with a real language model:", "said by real"]
    assert said[:-2] == ["said by others", "The tests in the browser:", "said by browser", *real]
    assert said[-1] == "12 passed, 6 failed, 9 skipped"  # of three runs
    for name in ("others", "browser", "real"):
        assert "--all" in (tmp_path / f"{name}.given").read_text("utf-8").split()


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
    assert (tmp_path / "answers").read_text("utf-8").split() == ["kept"] * 3


def test_tests_that_are_named_are_run_as_pytest_runs_them(tmp_path: Path) -> None:
    assert run_tests(python(tmp_path, "named"), ["tests/test_lanes.py", "-x"]) == 1
    assert run_tests(python(tmp_path), ["tests/test_lanes.py", "-x"]) == 0
    assert (tmp_path / "named.given").read_text("utf-8").split() == [
        "-m",
        "pytest",
        "tests/test_lanes.py",
        "-x",
    ]
