"""Each defect that is known from elsewhere has a test here that says its number, and the packages offer what
they name."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import ragcore

HERE = Path(__file__).parent
PACKAGES = ["ragcore", *(f"ragcore.{found.name}" for found in pkgutil.iter_modules(ragcore.__path__))]


def test_every_defect_from_1_to_40_has_a_test() -> None:
    texts = [path.read_text(encoding="utf-8") for path in HERE.glob("test_*.py")]
    numbers = {
        int(number) for text in texts for number in re.findall(r"^def test_d(\d+)_\w+\(", text, re.MULTILINE)
    }
    assert numbers == set(range(1, 41))


@pytest.mark.parametrize("package", PACKAGES)
def test_d34_all_names_of_a_package_can_be_star_imported(package: str) -> None:
    offered = getattr(importlib.import_module(package), "__all__", [])
    told: dict[str, object] = {}
    exec(f"from {package} import *", told)
    assert set(offered) <= told.keys()
