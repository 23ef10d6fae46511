"""The peer's own tests, each file in a process of its own, against the peer and against ragcore."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tests.compatibility.pages import ASIDE

SECONDS = 120  # for a file


def test_files(checkout: Path) -> list[Path]:
    return [
        path
        for path in sorted((checkout / "llama-index-core" / "tests").rglob("test_*.py"))
        if not ASIDE.search(str(path))
    ]


NAMES_ASIDE = re.compile(r"SQL|^sql_|KnowledgeGraph|PropertyGraph|MultiModal|^Image(Node|Document)$")


def names_aside(file: Path) -> set[str]:
    """The tests of a file that name something private of what they test, or a part that ragcore does not have
    on purpose: SQL, knowledge graphs, nodes that are images."""
    tree = ast.parse(file.read_text("utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    imported = {
        name.asname or name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("llama_index")
        for name in node.names
        if name.name.startswith("_")
    }
    return {node.name for node in functions if _is_aside(node, imported)}


def _is_aside(function: ast.AST, imported: set[str]) -> bool:
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            return True
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        if name in imported or NAMES_ASIDE.search(name):
            return True
    return False


def outcomes(checkout: Path, file: Path, side: str, environment: Mapping[str, str]) -> dict[str, str]:
    """What became of each test of a file that counts: "" where it passed, otherwise why it did not.

    A test that is not there did not run, as where the file cannot be imported or takes too long.
    """
    root = checkout / "llama-index-core"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "compatibility_plugin",
        "-q",
        "--tb=line",
        "-p",
        "no:cacheprovider",
    ]
    command += [
        "--rootdir",
        str(root),
        "-c",
        "/dev/null",
        "-o",
        "asyncio_mode=auto",
        str(file.relative_to(root)),
    ]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.jsonl"
        settings = {**environment, "COMPATIBILITY_SIDE": side, "COMPATIBILITY_REPORT": str(report)}
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(command, cwd=root, env=settings, capture_output=True, timeout=SECONDS, check=False)
        found = (
            dict(json.loads(line) for line in report.read_text("utf-8").splitlines())
            if report.exists()
            else {}
        )
    aside = names_aside(file)
    return {
        name: problem for name, problem in found.items() if name.split("::")[-1].split("[")[0] not in aside
    }
