"""Loads each name that a package exports at its first use (PEP 562), so that importing the package is
cheap."""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path


def lazy_exports(package: str, file: str) -> tuple[Callable[[str], object], list[str]]:
    """`__getattr__` and `__all__` of `package`, from the imports below `if TYPE_CHECKING:` in its source
    `file`."""
    block = next(node for node in ast.parse(Path(file).read_text("utf-8")).body if isinstance(node, ast.If))
    homes = {
        name.name: str(each.module)
        for each in block.body
        if isinstance(each, ast.ImportFrom)
        for name in each.names
    }

    def load(name: str) -> object:
        if name in homes:
            return getattr(import_module(homes[name]), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return load, sorted(homes)
