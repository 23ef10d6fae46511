"""The examples in the docstrings run, and give what they show."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for package in ("ragcore", "lectern")
    for path in (ROOT / package).rglob("*.py")
    if ">>> " in path.read_text("utf-8")
)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_of_a_module_run(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    failed, attempted = doctest.testmod(import_module(name))
    assert attempted > 0
    assert failed == 0, capsys.readouterr().out


def test_the_library_and_the_bases_of_own_parts_have_examples() -> None:
    assert {
        "lectern.library",
        "ragcore.schema.components",
        "ragcore.schema.nodes",
        "ragcore.vector_stores.types",
        "ragcore.llamaindex.query_engine.custom",
    } < set(EXAMPLES)
