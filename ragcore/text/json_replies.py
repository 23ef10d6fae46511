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
_BRACKET = re.compile(r"\[[^\[\]{}\"']*\]|[\[{]")  # one that could be prose, or a beginning
_WORDS = {"True": "true", "False": "false", "None": "null"}
_ESCAPES = {"\\'": "'", '"': '\\"'}


def loose_json(text: str) -> Any:
    """The one value in `text`. Citations such as [2] around it are prose, and a repeated value is one value.

    ValueError if there is none, if it cannot be read with certainty, and if there are different ones.

    >>> loose_json("Sure: {'answer': 42,}")
    {'answer': 42}
    """
    text = text.lstrip("\ufeff")
    for alone in (text, *_FENCE.findall(text)):
        try:
            return _value(list(_tokens(alone)))
        except ValueError:
            continue
    values = _without_citations(list(_values(text)))
    if not values:
        raise ValueError(f"no JSON in {_short(text)}")
    if any(value != values[0] for value in values):
        raise ValueError(f"{len(values)} different JSON values in {_short(text)}; one was asked for")
    return values[0]


def json_values(text: str) -> list[Any]:
    """All JSON values in `text`, in order: one, or several objects after each other, perhaps in prose.

    The list ends at the first that cannot be read, such as the end of a truncated reply. Citations such as
    [2] next to other values are prose.
    """
    text = text.lstrip("\ufeff")
    in_fences = [value for block in _FENCE.findall(text) for value in _readable(block)]
    return _without_citations(in_fences or _readable(text))


def _readable(text: str) -> list[Any]:
    """The text as one value, or the objects and arrays in it up to the first that cannot be read."""
    values: list[Any] = []
    with suppress(ValueError):
        return [_value(list(_tokens(text)))]
    with suppress(ValueError):
        values.extend(_values(text))
    return values


def read_json(text: str, start: int = 0) -> tuple[Any, int]:
    """The object or array that begins at `text[start]`, and where it ends. ValueError as in `loose_json`."""
    tokens: list[tuple[str, str]] = []
    depth = 0
    at = start
    while match := _TOKEN.match(text, at):
        at = match.end()
        tokens.append(_read_token(match))
        if tokens[-1][0] == "mark":
            depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(tokens[-1][1], 0)
            if depth <= 0:
                return _value(tokens), at
    raise ValueError(f"JSON that does not end: {_short(text[start:])}")


def _values(text: str) -> Iterator[Any]:
    """All objects and arrays in prose. Brackets around bare words are prose; other things that cannot be read are errors."""
    at = 0
    while match := _BRACKET.search(text, at):
        try:
            value, at = read_json(text, match.start())
        except ValueError:
            if len(match.group()) == 1:
                raise
            at = match.end()
        else:
            yield value


def _without_citations(values: list[Any]) -> list[Any]:
    """The values that are no lists of integers; all of them if there are no others."""
    return [value for value in values if not (isinstance(value, list) and all(type(item) is int for item in value))] or values


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    text, at = text.rstrip(), 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"not JSON: {_short(text[at:])}")
        yield _read_token(match)
        at = match.end()


def _read_token(match: re.Match[str]) -> tuple[str, str]:
    kind = match.lastgroup or ""
    return kind, match.group(kind)


def _value(tokens: list[tuple[str, str]]) -> Any:
    """The tokens written as strict JSON, and read as such."""
    tokens = [token for token in tokens if token[0] != "comment"]
    before = [("", ""), *tokens]
    after = [*tokens[1:], ("", "")]
    strict = [
        _strict(kind, text, following)
        for (_, previous), (kind, text), (_, following) in zip(before, tokens, after, strict=False)
        # a trailing comma, behind a value
        if not (kind == "mark" and text == "," and following in ("]", "}") and previous not in ("[", "{", ","))
    ]
    try:
        return json.loads(" ".join(strict), strict=False)
    except RecursionError as error:
        raise ValueError("JSON that is nested too deeply") from error


def _strict(kind: str, text: str, following: str) -> str:
    if kind in ("single", "double"):
        return '"' + re.sub(r"\\.|\"", lambda match: _ESCAPES.get(match[0], match[0]), text[1:-1], flags=re.DOTALL) + '"'
    if kind == "word":
        return f'"{text}"' if following == ":" else _WORDS.get(text, text)
    return text


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")
