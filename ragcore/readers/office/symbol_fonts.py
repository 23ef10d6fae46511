"""The Unicode characters of the fonts Symbol and Wingdings. Word writes private characters instead, from
U+F000 upwards."""

from __future__ import annotations

_SYMBOL = {
    **dict(zip(range(0x41, 0x5B), "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ", strict=True)),
    **dict(zip(range(0x61, 0x7B), "αβχδεφγηιϕκλμνοπθρστυϖωξψζ", strict=True)),
    **dict(zip(range(0x30, 0x3A), "0123456789", strict=True)),
    **{0x22: "∀", 0x24: "∃", 0x2B: "+", 0x2D: "−", 0x3C: "<", 0x3D: "=", 0x3E: ">", 0xA3: "≤", 0xA5: "∞"},
    **{
        0xAB: "↔",
        0xAC: "←",
        0xAD: "↑",
        0xAE: "→",
        0xAF: "↓",
        0xB0: "°",
        0xB1: "±",
        0xB2: "″",
        0xB3: "≥",
        0xB4: "×",
    },
    **{
        0xB5: "∝",
        0xB6: "∂",
        0xB7: "•",
        0xB8: "÷",
        0xB9: "≠",
        0xBA: "≡",
        0xBB: "≈",
        0xBC: "…",
        0xC5: "⊕",
        0xC6: "∅",
    },
    **{
        0xC7: "∩",
        0xC8: "∪",
        0xCC: "⊂",
        0xCD: "⊆",
        0xCE: "∈",
        0xCF: "∉",
        0xD1: "∇",
        0xD5: "∏",
        0xD6: "√",
        0xD7: "⋅",
    },
    **{0xD8: "¬", 0xD9: "∧", 0xDA: "∨", 0xDB: "⇔", 0xDC: "⇐", 0xDE: "⇒", 0xE5: "∑", 0xF2: "∫", 0xA2: "′"},
}
_WINGDINGS = {
    0x6F: "☐",
    0xA8: "☐",
    0xFB: "✗",
    0xFC: "✓",
    0xFD: "☒",
    0xFE: "☑",
    0xDF: "←",
    0xE0: "→",
    0xE1: "↑",
    0xE2: "↓",
}
_FONTS = {"symbol": _SYMBOL, "wingdings": _WINGDINGS}


def unicode_sign(code: int, font: str) -> str:
    """The character at `code` of `font`; "" for a private character of an unknown font.

    >>> unicode_sign(0xF06D, "Symbol")
    'μ'
    """
    signs = _FONTS.get(font.lower())
    if signs is not None and (0xF000 <= code <= 0xF0FF or code <= 0xFF):
        return signs.get(code & 0xFF, "")
    return "" if 0xE000 <= code <= 0xF8FF or code > 0x10FFFF else chr(code)
