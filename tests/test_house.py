"""No file and no function of the product is too long to take in at once. How branched a function may be is
ruff's to say."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
MAX_FILE = 500  # lines
MAX_FUNCTION = 60  # lines


def test_no_file_is_over_500_lines_and_no_function_over_60() -> None:
    offenders = []
    for path in (
        path for folder in ("ragcore", "lectern", "pages") for path in sorted((ROOT / folder).rglob("*.py"))
    ):
        text, name = path.read_text("utf-8"), path.relative_to(ROOT).as_posix()
        if (lines := len(text.splitlines())) > MAX_FILE:
            offenders.append(f"{name}: {lines} lines")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > MAX_FUNCTION:
                    offenders.append(f"{name}: {node.name} has {length} lines")
    assert offenders == []
