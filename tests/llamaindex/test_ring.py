"""The ring is closed: `names.txt` lists its paths and the names of each, and no other is added."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

import ragcore.llamaindex
from ragcore.llamaindex.paths import homes_of_paths

LINES = Path(__file__).with_name("names.txt").read_text("utf-8").splitlines()
NAMES = {path: names.split() for path, _, names in (line.partition(":") for line in LINES)}


def own_modules() -> list[str]:
    """The modules that are files of the ring."""
    found = walk_packages(ragcore.llamaindex.__path__, "ragcore.llamaindex.")
    return ["ragcore.llamaindex", *(module.name for module in found)]


def test_there_is_no_other_path() -> None:
    assert {*own_modules(), *homes_of_paths()} == set(NAMES)


@pytest.mark.parametrize("path", NAMES)
def test_each_name_can_be_imported_from_its_path(path: str) -> None:
    module = import_module(path)
    assert [name for name in NAMES[path] if getattr(module, name, None) is None] == []


@pytest.mark.parametrize("path", own_modules())
def test_a_module_offers_no_other_name(path: str) -> None:
    module = import_module(path)
    defined = {
        name
        for name, value in vars(module).items()
        if name[0] != "_" and getattr(value, "__module__", None) == path
    }
    assert {*defined, *getattr(module, "__all__", ())} - {*NAMES[path]} == set()


def test_an_unknown_path_or_name_is_an_error() -> None:
    with pytest.raises(ModuleNotFoundError):
        import_module("ragcore.llamaindex.vector_stores.nothing")
    with pytest.raises(ImportError, match="Nothing"):
        from ragcore.llamaindex.vector_stores.types import Nothing  # noqa: F401
