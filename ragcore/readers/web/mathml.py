"""Equations of web pages, e-books and OpenDocument as LaTeX (MathML 3, chapter 3: presentation markup)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ragcore.readers import latex
from ragcore.readers.web.safe_xml import local

if TYPE_CHECKING:
    from lxml.etree import _Element

_DISPLAY = re.compile(r"\{\s*\\displaystyle\s*(.*?)\s*\}", re.S)
_LARGE = frozenset("∑∏∐∫∬∭∮⋃⋂⋁⋀")


def equation(math: _Element) -> str:
    """A `math` element as LaTeX in a line of text. Its annotation in TeX, if it has one, is preferred."""
    for note in math.iter():
        if (
            local(note) == "annotation"
            and "tex" in (note.get("encoding") or "").lower()
            and (note.text or "").strip()
        ):
            source = " ".join((note.text or "").split()).strip("$")
            display = _DISPLAY.fullmatch(source)
            return latex.equation(display[1] if display else source)
    try:
        return latex.equation(_inside(math))
    except RecursionError:  # nested deeper than any real equation
        return " ".join("".join(map(str, math.itertext())).split())


def html_equation(html: str) -> str:
    """The equation of the HTML of one `math` element."""
    from lxml import html as lxml_html

    return equation(lxml_html.fragment_fromstring(html))


def _inside(element: _Element) -> str:
    return latex.sequence(_node(child) for child in element if local(child))


def _node(element: _Element) -> str:
    kind = local(element)
    if kind in _LEAVES:
        return _LEAVES[kind](" ".join("".join(map(str, element.itertext())).split()))
    children = [child for child in element if local(child)]
    if kind in _KINDS:
        return _KINDS[kind](element, [_node(child) for child in children])
    if kind in ("semantics", "maction"):  # only the first is visible
        return _node(children[0]) if children else ""
    return (
        ""
        if kind in ("mphantom", "annotation", "annotation-xml", "none", "mprescripts")
        else _inside(element)
    )


def _words(text: str) -> str:
    return f"\\text{{{text}}}" if re.search(r"[^\W\d_]{2}| ", text) else latex.symbols(text)


_LEAVES: Mapping[str, Callable[[str], str]] = {
    "mi": latex.name,
    "mn": latex.symbols,
    "mo": lambda text: latex.name(text) if text.isalpha() else latex.symbols(text),
    "mtext": _words,
    "ms": _words,
    "mspace": lambda _: " ",
}


def _fraction(element: _Element, parts: list[str]) -> str:
    above, below = _pad(parts, 2)
    if element.get("bevelled") == "true":
        return f"{above}/{below}"
    return latex.fraction(
        above, below, barred=re.match(r"0(?![.\d])", element.get("linethickness") or "") is None
    )


def _root(element: _Element, parts: list[str]) -> str:
    if local(element) == "msqrt":
        return latex.root(latex.sequence(parts))
    return latex.root(*_pad(parts, 2))


def _scripts(element: _Element, parts: list[str]) -> str:
    base, first, second = _pad(parts, 3)
    if local(element) in ("msup", "mover"):
        return latex.scripts(base, "", first)
    return latex.scripts(base, first, second)


def _over_or_under(element: _Element, parts: list[str]) -> str:
    base, sign = _pad(parts, 2)
    below = local(element) == "munder"
    drawn = "".join(map(str, element[1].itertext())).strip() if len(element) > 1 else ""
    large = "".join(map(str, element[0].itertext())).strip() if len(element) else ""
    if large in _LARGE or large in latex.FUNCTIONS:
        return latex.scripts(base, sign) if below else latex.scripts(base, "", sign)
    if drawn in latex.ACCENTS:
        return latex.accent(base, drawn, below=below)
    return f"\\{'under' if below else 'over'}set{{{sign}}}{{{base}}}"


def _before_and_behind(element: _Element, parts: list[str]) -> str:
    kinds = [local(child) for child in element if local(child)]
    at = kinds.index("mprescripts") if "mprescripts" in kinds else len(kinds)
    behind, before = parts[1:at], parts[at + 1 :]
    below, above = "".join(behind[::2]), "".join(behind[1::2])
    prefix = latex.scripts("", "".join(before[::2]), "".join(before[1::2])) if before else ""
    return latex.sequence([prefix, latex.scripts(parts[0] if parts else "", below, above)])


def _fence(element: _Element, parts: list[str]) -> str:
    separators = (element.get("separators", ",") or "").replace(" ", "")
    return latex.fence(parts, element.get("open", "("), element.get("close", ")"), separators[:1])


def _table(element: _Element, _: list[str]) -> str:
    rows = [row for row in element if local(row) in ("mtr", "mlabeledtr")]
    return latex.matrix(
        (
            [_inside(cell) for cell in row if local(cell) == "mtd"][local(row) == "mlabeledtr" :]
            for row in rows
        ),
        "matrix",
    )


def _enclosure(element: _Element, parts: list[str]) -> str:
    notation, inner = element.get("notation", "longdiv"), latex.sequence(parts)
    return (
        latex.root(inner)
        if "radical" in notation
        else f"\\cancel{{{inner}}}"
        if "strike" in notation
        else inner
    )


_KINDS: Mapping[str, Callable[[_Element, list[str]], str]] = {
    "mfrac": _fraction,
    "msqrt": _root,
    "mroot": _root,
    "msub": _scripts,
    "msup": _scripts,
    "msubsup": _scripts,
    "munderover": _scripts,
    "mover": _over_or_under,
    "munder": _over_or_under,
    "mmultiscripts": _before_and_behind,
    "mfenced": _fence,
    "mtable": _table,
    "menclose": _enclosure,
}


def _pad(parts: list[str], count: int) -> list[str]:
    """Exactly `count` parts; missing ones are ""."""
    return [*parts, *[""] * count][:count]
