"""The JSON value in a model's reply, which is rarely JSON alone: in a fence, among prose, with the habits of other languages.

What is forgiven is what leaves no doubt: comments, single quotes, trailing commas, keys without quotes, line breaks inside
strings, Python's True, False and None. The rest is Python's own `json`, so what it cannot read is an error and never a guess.
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


def loose_json(text: str) -> Any:
    """The one value in `text`. Citations such as [2] beside it are prose, and a value said twice is one value.

    ValueError where there is none, where it cannot be read with certainty, and where there are several that differ.
    """
    text = text.lstrip("\ufeff")
    for alone in (text, *_FENCE.findall(text)):
        try:
            return _value(list(_tokens(alone, 0)))
        except ValueError:
            continue
    found = list(_values(text))
    values = [value for value in found if not _is_citation(value)] or found
    if not values:
        raise ValueError(f"no JSON in {_short(text)}")
    if any(value != values[0] for value in values):
        raise ValueError(f"{len(values)} different JSON values in {_short(text)}; one was asked for")
    return values[0]


def json_values(text: str) -> list[Any]:
    """All JSON values in `text`, in order: one, or several objects after each other, with prose around them or not.

    What cannot be read ends the list, as a reply that was cut short does. Citations such as [2] beside other values are prose.
    """
    text = text.lstrip("\ufeff")
    found = [value for fenced in _FENCE.findall(text) for value in _readable(fenced)] or _readable(text)
    return [value for value in found if not _is_citation(value)] or found


def _readable(text: str) -> list[Any]:
    """The text as one value, or the objects and arrays in it up to the first that cannot be read."""
    found: list[Any] = []
    with suppress(ValueError):
        return [_value(list(_tokens(text, 0)))]
    with suppress(ValueError):
        for value in _values(text):
            found.append(value)
    return found


def read_json(text: str, start: int = 0) -> tuple[Any, int]:
    """The object or array that begins at `text[start]`, and where it ends. ValueError as in `loose_json`."""
    tokens: list[tuple[str, str]] = []
    depth = 0
    at = start
    while match := _TOKEN.match(text, at):
        at = match.end()
        tokens.append(_token(match))
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


def _is_citation(value: Any) -> bool:
    return isinstance(value, list) and all(type(item) is int for item in value)


def _tokens(text: str, at: int) -> Iterator[tuple[str, str]]:
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"not JSON: {_short(text[at:])}")
        yield _token(match)
        at = match.end()


def _token(match: re.Match[str]) -> tuple[str, str]:
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
        return '"' + re.sub(r"\\.|\"", _escaped, text[1:-1], flags=re.DOTALL) + '"'
    if kind == "word":
        return f'"{text}"' if following == ":" else _WORDS.get(text, text)
    return text


def _escaped(match: re.Match[str]) -> str:
    return {"\\'": "'", '"': '\\"'}.get(match.group(), match.group())


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")
