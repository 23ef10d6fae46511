"""JSON as lines of text: the keys on the path to a value, then the value."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ragcore.errors import InputError
from ragcore.node_parser.base import NodeParser
from ragcore.node_parser.node_building import Cut
from ragcore.schema import Document, TextNode


class JSONNodeParser(NodeParser):
    """One passage per document, or one per item if the document is a list.

    >>> JSONNodeParser()([Document('{"ferry": {"times": ["9:15", "17:40"], "fare": 4.50}}')])[0].text
    'ferry times 9:15\\nferry times 17:40\\nferry fare 4.50'

    Numbers keep their spelling. The items of a list have the keys of the list. An empty list or object has no
    line. InputError if a document is not valid JSON.
    """

    def cuts(self, source: Document | TextNode) -> list[Cut]:
        if not source.text.strip():
            return []
        try:
            value = json.loads(source.text, parse_int=str, parse_float=str)
            texts = ["\n".join(_lines(item, "")) for item in (value if isinstance(value, list) else [value])]
        except json.JSONDecodeError as error:
            raise InputError(
                f"Document {source.id_!r} is not valid JSON: {error.msg} at line {error.lineno}, column "
                f"{error.colno}.",
                hint="Correct it, or split it as plain text.",
            ) from error
        except RecursionError as error:
            raise InputError(
                f"Document {source.id_!r} is nested too deeply.", hint="Save it in a flatter form."
            ) from error
        return [Cut(None, None, text) for text in texts if text]


def _lines(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _lines(item, f"{path}{key} ")
    elif isinstance(value, list):
        for item in value:
            yield from _lines(item, path)
    else:
        yield f"{path}{value}"
