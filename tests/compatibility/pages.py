"""The pages of the peer's documentation: their Python cells, and what those import of its core."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

SUFFIXES = (".md", ".mdx", ".ipynb")
_FENCE = re.compile(
    r"^(?P<indent>[ \t]*)```(?:python|py)\b[^\n]*\n(?P<code>.*?)^[ \t]*```", re.MULTILINE | re.DOTALL
)
_IMPORT = re.compile(
    r"^[ \t]*from[ \t]+(llama_index\.core[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|(?:[^\n\\]|\\\n)*)", re.MULTILINE
)
_MODULE = re.compile(r"^[ \t]*import[ \t]+(llama_index\.core[\w.]*)", re.MULTILINE)
_SHELL = re.compile(r"^[ \t]*[%!].*$", re.MULTILINE)
# indexes that ragcore does not have, on purpose
ASIDE = re.compile(r"graph|sql|multi_?modal|image", re.IGNORECASE)


def pages(checkout: Path) -> list[Path]:
    """The pages with Python that imports the peer's core."""
    files = (path for path in sorted((checkout / "docs").rglob("*")) if path.suffix in SUFFIXES)
    return [path for path in files if any(imports(cell) for cell in cells(path))]


def cells(page: Path) -> list[str]:
    """The code of a page, piece by piece, without the commands of a shell."""
    text = page.read_text("utf-8", "replace")
    if page.suffix == ".ipynb":
        found = ["".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    else:
        found = [
            re.sub(rf"^{match['indent']}", "", match["code"], flags=re.MULTILINE)
            for match in _FENCE.finditer(text)
        ]
    return [_SHELL.sub("", cell) for cell in found]


def imports(cell: str) -> set[tuple[str, str]]:
    """The modules of the peer's core that a cell imports, with the name from it, or ""."""
    found = {(module, "") for module in _MODULE.findall(cell)}
    for module, listed in _IMPORT.findall(cell):
        names = re.sub(r"#[^\n]*|\s+as\s+\w+", "", listed)
        found |= {(module, name) for name in re.split(r"[,\s()\\;]+", names) if name}
    return found


def data_paths(code: str) -> Iterator[str]:
    """The texts of a page that look like paths of data, such as "./data/paul_graham/"."""
    try:
        nodes = ast.walk(ast.parse(code))
    except SyntaxError:
        return
    for node in nodes:
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and re.fullmatch(r"\.?/?[\w./-]*data[\w./-]*", node.value)
        ):
            yield node.value
