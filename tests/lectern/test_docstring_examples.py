"""The examples in the docstrings of the application run, and give what they show."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in (ROOT / "lectern").rglob("*.py")
    if ">>> " in path.read_text("utf-8")
)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_of_a_module_run(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    failed, attempted = doctest.testmod(import_module(name))
    assert attempted > 0
    assert failed == 0, capsys.readouterr().out


def test_the_library_has_an_example() -> None:
    assert "lectern.library" in EXAMPLES
