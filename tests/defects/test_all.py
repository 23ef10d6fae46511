"""Each defect that is known from elsewhere has a test here that says its number."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent


def test_every_defect_from_1_to_40_has_a_test() -> None:
    texts = [path.read_text(encoding="utf-8") for path in HERE.glob("test_*.py")]
    numbers = {
        int(number) for text in texts for number in re.findall(r"^def test_d(\d+)_\w+\(", text, re.MULTILINE)
    }
    assert numbers == set(range(1, 41))
