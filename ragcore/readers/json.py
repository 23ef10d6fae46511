"""JSON and JSON lines: each value with its path of names, so that it makes sense alone. Broken lines, such as
the last one of a growing log, are reported, and the others are read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from ragcore.errors import DamagedFileError, NoTextError
from ragcore.readers.base import ReadOptions, read_text
from ragcore.readers.encodings import clean
from ragcore.schema import Document

SUFFIXES = (".json", ".jsonl", ".ndjson", ".geojson")
OF_LINES = (".jsonl", ".ndjson")
_BLANKS = re.compile(r"\s*")
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)  # keeps 1.10 as 1.10, and reads 10**5000
LISTED = 20  # numbers of broken lines in a message


def read(path: Path, options: ReadOptions) -> Document:
    text = read_text(path, options)
    try:
        lines = "\n\n".join("\n".join(_lines(value, "")) for value in _parse(text, options))
    except RecursionError as error:
        raise DamagedFileError(
            f"{options.name} is nested too deeply to be read.", hint="Save it in a flatter form."
        ) from error
    if not lines.strip():
        raise NoTextError(f"{options.name} contains no text.", hint="It is valid JSON with nothing in it.")
    return Document(clean(lines), metadata={"file_name": options.name})


def _parse(text: str, options: ReadOptions) -> list[Any]:
    """The value of the file, or its values if it has one per line."""
    try:
        return [_DECODER.decode(text)]
    except json.JSONDecodeError as error:
        values, broken = _records(text)
        if not _is_of_lines(values, broken, options.name):
            raise DamagedFileError(
                f"{options.name} is not valid JSON at line {error.lineno}, column {error.colno}.",
                hint="Correct the file, or save it as .txt to have it read as plain text.",
            ) from error
        if broken:
            options.on_loss(_broken_lines(broken, options.name))
        return values


def _records(text: str) -> tuple[list[Any], list[int]]:
    """The values, one per line, and the numbers of the lines that are not JSON."""
    values: list[Any] = []
    broken: list[int] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                values += _values(line.strip().lstrip("\x1e"))  # the first character of a record (RFC 7464)
            except (ValueError, RecursionError):
                broken.append(number)
    return values, broken


def _values(line: str) -> list[Any]:
    """The values of a line, which may have several. ValueError if a part of it is not JSON."""
    values, place = [], 0
    while place < len(line):
        value, place = _DECODER.raw_decode(line, place)
        values.append(value)
        place = _BLANKS.match(line, place).end()  # type: ignore[union-attr]  # it also matches ""
    return values


def _is_of_lines(records: list[Any], broken: list[int], name: str) -> bool:
    """Whether the file has one value per line. A bracket or a number may fill a line of broken JSON by
    chance."""
    whole = sum(isinstance(record, dict | list) and bool(record) for record in records)
    is_named_so = PurePosixPath(name).suffix.lower() in OF_LINES
    return whole > len(broken) or (is_named_so and (whole > 0 or len(records) > len(broken)))


def _broken_lines(numbers: list[int], name: str) -> DamagedFileError:
    hint = "To have the rest read, too, correct the file and add it again."
    if len(numbers) == 1:
        return DamagedFileError(f"Line {numbers[0]} of {name} is not valid JSON and was not read.", hint=hint)
    listed = ", ".join(f"{number}" for number in numbers[:LISTED])
    if (more := len(numbers) - LISTED) > 0:
        listed = f"{listed} and {more:,} more"
    return DamagedFileError(
        f"{len(numbers):,} lines of {name} are not valid JSON and were not read: {listed}.", hint=hint
    )


def _lines(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _lines(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and (not value or any(isinstance(item, dict | list) for item in value)):
        for number, item in enumerate(value, 1):
            yield from _lines(item, f"{path} {number}" if path else "")
            if isinstance(item, dict):
                yield ""
    else:
        items = value if isinstance(value, list) else [value]
        text = ", ".join(str({None: "none", True: "yes", False: "no"}.get(item, item)) for item in items)
        yield f"{path}: {text}" if path else text
