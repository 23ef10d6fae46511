"""Jupyter notebooks: texts, code and the output of the code, without pictures and widgets."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from ragcore.errors import DamagedFileError, NoTextError
from ragcore.readers.base import ReadOptions, read_text
from ragcore.readers.encodings import clean
from ragcore.readers.markdown_tables import with_tables_as_lines
from ragcore.readers.web.html_text import html_text
from ragcore.schema import Document

SUFFIXES = (".ipynb",)

_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def read(path: Path, options: ReadOptions) -> Document:
    try:
        notebook = json.loads(read_text(path, options))
        if not isinstance(notebook, dict):
            raise ValueError(f"the file contains a {type(notebook).__name__}")
    except (ValueError, RecursionError) as error:
        raise DamagedFileError(
            f"{options.name} is not a notebook: its content is not what Jupyter writes.",
            hint="Save it again in Jupyter.",
        ) from error
    # Version 3 has the cells in worksheets.
    sheets = [notebook] if notebook.get("cells") is not None else _dicts(notebook.get("worksheets"))
    parts = [part for sheet in sheets for cell in _dicts(sheet.get("cells")) for part in _cell(cell)]
    text = clean("\n\n".join(part.strip("\n") for part in parts if part.strip()))
    if not text:
        raise NoTextError(
            f"{options.name} is a notebook with nothing written in it.", hint="Write something in it first."
        )
    return Document(text, metadata={"file_name": options.name})


def _cell(cell: dict[str, Any]) -> list[str]:
    source = _text(cell.get("source", cell.get("input")))
    if cell.get("cell_type") != "code":
        return [with_tables_as_lines(source)]
    return [f"```\n{source}\n```" if source.strip() else "", *map(_output, _dicts(cell.get("outputs")))]


def _output(output: dict[str, Any]) -> str:
    data = output.get("data", output)
    if not isinstance(data, dict):
        return ""
    for key in ("text", "text/markdown", "text/plain"):
        if key in data:
            return _COLOURS.sub("", _text(data[key]))
    if "text/html" in data:
        return html_text(_text(data["text/html"]))
    if output.get("output_type") in ("error", "pyerr"):
        return f"{output.get('ename', 'Error')}: {output.get('evalue', '')}"
    return ""


def _text(source: Any) -> str:
    return "".join(str(line) for line in source) if isinstance(source, list) else str(source or "")


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
