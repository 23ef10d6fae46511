"""Writes the meaning of a Word document's formatting into its text before that is read: raised and struck
letters, hidden text (ECMA-376 part 1, 17.3.2 and 17.7), drop caps (17.3.1.11), phonetic readings, equations,
deleted rows and paragraph marks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragcore.readers import typography
from ragcore.readers.office import omml
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


class Formatting:
    """Writes formatting into text. `styles` is the root of that part of a file."""

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

    def write(self, root: Element) -> int:
        """Change the text below `root` to what Word shows. Returns the number of runs that it hides."""
        space = _namespace(root)
        _write_equations_and_readings(root, space)
        _write_fields(root, space)
        _remove_deleted_rows(root, space)
        hidden = 0
        for run, effects in list(self._runs(root, space)):
            if effects.hidden:
                hidden += any(local(node) == "t" and (node.text or "").strip() for node in run.iter())
                _remove(run)
            else:
                _mark(run, effects)
        # reversed, so that no run moves over several paragraphs
        for paragraph in reversed(_paragraphs_to_join(root, space)):
            _join_with_next(paragraph)
        return hidden

    def _runs(self, root: Element, space: str) -> Iterator[tuple[Element, Effects]]:
        """The runs with effects. A run's own effects override those of its style and of its paragraph's style
        (17.7.3)."""
        for run in root.iter(f"{space}r"):
            of_run = properties(run, "rPr")
            own = _effects(of_run)
            letters = self._of_style(read_setting(of_run, "rStyle"))
            outer = next(run.iterancestors(f"{space}p"), None)
            paragraph = self._of_style(read_setting(properties(outer, "pPr"), "pStyle") or self._default)
            effects = Effects(
                own.over(letters).over(paragraph).shift,
                own.struck if own.struck is not None else bool(letters.struck) != bool(paragraph.struck),
                own.hidden if own.hidden is not None else bool(letters.hidden) != bool(paragraph.hidden),
            )
            if any(effects):
                yield run, effects

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


def new_run(near: Element, text: str) -> Element:
    """A run of text in the document of `near`, with breaks between its lines."""
    space = _namespace(near)
    run = near.makeelement(f"{space}r", {}, None)
    for number, line in enumerate(text.split("\n")):
        if number:
            run.append(near.makeelement(f"{space}br", {}, None))
        run.append(_new_text(near, space, line))
    return run


def _new_text(near: Element, space: str, text: str) -> Element:
    words = near.makeelement(f"{space}t", {}, None)
    words.text = text
    return words


def _namespace(element: Element) -> str:
    return str(element.tag).rpartition("}")[0] + "}"


def read_setting(element: Element | None, kind: str) -> str:
    return attribute(child(element, kind), "val") or ""


def _paragraphs_to_join(root: Element, space: str) -> list[Element]:
    """The paragraphs that continue in the next one: a drop cap, and those whose mark is hidden or deleted."""
    frames = root.iter(f"{space}framePr")
    of_paragraphs = [
        frame.getparent() for frame in frames if (attribute(frame, "dropCap") or "none") != "none"
    ]
    for each in root.iter(f"{space}vanish", f"{space}specVanish", f"{space}del"):
        mark = each.getparent()
        of_paragraph = None if mark is None or local(mark) != "rPr" else mark.getparent()
        if (
            of_paragraph is not None
            and local(of_paragraph) == "pPr"
            and (attribute(each, "val") or "") not in _OFF
        ):
            of_paragraphs.append(of_paragraph)
    paragraphs = (None if each is None else each.getparent() for each in of_paragraphs)
    return [each for each in dict.fromkeys(paragraphs) if each is not None and local(each) == "p"]


def _join_with_next(paragraph: Element) -> None:
    following = paragraph.getnext()
    content = [each for each in paragraph if local(each) != "pPr"]
    if following is not None and following.tag == paragraph.tag:
        place = 1 if properties(following, "pPr") is not None else 0
        for each in reversed(content):
            following.insert(place, each)
        _remove(paragraph)
    elif not content:
        _remove(paragraph)


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


def _mark(run: Element, effects: Effects) -> None:
    for node in run:
        if local(node) == "t" and node.text:
            if effects.shift:
                node.text = typography.mark(effects.shift, node.text)
            if effects.struck:
                node.text = typography.mark(typography.STRUCK, node.text)


def _write_equations_and_readings(root: Element, space: str) -> None:
    for formula in list(root.iter("{*}oMathPara", "{*}oMath")):  # outer ones before inner ones
        _replace(formula, new_run(root, omml.equation(formula)))
    for element in list(root.iter(f"{space}ruby")):
        base, reading = (
            "".join(node.text or "" for part in children(element, kind) for node in part.iter(f"{space}t"))
            for kind in ("rubyBase", "rt")
        )
        _replace(element, _new_text(element, space, typography.ruby(base, reading)))


def _write_fields(root: Element, space: str) -> None:
    """Replace fields that draw fractions, or readings above words, from their own code (17.16.5.20)."""
    codes: list[Element] = []
    for node in list(root.iter(f"{space}instrText", f"{space}fldChar")):
        if local(node) == "instrText":
            codes.append(node)
            continue
        code = "".join(each.text or "" for each in codes).strip()
        if fraction := _FRACTION.fullmatch(code):
            _replace(codes[0], _new_text(root, space, f"{fraction[1].strip()}/{fraction[2].strip()}"))
        elif reading := _READING.fullmatch(code):
            _replace(codes[0], _new_text(root, space, typography.ruby(reading[2], reading[1])))
        codes = []


def _remove_deleted_rows(root: Element, space: str) -> None:
    for row in list(root.iter(f"{space}tr")):
        if row.find(f"{space}trPr/{space}del") is not None:
            _remove(row)


def _replace(old: Element, new: Element) -> None:
    parent = old.getparent()
    if parent is not None:
        parent.replace(old, new)


def _remove(element: Element) -> None:
    parent = element.getparent()
    if parent is not None:
        parent.remove(element)
