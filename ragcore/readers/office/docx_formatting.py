"""What a Word document's formatting means for its text: raised and struck letters and hidden text (ECMA-376
part 1, 17.3.2 and 17.7), paragraphs that continue in the next one, such as drop caps (17.3.1.11), and fields
that draw text (17.16.5.20).
"""

from __future__ import annotations

import re

from ragcore.readers import typography
from ragcore.readers.blocks import Run
from ragcore.readers.office.package import Element
from ragcore.readers.typography import Effects
from ragcore.readers.web.safe_xml import attribute, child, children, local, properties

RAISED_FROM = 6  # half points above the line; letters with a smaller shift are not raised
_OFF = frozenset({"0", "off", "false", "none"})
_MARKED = ("vertAlign", "strike", "dstrike", "vanish", "specVanish", "position")

_FRACTION = re.compile(r"EQ \\f\s?\(([^(),;]+)[,;]([^(),;]+)\)", re.I)
_READING = re.compile(
    r"EQ (?:\\\* \S+ )*(?:\\\* \"[^\"]*\" )?(?:\\\* \S+ )*\\o\s?(?:\\a[cdlr])?\s?\(\\s\\up "
    r"\d+\(([^()]+)\)[,;]([^()]+)\)",
    re.I,
)


class RunEffects:
    """The effects of runs. `styles` is the root of that part of a file."""

    def __init__(self, styles: Element | None) -> None:
        self._styles = {attribute(style, "styleId") or "": style for style in children(styles, "style")}
        self._effects: dict[str, Effects] = {}
        self._default = next(
            (
                identity
                for identity, style in self._styles.items()
                if attribute(style, "default") in ("1", "true") and attribute(style, "type") == "paragraph"
            ),
            "",
        )

    def of(self, run: Element, paragraph: Element) -> Effects:
        """A run's own effects override those of its style and of its paragraph's style (17.7.3)."""
        outer = self._of_style(read_setting(properties(paragraph, "pPr"), "pStyle") or self._default)
        of_run = properties(run, "rPr")
        if of_run is None:
            return outer
        direct = _effects(of_run)
        letters = self._of_style(read_setting(of_run, "rStyle"))
        return Effects(
            direct.over(letters).over(outer).shift,
            direct.struck if direct.struck is not None else bool(letters.struck) != bool(outer.struck),
            direct.hidden if direct.hidden is not None else bool(letters.hidden) != bool(outer.hidden),
        )

    def _of_style(self, identity: str | None) -> Effects:
        """The effects of a style, with those of the styles that it is based on."""
        chain: list[str] = []
        while identity and identity not in self._effects:
            self._effects[identity] = Effects()  # ends a circle of styles
            chain.append(identity)
            identity = read_setting(self._styles.get(identity), "basedOn")
        effects = self._effects[identity] if identity else Effects()
        for each in reversed(chain):
            effects = self._effects[each] = _effects(child(self._styles.get(each), "rPr")).over(effects)
        return effects


def read_setting(element: Element | None, kind: str) -> str:
    return attribute(child(element, kind), "val") or ""


def continues(paragraph: Element) -> bool:
    """Whether the paragraph continues in the next one: a drop cap, or its mark is hidden or deleted."""
    of_paragraph = properties(paragraph, "pPr")
    if of_paragraph is None:
        return False
    frame = child(of_paragraph, "framePr")
    if frame is not None and (attribute(frame, "dropCap") or "none") != "none":
        return True
    marks = children(child(of_paragraph, "rPr"), "vanish", "specVanish", "del")
    return any((attribute(mark, "val") or "") not in _OFF for mark in marks)


def field_result(code: str, effects: Effects) -> Run | None:
    """The fraction, or the word with its reading, that a field draws from its code; None for other fields."""
    if fraction := _FRACTION.fullmatch(code):
        return Run(f"{fraction[1].strip()}/{fraction[2].strip()}", effects)
    if reading := _READING.fullmatch(code):
        return Run(reading[2], effects, reading[1])
    return None


def _effects(element: Element | None) -> Effects:
    shift: str | None = None
    struck: bool | None = None
    hidden: bool | None = None
    for each in children(element, *_MARKED):
        kind, value = local(each), attribute(each, "val") or ""
        if kind == "vertAlign":
            shift = {"superscript": typography.RAISED, "subscript": typography.LOWERED}.get(value, "")
        elif kind == "position" and not shift:
            height = int(value) if value.lstrip("-").isdecimal() else 0
            shift = (
                "" if abs(height) < RAISED_FROM else typography.RAISED if height > 0 else typography.LOWERED
            )
        elif kind in ("strike", "dstrike"):
            struck = bool(struck) or value not in _OFF
        elif kind in ("vanish", "specVanish"):
            hidden = bool(hidden) or value not in _OFF
    return Effects(shift, struck, hidden)
