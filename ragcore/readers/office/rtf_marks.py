r"""Writes marks of `typography` into Rich Text Format (1.9.1), as striprtf ignores formatting: `10{\super 6}`, `{\strike 30}`.

Hidden text is removed, and the numbers of lists, which are in separate groups, become text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragcore.readers import typography
from ragcore.readers.typography import LOWERED, RAISED, STRUCK, Effects

_NEEDED = re.compile(r"\\(?:super|sub|strike|striked1|v|up\d+|dn\d+|footnote|annotation|header[lrf]?|footer[lrf]?)(?![a-z])")
_LIST_TEXT = re.compile(r"\{\\(?:listtext|pntext)(?![a-z]) ?")
_STARRED = re.compile(r"\{\\\*\s*(?=\\annotation(?![a-z]))")
_NOTES = {"footnote": (" [", "]"), "annotation": (" [Comment: ", "]")}
_MARGINS = frozenset({"header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf"})
_TOKEN = re.compile(r"\\([a-z]{1,32})(-?\d{1,10})? ?|\\'[0-9a-f]{2}|\\.|[{}]|[^\\{}]+", re.I | re.S)
_NOT_TEXT = frozenset(
    {"fonttbl", "colortbl", "stylesheet", "info", "pict", "fldinst", "listtable", "listoverridetable", "themedata"}
)
_SHIFTS = {"super": RAISED, "sub": LOWERED, "nosupersub": "", "up": RAISED, "dn": LOWERED}


def with_marks(rtf: str) -> tuple[str, int]:
    """The document with marks and without hidden text, and how many pieces of text were hidden."""
    rtf = _STARRED.sub("{", _LIST_TEXT.sub("{", rtf))
    if not _NEEDED.search(rtf):
        return rtf, 0
    hidden: list[str] = []
    return "".join(_pieces(rtf, hidden)), len(hidden)


def _pieces(rtf: str, hidden: list[str]) -> Iterator[str]:
    stack: list[tuple[Effects, bool, str]] = []
    after = ""  # what closes the group of a note, a header or a footer
    effects, skipped = Effects(), False
    end = ""  # what closes a character that is written as a number, after its replacement
    for match in _TOKEN.finditer(rtf):
        token, word = match[0], (match[1] or "").lower()
        is_text = not word and token[0] not in "{}" and token != "\\*"
        if end:
            if is_text and token[0] != "\\":
                yield token[0]
                token = token[1:]
            yield end
            end = ""
        if token == "{":
            stack.append((effects, skipped, after))
            after = ""
        elif token == "}" and stack:
            yield after
            effects, skipped, after = stack.pop()
        elif not skipped and (word in _NOTES or word in _MARGINS):
            token, after = _NOTES.get(word, ("", "\\par "))
            effects = Effects()
        skipped = skipped or token == "\\*" or word in _NOT_TEXT
        effects = _apply(effects, word, match[2] or "")
        if skipped or not (is_text or word == "u") or not any(effects) or not token.strip():
            yield token
        elif effects.hidden:
            hidden += [token] if any(map(str.isalnum, token)) and not word else []
        else:
            begin, closing = _around(effects)
            yield begin + token
            if word == "u":
                end = closing
            else:
                yield closing


def _apply(effects: Effects, word: str, number: str) -> Effects:
    if word == "plain":
        return Effects()
    if word in _SHIFTS:
        return effects._replace(shift="" if number == "0" else _SHIFTS[word])
    if word in ("strike", "striked"):
        return effects._replace(struck=number != "0")
    return effects._replace(hidden=number != "0") if word == "v" else effects


def _around(effects: Effects) -> tuple[str, str]:
    kinds = [kind for kind in (STRUCK if effects.struck else "", effects.shift) if kind]
    pairs = [typography.around(kind) for kind in kinds]
    begin, end = "".join(first for first, _ in pairs), "".join(last for _, last in reversed(pairs))
    return _escape(begin), _escape(end)


def _escape(marks: str) -> str:
    return "".join(f"\\u{ord(mark) - 0x10000}?" for mark in marks)
