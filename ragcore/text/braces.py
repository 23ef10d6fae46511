"""Splits a template with {names}. As in `str.format`, {{ and }} are the braces { and }.

Unlike there, a brace without a partner of its kind stays, so that a template may contain JSON: the two braces
at the end of {"a": {"b": 1}} each close one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

# An opening brace that stands before a {name} and is not doubled itself, a doubled one, a name, or one brace.
_TOKEN = re.compile(r"\{(?=\{[A-Za-z_]\w*\}(?!\}))|\{\{|\{([A-Za-z_]\w*)\}|[{}]")


@dataclass(frozen=True, slots=True)
class Field:
    """A {name} in a template."""

    name: str


def split_template(
    template: str, is_field: Callable[[str], object] = lambda name: True
) -> Iterator[str | Field]:
    """The texts, as they are sent, and the fields between them. No text is empty. Other {names} are text.

    >>> list(split_template('{{"name": {name}}}'))
    ['{"name": ', Field(name='name'), '}']
    """
    text, opened, end = "", list[str](), 0
    for match in _TOKEN.finditer(template):
        if match.start() < end:  # the second brace of a pair
            continue
        text, end = text + template[end : match.start()], match.end()
        if match[1] and is_field(match[1]):
            if text:
                yield text
            yield Field(match[1])
            text = ""
        elif match[1]:
            text += match[0]
        elif match[0] == "}":
            text += "}"
            opening = opened.pop() if opened else "{{"
            if opening == "{{" and template.startswith("}", end):
                end += 1
        else:
            text += "{"
            opened.append(match[0])
    if text := text + template[end:]:
        yield text


def escape_braces(text: str) -> str:
    """The text as a part of a template: its braces doubled."""
    return text.replace("{", "{{").replace("}", "}}")


def fill_template(template: str, values: Mapping[str, str]) -> str:
    """The template with its {names} replaced in one pass, so that braces in a value stay text.

    >>> fill_template("{key}: {value}", {"key": "title", "value": "{key}"})
    'title: {key}'
    """
    filled = ""
    for part in _parts(template, *values):
        filled += values[part.name] if isinstance(part, Field) else part
    return filled


@lru_cache
def _parts(template: str, *names: str) -> tuple[str | Field, ...]:
    return tuple(split_template(template, names.__contains__))
