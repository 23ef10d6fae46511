"""Equations of Word and PowerPoint as LaTeX (ECMA-376 part 1, 22.1: Office Math Markup Language).

PyPI has only unmaintained converters: copies of dwml from 2016, or first releases of one author.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ragcore.readers import latex
from ragcore.readers.office.package import Element
from ragcore.readers.web.safe_xml import attribute, child, children, local

_OFF = frozenset({"0", "off", "false"})
_FENCED = {
    ("(", ")"): "pmatrix",
    ("[", "]"): "bmatrix",
    ("|", "|"): "vmatrix",
    ("{", "}"): "Bmatrix",
    ("‖", "‖"): "Vmatrix",
}


def equation(element: Element) -> str:
    """An `oMath` or `oMathPara` as inline LaTeX."""
    if local(element) == "oMathPara":
        return "\n".join(text for each in children(element, "oMath") if (text := equation(each)))
    return latex.equation(_inside(element))


def _inside(element: Element | None) -> str:
    return "" if element is None else latex.sequence(map(_node, element))


def _node(element: Element) -> str:
    kind = local(element)
    if kind in _KINDS:
        return _KINDS[kind](element)
    if kind.endswith("Pr") or kind in ("del", "moveFrom", "instrText", "delText"):
        return ""
    return _inside(element)  # e, num, an accepted change, or another wrapper


def _run(element: Element) -> str:
    text = "".join(each.text or "" for each in children(element, "t"))
    upright = child(child(element, "rPr"), "nor") is not None
    if upright and " " in text.strip():
        return f"\\text{{{text}}}"
    return latex.name(text) if text in latex.FUNCTIONS or upright else latex.symbols(text)


def _fraction(element: Element) -> str:
    above, below = _part(element, "num"), _part(element, "den")
    form = _property(element, "type")
    return f"{above}/{below}" if form == "lin" else latex.fraction(above, below, barred=form != "noBar")


def _root(element: Element) -> str:
    return latex.root(_part(element, "e"), "" if _is_on(element, "degHide") else _part(element, "deg"))


def _scripts(element: Element) -> str:
    base, below, above = (_part(element, kind) for kind in ("e", "sub", "sup"))
    if local(element) == "sPre":
        return latex.sequence([latex.scripts("", below, above), base])
    return latex.scripts(base, below, above)


def _large(element: Element) -> str:
    sign = latex.symbols(_property(element, "chr", "∫"))
    below = "" if _is_on(element, "subHide") else _part(element, "sub")
    above = "" if _is_on(element, "supHide") else _part(element, "sup")
    return latex.sequence([latex.scripts(sign, below, above), " ", _part(element, "e")])


def _fence(element: Element) -> str:
    opening, closing = _property(element, "begChr", "("), _property(element, "endChr", ")")
    inner = list(children(element, "e"))
    only = [each for each in inner[0] if not local(each).endswith("Pr")] if len(inner) == 1 else []
    if len(only) == 1 and local(only[0]) == "m" and (opening, closing) in _FENCED:
        return _matrix(only[0], _FENCED[opening, closing])
    if len(only) == 1 and local(only[0]) == "eqArr" and (opening, closing) == ("{", ""):
        return _matrix(only[0], "cases")
    if (
        len(only) == 1
        and local(only[0]) == "f"
        and _property(only[0], "type") == "noBar"
        and (opening, closing) == ("(", ")")
    ):
        return _fraction(only[0])
    return latex.fence(list(map(_inside, inner)), opening, closing, _property(element, "sepChr", "|"))


def _matrix(element: Element, kind: str = "matrix") -> str:
    """The rows of a matrix or of aligned equations."""
    if local(element) == "eqArr":
        return latex.matrix(([_inside(each)] for each in children(element, "e")), kind)
    return latex.matrix((map(_inside, children(row, "e")) for row in children(element, "mr")), kind)


def _accent(element: Element) -> str:
    return latex.accent(_part(element, "e"), _property(element, "chr", "\u0302"))


def _bar(element: Element) -> str:
    return latex.accent(_part(element, "e"), "‾", below=_property(element, "pos", "bot") != "top")


def _brace(element: Element) -> str:
    above = _property(element, "pos", "bot") == "top"
    return latex.accent(_part(element, "e"), _property(element, "chr", "⏟"), below=not above)


def _limit(element: Element) -> str:
    base, limit = _part(element, "e"), _part(element, "lim")
    return latex.scripts(base, limit) if local(element) == "limLow" else latex.scripts(base, "", limit)


def _function(element: Element) -> str:
    return latex.sequence([_part(element, "fName"), " ", _part(element, "e")])


def _phantom(element: Element) -> str:
    return _part(element, "e") if _property(element, "show", "1") not in _OFF else ""


_KINDS: Mapping[str, Callable[[Element], str]] = {
    "r": _run,
    "f": _fraction,
    "rad": _root,
    "sSup": _scripts,
    "sSub": _scripts,
    "sSubSup": _scripts,
    "sPre": _scripts,
    "nary": _large,
    "d": _fence,
    "m": _matrix,
    "eqArr": lambda element: _matrix(element, "aligned"),
    "acc": _accent,
    "bar": _bar,
    "groupChr": _brace,
    "limLow": _limit,
    "limUpp": _limit,
    "func": _function,
    "phant": _phantom,
}


def _part(element: Element, kind: str) -> str:
    return _inside(child(element, kind))


def _property(element: Element, kind: str, default: str = "") -> str:
    """The value of a property; `default` if it is missing."""
    setting = child(child(element, f"{local(element)}Pr"), kind)
    return default if setting is None else attribute(setting, "val") or ""


def _is_on(element: Element, kind: str) -> bool:
    """Whether a property is on, also without a value."""
    return (_property(element, kind, "0") or "1") not in _OFF
