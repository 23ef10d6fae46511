"""From files, folders, databases and texts to documents. Names are loaded when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragcore.readers.database import DatabaseReader
    from ragcore.readers.directory import SimpleDirectoryReader
    from ragcore.readers.flat import FlatReader
    from ragcore.readers.strings import StringIterableReader

_HOMES = {
    "DatabaseReader": "ragcore.readers.database",
    "FlatReader": "ragcore.readers.flat",
    "SimpleDirectoryReader": "ragcore.readers.directory",
    "StringIterableReader": "ragcore.readers.strings",
}

__all__ = ["DatabaseReader", "FlatReader", "SimpleDirectoryReader", "StringIterableReader"]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'ragcore.readers' has no attribute {name!r}")
