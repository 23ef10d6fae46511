"""HTML that nests its elements no more deeply than browsers do.

A parser asks for every element in which others it stands: of a million `<div>` that none closes, it would ask half a million
million times. Blink and WebKit end at 512 as well: https://html.spec.whatwg.org/multipage/parsing.html lets them.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

DEEPEST = 512
MOST_ATTRIBUTES = 1_000  # of one element; a parser compares each with all before it
MOST_OPTIONS = 500  # of one list to choose from; a parser counts all of them at each
MOST_STYLES = 32  # open at once; a parser opens all of them again in every paragraph that closes none

# Elements that nest in none of their kind, whether they are closed or not. Inside of these two the rules are others.
_FLAT = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"}
    | {"html", "head", "body", "p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot", "colgroup"}
    | {"option", "optgroup", "rt", "rp"}
)
_STYLES = frozenset({"a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"})
_FOREIGN = ("svg", "math")
# Comments, and tags with their names; a ">" in the quoted value of an attribute does not end the tag.
_MARKUP = re.compile(r"""<!--(?>.*?-->)|<(/?)([a-zA-Z][^\s/>]*)(?>[^>=]+|=\s*(?:"[^"]*"|'[^']*'|))*+>?""", re.S)

_ATTRIBUTES = re.compile(  # as many of a tag as are read
    rf"""<[^\s/>]+(?:[\s/]*+[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*"|'[^']*'|[^\s>]*+))?+){{{MOST_ATTRIBUTES}}}"""
)


def parse_html(html: str) -> LexborHTMLParser:
    """The page as a tree; see `flatten`."""
    from selectolax.lexbor import LexborHTMLParser

    return LexborHTMLParser(flatten(html))


@lru_cache(maxsize=1)  # a page is parsed several times
def flatten(html: str) -> str:
    """The same page without the tags of elements that stand in DEEPEST others, and of styles in MOST_STYLES others. What is in
    them stays. An element keeps its first MOST_ATTRIBUTES attributes, and a `<select>` of more than MOST_OPTIONS is made
    several.

    >>> flatten("<div>" * 600 + "deep") == "<div>" * 512 + "deep"
    True
    """
    if html.count("<") <= MOST_STYLES and len(html) <= 2 * MOST_ATTRIBUTES:
        return html
    nesting = _Nesting()
    pieces: list[str] = []
    end = 0
    unended = html.find("<!--", html.rfind("-->") + 1)  # the rest is a comment, then
    for markup in _MARKUP.finditer(html, 0, len(html) if unended < 0 else unended):
        if markup[2] and not (nesting.close if markup[1] else nesting.open)(markup[2].lower()):
            pieces.append(html[end : markup.start()])
            end = markup.end()
        elif nesting.begins_list(markup[1], markup[2]):
            pieces += [html[end : markup.start()], "</select><select>"]
            end = markup.start()
        elif markup.end() - markup.start() > 2 * MOST_ATTRIBUTES and (first := _ATTRIBUTES.match(markup[0])):
            pieces += [html[end : markup.start()], first[0], "/>" if markup[0].endswith("/>") else ">"]
            end = markup.end()
    return "".join([*pieces, html[end:]])


class _Nesting:
    """The elements that are open."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._kept: list[bool] = []
        self._opened: Counter[str] = Counter()
        self._styles = 0
        self._options = 0  # of the list that is open

    def open(self, name: str) -> bool:
        """Whether its tag stays."""
        if self._is_flat(name):
            return True
        self._opened[name] += 1
        self._styles += name in _STYLES
        kept = len(self._names) < DEEPEST and (name not in _STYLES or self._styles <= MOST_STYLES)
        self._names.append(name)
        self._kept.append(kept)
        return kept

    def close(self, name: str) -> bool:
        """With the elements in it that were not closed. Whether its tag stays."""
        if self._is_flat(name) or not self._opened[name]:
            return True
        while True:
            last, kept = self._names.pop(), self._kept.pop()
            self._opened[last] -= 1
            self._styles -= last in _STYLES
            if last == name:
                return kept

    def begins_list(self, slash: str, name: str) -> bool:
        """Whether this tag is that of one option more than a list has."""
        if not name or name.lower() not in ("select", "option") or slash:
            return False
        self._options = self._options + 1 if name.lower() == "option" and self._opened["select"] else 0
        return self._options > 0 and self._options % MOST_OPTIONS == 0

    def _is_flat(self, name: str) -> bool:
        return name in _FLAT and not any(self._opened[foreign] for foreign in _FOREIGN)
