"""Every difference from LlamaIndex has a reason that is checked on the two outcomes."""

from __future__ import annotations

import ast
import math
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
@pytest.mark.nightly
def test_every_difference_has_a_reason(name: str) -> None:
    verdicts = compared(name)
    unexplained = [
        (verdict.case.id_, verdict.theirs, verdict.ours)
        for verdict in verdicts
        if verdict.reason == "unexplained"
    ]
    assert not unexplained


@pytest.mark.skipif(sys.platform == "win32", reason="a shell")
def test_silent_peer_is_ended_with_its_child_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck = tmp_path / "python"
    stuck.write_text("#!/bin/sh\nsleep 100 &\nsleep 100\n", "utf-8")
    stuck.chmod(0o755)
    monkeypatch.setattr("tests.differential.run.LIMIT", 0.5)
    with pytest.raises(RuntimeError, match="the peer failed on packing"):
        compared("packing", str(stuck))


@pytest.mark.parametrize("name", area_names())
def test_area_has_unique_case_names_and_is_repeatable(name: str) -> None:
    cases = list(area(name).cases())
    assert len({case.id_ for case in cases}) == len(cases) >= 15
    assert cases == list(area(name).cases())


def test_our_failure_against_their_outcome_is_never_by_design() -> None:
    case, failure = Case("some", {}), {"error": "TypeError", "says": "no"}
    assert reason_for(Credulous(), case, 1, failure) == "unexplained"
    assert reason_for(Credulous(), case, 1, 2) == "by design"
    assert reason_for(Credulous(), case, 1, 1) == ""


TIED = [["a", 0.5], ["b", 0.5], ["c", 0.1]]
WEIGHTED = [["a", 0.033224], ["c", 0.032473], ["b", 0.02623]]
UNWEIGHTED = [["a", 0.03306], ["c", 0.032796], ["b", 0.016393]]
COSINES = [["n0", 0.81462], ["n3", 0.14133], ["n4", -0.4356], ["n2", -0.79516], ["n1", -0.83816]]
OF_ZERO = [[f"n{i}", 0.0] for i in range(5)]
LAST_PICK_ALONE = [["n0", 0.11414], ["n1", 0.69051], ["n3", 0.50261]]
DIVERSE = [["n0", 0.11414], ["n1", 0.69051], ["n4", 0.0812]]
SCHEMA: dict[str, Any] = {
    "type": "function",
    "function": {"name": "nothing", "parameters": {"type": "object", "properties": {}}},
}
FOUND_LAST = [["a", 0.9], ["b", 0.8], ["c", 0.4]]
FOUND_FIRST = [["a", 0.9], ["b", 0.5], ["c", 0.4]]
OWN_VECTORS = [[0.8165, 0.4082, 0.0], [0.8165, 0.4082, 0.0]]
THREE_CALLS = [["QA", [0]], ["QA", [1]], ["QA", [2]]]
TWO_CALLS = [["QA", [0, 1]], ["QA", [2]]]


def _accumulated(calls: Any, *said: str) -> dict[str, Any]:
    parts = [f"Response {place}: {answer}" for place, answer in enumerate(said, 1)]
    return {"calls": calls, "answer": "\n---------------------\n".join(parts)}


@pytest.mark.parametrize(
    ("name", "id_", "reason", "theirs", "ours", "wrong"),
    [
        ("fusion", "simple-0", "D33", TIED, [TIED[i] for i in (1, 0, 2)], TIED[::-1]),
        ("fusion", "reciprocal_rerank-weighted", "D33", UNWEIGHTED, WEIGHTED, WEIGHTED[::-1]),
        ("vector_search", "documents", "D33", COSINES, [COSINES[0], COSINES[3]], [COSINES[3], COSINES[0]]),
        ("vector_search", "documents", "D33", COSINES, [COSINES[0], COSINES[3]], [["n0", 7.0], ["n2", -5.0]]),
        ("vector_search", "zero-query", "D33", [[f"n{i}", math.nan] for i in range(5)], OF_ZERO, []),
        (
            "vector_search",
            "zero-query",
            "D33",
            [[f"n{i}", math.nan] for i in range(5)],
            OF_ZERO,
            [["x", 0.0], *OF_ZERO[1:]],
        ),
        ("vector_search", "mmr-6", "1.10", LAST_PICK_ALONE, DIVERSE, [*DIVERSE[:2], ["n4", 0.9]]),
        (
            "retrievers",
            "router-[1, 2]",
            "1.11",
            [FOUND_LAST, 1, 1],
            [FOUND_FIRST, 1, 1],
            [FOUND_FIRST[::-1], 1, 1],
        ),
        (
            "retrievers",
            "one-question-two-indexes-0",
            "D17",
            {"scores": [OWN_VECTORS[0], [0.0, 0.0, 0.0]], "written": True},
            {"scores": OWN_VECTORS, "written": False},
            {"scores": [OWN_VECTORS[0], [0.0, 0.0, 0.0]], "written": False},
        ),
        (
            "synthesizers",
            "compact_accumulate-700-3",
            "D7",
            _accumulated(THREE_CALLS, "A1", "A2", "A3"),
            _accumulated(TWO_CALLS, "A1", "A2"),
            _accumulated(TWO_CALLS, "A2", "A1"),
        ),
    ],
)
def test_reason_explains_its_own_difference_only(
    name: str, id_: str, reason: str, theirs: Any, ours: Any, wrong: Any
) -> None:
    case = next(case for case in area(name).cases() if case.id_ == id_)
    assert reason_for(area(name), case, theirs, ours) == reason
    assert reason_for(area(name), case, theirs, wrong) == "unexplained"


@pytest.mark.parametrize(
    "wrong", [{**SCHEMA, "type": "tool"}, {**SCHEMA, "function": {**SCHEMA["function"], "name": "x"}}]
)
def test_a_tools_schema_equals_llamaindexs(wrong: Any) -> None:
    case = next(case for case in area("tools").cases() if case.id_ == "schema-nothing")
    assert reason_for(area("tools"), case, SCHEMA, wrong) == "unexplained"


@pytest.mark.parametrize("path", sorted(Path(folders[0]).glob("*.py")), ids=lambda path: path.stem)
def test_area_can_be_imported_with_only_one_library_installed(path: Path) -> None:
    known = {*sys.stdlib_module_names, "tests"}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        assert {name.split(".")[0] for name in names} <= known
