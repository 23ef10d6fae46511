"""JSON and JSON lines: each value with the path of names that leads to it, so that it still means something alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ragcore.errors import DamagedFileError, NoTextError
from ragcore.readers.base import ReadOptions, text_in
from ragcore.readers.encodings import clean
from ragcore.schema import Document

SUFFIXES = (".json", ".jsonl", ".ndjson", ".geojson")


def read(path: Path, options: ReadOptions) -> Document:
    text = text_in(path, options)
    try:
        records = [_loads(text)]
    except (ValueError, RecursionError) as whole:
        try:
            records = _records(text)
        except (ValueError, RecursionError) as of_lines:
            # What it was read furthest as is what it was meant to be.
            error = max(whole, of_lines, key=lambda each: getattr(each, "pos", len(text)))
            if not isinstance(error, json.JSONDecodeError):
                raise _too_deep(options.name) from error
            raise DamagedFileError(
                f"{options.name} is not valid JSON at line {error.lineno}, column {error.colno}.",
                hint="Correct the file, or save it as .txt to have it read as plain text.",
            ) from error
    try:
        found = "\n\n".join("\n".join(_lines(record, "")) for record in records)
    except RecursionError as error:
        raise _too_deep(options.name) from error
    if not found.strip():
        raise NoTextError(f"{options.name} holds no text.", hint="It is valid JSON with nothing in it.")
    return Document(clean(found), metadata={"file_name": options.name})


def _loads(text: str) -> Any:
    return json.loads(text, parse_int=str, parse_float=str)  # as written: 1.10 stays 1.10, 10**5000 is no error


def _records(text: str) -> list[Any]:
    """One value a line. JSONDecodeError with its place in the whole text where a line is something else."""
    found, start = [], 0
    for line in text.split("\n"):
        if line.strip():
            try:
                found.append(_loads(line))
            except json.JSONDecodeError as error:
                raise json.JSONDecodeError(error.msg, text, start + error.pos) from error
        start += len(line) + 1
    return found


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


def _too_deep(name: str) -> DamagedFileError:
    return DamagedFileError(f"{name} is nested too deeply to be read.", hint="Save it in a flatter form.")
