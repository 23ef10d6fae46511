"""The pages of the documentation, and the Python examples on them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
PAGES = [README, ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
SCREENS = DOCS / "screens"  # pictures of the screens
# one long script
WALKTHROUGH = [DOCS / "walkthrough" / name for name in ("indexing.md", "asking.md", "extending.md")]
_CODE, _OUTPUT = r"^```python ?(?P<name>\w*)\n(?P<code>.*?)^```$", r"(?P<output>\n\n(?: {4}[^\n]+\n)+)?"
_PICTURE = re.compile(r"!\[[^\]]*\]\(([^)\s]+)\)")
_EXAMPLE = re.compile(_CODE + _OUTPUT, re.MULTILINE | re.DOTALL)


class Example(NamedTuple):
    name: str  # such as U1; "" outside the walkthrough
    code: str
    output: str  # what the page shows below the code; "" where it shows nothing


def examples(page: Path) -> list[Example]:
    found = _EXAMPLE.finditer(page.read_text("utf-8"))
    return [
        Example(each["name"], each["code"], (each["output"] or "").strip("\n").replace("    ", ""))
        for each in found
    ]


def shown_pictures() -> set[Path]:
    """The pictures of the screens that a page shows."""
    pictures = set[Path]()
    for page in PAGES:
        for link in _PICTURE.findall(page.read_text("utf-8")):
            pictures.add((page.parent / link).resolve())
    return {picture for picture in pictures if picture.parent == SCREENS}
