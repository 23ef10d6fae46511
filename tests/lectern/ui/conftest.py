"""What the tests of the screens give back."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="module")
def main_module() -> Iterator[None]:
    """A script that `AppTest` ran stays the main module, which the processes of a later test's pool would run again."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main
