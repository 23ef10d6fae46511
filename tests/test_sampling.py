"""The sample that is taken by default: spread over all cases, the same each time, and beside it only what
there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import sampling
from tests.sampling import spread

HERE = Path(__file__).parent
MANY = range(30)


@pytest.mark.parametrize("start", range(5))
@pytest.mark.parametrize("most", [1, 4, 10])
def test_sample_is_spread_over_all_cases_in_order_and_repeatable(most: int, start: int) -> None:
    chosen = spread(range(100), most, start)
    assert len(chosen) == most
    assert chosen == sorted({*chosen}) == spread(range(100), most, start)
    assert (
        max(after - before for before, after in zip([0, *chosen], [*chosen, 100], strict=True)) <= 250 / most
    )


def test_few_cases_are_all_selected() -> None:
    assert spread("abc", 3) == spread("abc", 7) == ["a", "b", "c"]
    assert spread("", 3) == []


@pytest.mark.sample(3)
@pytest.mark.parametrize("case", MANY)
def test_of_many_cases_some_are_run(case: int, request: pytest.FixtureRequest, everything: bool) -> None:
    cases = [
        item for item in request.session.items if item.name.startswith("test_of_many_cases_some_are_run[")
    ]
    assert len(cases) == (len(MANY) if everything or ".py" in "".join(request.config.args) else 3)


def test_shares_are_from_all_over_a_file_with_its_main_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    class Found:  # as much of a collected test as is asked for
        def __init__(self, name: str, main: bool = False) -> None:
            self.path, self.main = HERE / name, main

        def get_closest_marker(self, name: str) -> str | None:
            return name if self.main else None

    monkeypatch.setattr(sampling, "ONE_IN", {"app": 2, "long.py": 3})
    long = [Found("long.py", main=number in (5, 6)) for number in range(9)]
    single, crowded = [Found("app/single.py")], [Found("app/crowded.py", main=True) for _ in range(3)]
    quick = [Found("quick.py") for _ in range(5)]
    found = [*long, *single, *crowded, *quick]
    kept = sampling.share(found)  # type: ignore[arg-type]
    assert {long[5], long[6], *single, *crowded, *quick} < {*kept}  # type: ignore[arg-type]
    assert len(kept) == 3 + 1 + 3 + 5
    assert kept == sorted(kept, key=found.index)  # type: ignore[arg-type]


def test_files_with_a_share_exist() -> None:
    assert all((HERE / name).exists() for name in sampling.ONE_IN)


def test_skipped_test_names_an_existing_test() -> None:
    files = {path: path.read_text("utf-8") for path in HERE.rglob("test_*.py")}
    named = {name for text in files.values() for name in re.findall(r'mark\.beside\(\s*"([\w.]+)"', text)}
    functions = {name for text in files.values() for name in re.findall(r"\bdef (test_\w+)\(", text)}
    assert named
    assert named <= functions | {path.name for path in files}
