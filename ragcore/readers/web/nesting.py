"""Limits how deeply the elements of HTML are nested.

For each element a parser checks the elements around it, which takes quadratic time for a million `<div>` that
are never closed. Blink and WebKit stop at 512 too, which https://html.spec.whatwg.org/multipage/parsing.html
allows.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

MAX_DEPTH = 512
MAX_ATTRIBUTES = 1_000  # of one element; a parser compares each with all previous ones
MAX_OPTIONS = 500  # of one `<select>`; a parser counts all options for each
MAX_STYLES = 32  # open at once; a parser opens all of them again in every paragraph

# Elements that cannot be inside one of their kind, except in _FOREIGN elements.
_FLAT = frozenset(
    {
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "param",
        "source",
        "track",
        "wbr",
    }
    | {"html", "head", "body", "p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot", "colgroup"}
    | {"option", "optgroup", "rt", "rp"}
)
_STYLES = frozenset(
    {"a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"}
)
_FOREIGN = ("svg", "math")
# Comments, and tags with their names; a ">" in the quoted value of an attribute does not end the tag.
_MARKUP = re.compile(
    r"""<!--(?>.*?-->)|<(/?)([a-zA-Z][^\s/>]*)(?>[^>=]+|=\s*(?:"[^"]*"|'[^']*'|))*+>?""", re.S
)

_ATTRIBUTES = re.compile(  # of one tag, up to the limit
    rf"""<[^\s/>]+(?:[\s/]*+[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*"|'[^']*'|[^\s>]*+))?+){{{MAX_ATTRIBUTES}}}"""
)


def parse_html(html: str) -> LexborHTMLParser:
    """The flattened page as a tree."""
    from selectolax.lexbor import LexborHTMLParser

    return LexborHTMLParser(flatten(html))


@lru_cache(maxsize=1)  # one page is parsed several times
def flatten(html: str) -> str:
    """The page without the tags of elements inside DEEPEST others, and of styles inside MOST_STYLES others.
    Their text stays. An element has at most MOST_ATTRIBUTES attributes, and a `<select>` of more than
    MOST_OPTIONS options is split.

    >>> flatten("<div>" * 600 + "deep") == "<div>" * 512 + "deep"
    True
    """
    if html.count("<") <= MAX_STYLES and len(html) <= 2 * MAX_ATTRIBUTES:
        return html
    nesting = _Nesting()
    pieces: list[str] = []
    end = 0
    unended = html.find("<!--", html.rfind("-->") + 1)  # everything after it is a comment
    for markup in _MARKUP.finditer(html, 0, len(html) if unended < 0 else unended):
        if markup[2] and not (nesting.close if markup[1] else nesting.open)(markup[2].lower()):
            pieces.append(html[end : markup.start()])
            end = markup.end()
        elif nesting.begins_list(markup[1], markup[2]):
            pieces += [html[end : markup.start()], "</select><select>"]
            end = markup.start()
        elif markup.end() - markup.start() > 2 * MAX_ATTRIBUTES and (first := _ATTRIBUTES.match(markup[0])):
            pieces += [html[end : markup.start()], first[0], "/>" if markup[0].endswith("/>") else ">"]
            end = markup.end()
    return "".join([*pieces, html[end:]])


class _Nesting:
    """The elements that are open."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._tag_stays: list[bool] = []
        self._opened: Counter[str] = Counter()
        self._styles = 0
        self._options = 0  # in the current list

    def open(self, name: str) -> bool:
        """Whether the tag stays."""
        if self._is_flat(name):
            return True
        self._opened[name] += 1
        self._styles += name in _STYLES
        stays = len(self._names) < MAX_DEPTH and (name not in _STYLES or self._styles <= MAX_STYLES)
        self._names.append(name)
        self._tag_stays.append(stays)
        return stays

    def close(self, name: str) -> bool:
        """Close the element and all open elements in it. Returns whether the tag stays."""
        if self._is_flat(name) or not self._opened[name]:
            return True
        while True:
            last, stays = self._names.pop(), self._tag_stays.pop()
            self._opened[last] -= 1
            self._styles -= last in _STYLES
            if last == name:
                return stays

    def begins_list(self, slash: str, name: str) -> bool:
        """Whether this is the tag of an option beyond the limit of a list."""
        if not name or name.lower() not in ("select", "option") or slash:
            return False
        self._options = self._options + 1 if name.lower() == "option" and self._opened["select"] else 0
        return self._options > 0 and self._options % MAX_OPTIONS == 0

    def _is_flat(self, name: str) -> bool:
        return name in _FLAT and not any(self._opened[foreign] for foreign in _FOREIGN)
