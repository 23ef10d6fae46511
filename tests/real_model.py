"""The real language model of the tests in `tests/real`: the GGUF file that LECTERN_TEST_MODEL names, or the
first by name in `~/.cache/models` that follows instructions. They are run alone: a model that shares its
cores is several times slower."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

CACHE = Path.home() / ".cache" / "models"


def real_model() -> Path | None:
    """None where there is none."""
    named = os.environ.get("LECTERN_TEST_MODEL", "")
    return Path(named) if named else next(iter(sorted(CACHE.glob("*[Ii]nstruct*.gguf"))), None)


needs_real_model = pytest.mark.skipif(
    real_model() is None,
    reason=f"no real language model: LECTERN_TEST_MODEL names none, and there is none in {CACHE}",
)
