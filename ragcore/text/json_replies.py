"""The JSON value in a model's reply, which is often in a fence, in prose, or in the syntax of Python.

Accepted are comments, single quotes, trailing commas, keys without quotes, line breaks inside strings, and
Python's True, False and None. `json` parses the rest, or raises an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

_FENCE = re.compile(r"^[ \t]*```[^\n`]*\n(.*?)\n[ \t]*```[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<double>"(?:[^"\\]|\\.)*")
      | (?P<single>'(?:[^'\\]|\\.)*')
      | (?P<comment>//[^\n]*|\#[^\n]*|/\*.*?\*/)
      | (?P<mark>[\[\]{},:])
      | (?P<word>[\w$.+-]+)
    )""",
    re.DOTALL | re.VERBOSE,
)
# a pair that may be prose, such as [sic], or an opening bracket
_BRACKET = re.compile(r"\[[^\[\]{}\"']*\]|[\[{]")
_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null"}
_ESCAPES = {"\\'": "'", '"': '\\"'}  # JSON has no \', and a quote inside single quotes needs a backslash


def parse_loose_json(text: str) -> Any:
    """The one value in `text`. Citations such as [2] around it are prose, and a repeated value is one value.

    ValueError if there is none, if it cannot be read with certainty, and if there are different ones.

    >>> parse_loose_json("Sure: {'answer': 42,}")
    {'answer': 42}
    """
    text = text.lstrip("\ufeff")
    for candidate in (text, *_FENCE.findall(text)):
        try:
            return _parse_tokens(list(_tokens(candidate)))
        except ValueError:
            continue
    values = _without_citations(list(_values_in_prose(text)))
    if not values:
        raise ValueError(f"no JSON in {_shorten(text)}")
    if any(value != values[0] for value in values):
        raise ValueError(f"{len(values)} different JSON values in {_shorten(text)}; one was asked for")
    return values[0]


def parse_json_values(text: str) -> list[Any]:
    """All JSON values in `text`, in order: one, or several objects after each other, perhaps in prose.

    The list ends at the first that cannot be read, such as the end of a truncated reply. Citations such as
    [2] next to other values are prose.
    """
    text = text.lstrip("\ufeff")
    in_fences = [value for block in _FENCE.findall(text) for value in _readable_values(block)]
    return _without_citations(in_fences or _readable_values(text))


def _readable_values(text: str) -> list[Any]:
    """The text as one value, or the objects and arrays in it up to the first that cannot be read."""
    values: list[Any] = []
    with suppress(ValueError):
        return [_parse_tokens(list(_tokens(text)))]
    with suppress(ValueError):
        values.extend(_values_in_prose(text))
    return values


def parse_json_at(text: str, start: int = 0) -> tuple[Any, int]:
    """The object or array that begins at `text[start]`, and where it ends. ValueError as in
    `parse_loose_json`."""
    tokens: list[tuple[str, str]] = []
    depth = 0
    position = start
    while match := _TOKEN.match(text, position):
        position = match.end()
        tokens.append(_read_token(match))
        if tokens[-1][0] == "mark":
            depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(tokens[-1][1], 0)
            if depth <= 0:
                return _parse_tokens(tokens), position
    raise ValueError(f"JSON that does not end: {_shorten(text[start:])}")


def _values_in_prose(text: str) -> Iterator[Any]:
    """All objects and arrays in prose. Brackets around bare words are prose; ValueError for others that
    cannot be read."""
    position = 0
    while match := _BRACKET.search(text, position):
        try:
            value, position = parse_json_at(text, match.start())
        except ValueError:
            if match.group() in ("[", "{"):  # no whole pair
                raise
            position = match.end()
        else:
            yield value


def _without_citations(values: list[Any]) -> list[Any]:
    """The values that are not lists of integers; all values if every one is such a list."""

    def is_citation(value: Any) -> bool:
        return isinstance(value, list) and all(type(item) is int for item in value)  # a bool is no citation

    return [value for value in values if not is_citation(value)] or values


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    """Kind and text of each token: the kind is the name of its group in `_TOKEN`. ValueError."""
    text, position = text.rstrip(), 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ValueError(f"not JSON: {_shorten(text[position:])}")
        yield _read_token(match)
        position = match.end()


def _read_token(match: re.Match[str]) -> tuple[str, str]:
    kind = match.lastgroup or ""
    return kind, match.group(kind)


def _parse_tokens(tokens: list[tuple[str, str]]) -> Any:
    """The value of the tokens, which are first rewritten as strict JSON. ValueError."""
    tokens = [token for token in tokens if token[0] != "comment"]
    texts = ["", *(text for _, text in tokens), ""]
    strict = []
    for (kind, text), previous, following in zip(tokens, texts, texts[2:], strict=False):
        is_trailing_comma = (
            kind == "mark" and text == "," and following in ("]", "}") and previous not in ("[", "{", ",")
        )
        if not is_trailing_comma:
            strict.append(_strict_token(kind, text, following))
    try:
        return json.loads(" ".join(strict), strict=False)
    except RecursionError as error:
        raise ValueError("JSON that is nested too deeply") from error


def _strict_token(kind: str, text: str, following: str) -> str:
    if kind in ("single", "double"):
        return (
            '"'
            + re.sub(r"\\.|\"", lambda match: _ESCAPES.get(match[0], match[0]), text[1:-1], flags=re.DOTALL)
            + '"'
        )
    if kind == "word":
        return f'"{text}"' if following == ":" else _PYTHON_WORDS.get(text, text)
    return text


def _shorten(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")
