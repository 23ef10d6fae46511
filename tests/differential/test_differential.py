"""Every difference from LlamaIndex has a reason that is checked on the two outcomes."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest

from tests.differential.areas import __path__ as folders
from tests.differential.cases import Case, area, area_names
from tests.differential.run import compared, reason_for

PEER = "0.14.25"


def _installed() -> str:
    try:
        return version("llama-index-core")
    except PackageNotFoundError:
        return ""


class Credulous:
    """An area that explains everything."""

    def cases(self) -> Iterator[Case]:
        yield from ()

    def theirs(self, given: Any) -> Any: ...

    def ours(self, given: Any) -> Any: ...

    def explain(self, given: Any, theirs: Any, ours: Any) -> str:
        return "by design"


@pytest.mark.skipif(_installed() != PEER, reason=f"needs llama-index-core {PEER}")
@pytest.mark.parametrize("name", area_names())
def test_every_difference_has_a_reason(name: str) -> None:
    unexplained = [(v.case.id_, v.theirs, v.ours) for v in compared(name) if v.reason == "unexplained"]
    assert not unexplained


@pytest.mark.parametrize("name", area_names())
def test_an_area_has_cases_with_names_of_their_own_and_the_same_ones_each_time(name: str) -> None:
    cases = list(area(name).cases())
    assert len({case.id_ for case in cases}) == len(cases) >= 15
    assert cases == list(area(name).cases())


def test_a_failure_of_ours_where_theirs_has_an_outcome_is_never_by_design() -> None:
    case, failure = Case("some", {}), {"error": "TypeError", "says": "no"}
    assert reason_for(Credulous(), case, 1, failure) == "unexplained"
    assert reason_for(Credulous(), case, 1, 2) == "by design"
    assert reason_for(Credulous(), case, 1, 1) == ""


@pytest.mark.parametrize("path", sorted(Path(folders[0]).glob("*.py")), ids=lambda path: path.stem)
def test_an_area_can_be_imported_where_only_one_of_the_two_is_installed(path: Path) -> None:
    known = {*sys.stdlib_module_names, "tests"}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        assert {name.split(".")[0] for name in names} <= known
