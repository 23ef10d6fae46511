"""The examples in docstrings run and give what they show."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import ragcore

ROOT = Path(ragcore.__file__).parent
MODULES = [
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
    for path in sorted(ROOT.rglob("*.py"))
    if ">>> " in path.read_text("utf-8")
]


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of_a_module_give_what_they_show(module: str) -> None:
    assert doctest.testmod(import_module(module)).failed == 0
