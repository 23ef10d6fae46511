"""By default the suite takes a sample of what would take minutes; with `--all` it takes everything.

A parametrized test says how many of its cases are enough with `@pytest.mark.sample(n)`; a test that goes
through many cases by itself asks the fixture `everything`; one that cannot be made smaller is left out with
`@pytest.mark.beside("test_…")`, which names the quicker test, or the file of those, that keeps the same
promise. Of the tests in the browser, each file runs half, among them those with `@pytest.mark.main`. A test
that is named by its function, or in the browser by its file, is run.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import settings

T = TypeVar("T")
GOLDEN = (5**0.5 - 1) / 2  # its multiples, modulo 1, fall evenly and in no step with the order of the cases


def spread(cases: Sequence[T], most: int, start: int = 0) -> list[T]:
    """At most so many of the cases, in their order, from all over them and the same each time. `start`:
    others for others."""
    chosen: set[int] = set()
    step = start
    while len(chosen) < min(most, len(cases)):
        chosen.add(int(step * GOLDEN % 1 * len(cases)))
        step += 1
    return [cases[at] for at in sorted(chosen)]


def half(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The tests of each file that are run by default, in their order: those marked `main`, and others from
    all over the file, until they are half of it."""
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    kept = set()
    for number, of_file in enumerate(files.values()):
        main = [item for item in of_file if item.get_closest_marker("main")]
        others = [item for item in of_file if item not in main]
        kept |= {*main, *spread(others, (len(of_file) + 1) // 2 - len(main), number)}
    return [item for item in items if item in kept]


def examples(most: int) -> int:
    """How many examples hypothesis tries in place of `most`, in the proportion in which it tries fewer by
    default."""
    return max(1, most * settings().max_examples // 100)


def sample(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The tests that are run by default, in their order."""
    cases: dict[str, list[pytest.Item]] = {}  # of each test that takes a sample
    for item in items:
        if item.get_closest_marker("sample"):
            cases.setdefault(item.nodeid.split("[")[0], []).append(item)
    left_out = {item for item in items if item.get_closest_marker("beside")}
    for number, of_one in enumerate(cases.values()):
        marker = of_one[0].get_closest_marker("sample")
        assert marker is not None
        left_out |= {*of_one} - {*spread(of_one, marker.args[0], number)}
    return [item for item in items if item not in left_out]
