"""JSON and JSON lines: each value with the path of names that leads to it, so that it still means something alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ragcore.errors import DamagedFileError, NoTextError
from ragcore.readers.base import ReadOptions
from ragcore.readers.decode import clean, decode
from ragcore.schema import Document

SUFFIXES = (".json", ".jsonl", ".ndjson", ".geojson")


def read(path: Path, options: ReadOptions) -> Document:
    text = decode(path.read_bytes(), options.name)
    try:
        records = [_loads(text)]
    except (ValueError, RecursionError) as error:
        records = _records(text)
        if not records:
            raise DamagedFileError(
                f"{options.name} is not valid JSON: {_place(error)}.",
                hint="Correct the file, or save it as .txt to have it read as plain text.",
            ) from error
    try:
        found = "\n\n".join("\n".join(_lines(record, "")) for record in records)
    except RecursionError as error:
        raise DamagedFileError(f"{options.name} is nested too deeply to be read.", hint="Save it in a flatter form.") from error
    if not found.strip():
        raise NoTextError(f"{options.name} holds no text.", hint="It is valid JSON with nothing in it.")
    return Document(clean(found), metadata={"file_name": options.name})


def _loads(text: str) -> Any:
    return json.loads(text, parse_int=str, parse_float=str)  # as written: 1.10 stays 1.10, 10**5000 is no error


def _records(text: str) -> list[Any]:
    """One value a line; [] when any line is something else."""
    try:
        return [_loads(line) for line in text.split("\n") if line.strip()]
    except (ValueError, RecursionError):
        return []


def _lines(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _lines(item, f"{path}.{key}" if path else str(key))
        return
    if isinstance(value, list):
        if value and all(not isinstance(item, dict | list) for item in value):
            joined = ", ".join(_scalar(item) for item in value)
            yield f"{path}: {joined}" if path else joined
            return
        for number, item in enumerate(value, 1):
            yield from _lines(item, f"{path} {number}" if path else "")
            if isinstance(item, dict):
                yield ""
        return
    yield f"{path}: {_scalar(value)}" if path else _scalar(value)


def _scalar(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _place(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at line {error.lineno}, column {error.colno}"
    return "it is nested too deeply"
