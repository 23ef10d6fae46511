"""By default the suite takes a sample of what would take minutes; with `--all` it takes everything.

Of the tests of each file in `ONE_IN`, one in so many is run, and those with `@pytest.mark.main`. A
parametrized test says how many of its cases are enough with `@pytest.mark.sample(n)`; a test that goes
through many cases by itself asks the fixture `everything`; one that cannot be made smaller is left out with
`@pytest.mark.beside("test_…")`, which names the quicker test, or the file of those, that keeps the same
promise. A file or a test that is named is run whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import settings

HERE = Path(__file__).parent
T = TypeVar("T")
ONE_IN = {  # files and folders whose tests take minutes together
    "app": 5,
    "contracts/test_embedders.py": 4,
    "contracts/test_splitters.py": 4,
    "contracts/test_stores.py": 5,
    "differential": 4,
    "faults": 5,
    "lectern/ask": 3,
    "lectern/explain": 4,
    "lectern/export": 3,
    "lectern/jobs": 5,
    "lectern/runs": 4,
    "lectern/test_cli.py": 4,
    "lectern/test_compare.py": 4,
    "lectern/test_indexes.py": 4,
    "lectern/test_library.py": 4,
    "lectern/test_nothing_lost.py": 3,
    "lectern/ui/server": 4,
    "properties": 3,
    "ragcore/embeddings": 3,
    "ragcore/llms": 4,
    "ragcore/readers/ocr": 4,
    "ragcore/readers/office": 2,
    "ragcore/readers/pdf": 3,
    "ragcore/readers/web": 3,
    "ragcore/vector_stores": 3,
    "real": 3,
}
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


def share(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The tests without those that `ONE_IN` leaves out, in their order. Those that it keeps of a file are
    from all over it."""
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    left_out: set[pytest.Item] = set()
    for number, (path, of_file) in enumerate(files.items()):
        inside = path.relative_to(HERE)
        named = (ONE_IN[part.as_posix()] for part in (inside, *inside.parents) if part.as_posix() in ONE_IN)
        most = -(-len(of_file) // next(named, 1))
        main = [item for item in of_file if item.get_closest_marker("main")]
        others = [item for item in of_file if item not in main]
        left_out |= {*others} - {*spread(others, most - len(main), number)}
    return [item for item in items if item not in left_out]


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
    return share([item for item in items if item not in left_out])
