"""Every difference from LlamaIndex has a reason that is checked on the two outcomes."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import pytest

from tests.differential.cases import area_names
from tests.differential.run import compared

PEER = "0.14.25"


def _installed() -> str:
    try:
        return version("llama-index-core")
    except PackageNotFoundError:
        return ""


@pytest.mark.skipif(_installed() != PEER, reason=f"needs llama-index-core {PEER}")
@pytest.mark.parametrize("name", area_names())
def test_every_difference_has_a_reason(name: str) -> None:
    verdicts = compared(name)
    assert len(verdicts) >= 10
    unexplained = [(v.case.id_, v.theirs, v.ours) for v in verdicts if v.reason == "unexplained"]
    assert not unexplained
