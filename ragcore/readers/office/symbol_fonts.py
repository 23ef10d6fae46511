"""The Unicode characters of the fonts Symbol and Wingdings. Word writes private characters instead, from
U+F000 upwards."""

from __future__ import annotations


def _table(text: str) -> dict[int, str]:
    words = text.split()
    return {int(code, 16): sign for code, sign in zip(words[::2], words[1::2], strict=True)}


_SYMBOL = {
    **dict(zip(range(0x41, 0x5B), "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ", strict=True)),
    **dict(zip(range(0x61, 0x7B), "αβχδεφγηιϕκλμνοπθρστυϖωξψζ", strict=True)),
    **dict(zip(range(0x30, 0x3A), "0123456789", strict=True)),
    **_table("""
    22 ∀ 24 ∃ 2B + 2D − 3C < 3D = 3E > A3 ≤ A5 ∞ AB ↔ AC ← AD ↑ AE → AF ↓ B0 ° B1 ± B2 ″ B3 ≥ B4 ×
    B5 ∝ B6 ∂ B7 • B8 ÷ B9 ≠ BA ≡ BB ≈ BC … C5 ⊕ C6 ∅ C7 ∩ C8 ∪ CC ⊂ CD ⊆ CE ∈ CF ∉ D1 ∇ D5 ∏ D6 √
    D7 ⋅ D8 ¬ D9 ∧ DA ∨ DB ⇔ DC ⇐ DE ⇒ E5 ∑ F2 ∫ A2 ′
    """),
}
_WINGDINGS = _table("6F ☐ A8 ☐ FB ✗ FC ✓ FD ☒ FE ☑ DF ← E0 → E1 ↑ E2 ↓")
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
