"""The elements of LaTeX for equations of Office (OMML) and of the web (MathML)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence


def _table(text: str) -> dict[str, str]:
    """From each sign to the name after it."""
    words = text.split()
    return dict(zip(words[::2], words[1::2], strict=True))


_SIGNS = _table("""
    α alpha β beta γ gamma δ delta ε varepsilon ζ zeta η eta θ theta ι iota κ kappa λ lambda μ mu ν nu ξ xi
    π pi ρ rho σ sigma τ tau υ upsilon φ varphi χ chi ψ psi ω omega Γ Gamma Δ Delta Θ Theta Λ Lambda Ξ Xi Π Pi
    Σ Sigma Υ Upsilon Φ Phi Ψ Psi Ω Omega ϵ epsilon ϑ vartheta ϕ phi ϱ varrho ϖ varpi
    ∑ sum ∏ prod ∐ coprod ∫ int ∬ iint ∭ iiint ∮ oint ⋃ bigcup ⋂ bigcap ⋁ bigvee ⋀ bigwedge ∞ infty ∂ partial
    ∇ nabla √ surd ± pm ∓ mp × times ÷ div ⋅ cdot · cdot ∗ ast ∘ circ ≤ le ≥ ge ≠ ne ≈ approx ≡ equiv ∼ sim
    ≃ simeq ≅ cong ∝ propto ≪ ll ≫ gg ∈ in ∉ notin ∋ ni ⊂ subset ⊃ supset ⊆ subseteq ⊇ supseteq ∪ cup ∩ cap
    ∅ emptyset ∀ forall ∃ exists ¬ neg ∧ wedge ∨ vee → to ← leftarrow ↔ leftrightarrow ⇒ Rightarrow
    ⇐ Leftarrow ⇔ Leftrightarrow ↦ mapsto ⊕ oplus ⊗ otimes ⊥ perp ∥ parallel ∠ angle … ldots ⋯ cdots ⋮ vdots
    ⋱ ddots ℏ hbar ℓ ell ℜ Re ℑ Im ℵ aleph ⟨ langle ⟩ rangle 〈 langle 〉 rangle ⌈ lceil ⌉ rceil ⌊ lfloor
    ⌋ rfloor ‖ Vert ′ prime ∴ therefore ° circ ⇌ rightleftharpoons ⊢ vdash ∖ setminus † dagger
""")
_COMMANDS = {sign: f"\\{name}" for sign, name in _SIGNS.items()} | {
    "″": "\\prime\\prime",
    "−": "-",
    "\u2061": "",
    "\u2062": "",
    "\u2063": "",
    "\u200b": "",
    "\xa0": " ",
    "{": "\\{",
    "}": "\\}",
    "%": "\\%",
    "#": "\\#",
    "&": "\\&",
    "$": "\\$",
    "_": "\\_",
    "\\": "\\backslash",
}
ACCENTS = _table("""
    ^ hat ˆ hat ~ tilde ˜ tilde ∼ tilde ¯ bar ˉ bar ‾ overline ― overline _ underline ˙ dot ¨ ddot ˇ check
    ˘ breve → vec ← overleftarrow ⏞ overbrace ⏟ underbrace ︷ overbrace ︸ underbrace ⎴ overline ⎵ underline
    \u0302 hat \u0303 tilde \u0304 bar \u0305 overline \u0332 underline \u0307 dot \u0308 ddot \u20db dddot
    \u030c check \u0306 breve \u20d7 vec \u20d6 overleftarrow \u0301 acute \u0300 grave
""")
_FUNCTIONS = (
    "Pr arccos arcsin arctan arg cos cosh cot coth csc deg det dim exp gcd hom "
    "inf ker lg lim liminf limsup ln log max min sec sin sinh sup tan tanh"
)
FUNCTIONS = frozenset(_FUNCTIONS.split())
_STRUCTURE = re.compile(r"[\\^_]")


def symbols(text: str) -> str:
    """Letters and signs with their LaTeX names."""
    out = ""
    for sign in text:
        # a letter of a mathematical alphabet, such as bold or italic
        if "\U0001d400" <= sign <= "\U0001d7ff" or sign == "ℎ":
            sign = unicodedata.normalize("NFKC", sign)
        if sign.isalpha() and re.search(r"\\[A-Za-z]+\Z", out):
            out += " "
        out += _COMMANDS.get(sign, sign)
    return out


def name(text: str) -> str:
    r"""A word: `\sin` for a function, `\mathrm{if}` for another word; a single letter is not changed."""
    if text in FUNCTIONS:
        return f"\\{text}"
    return (
        f"\\mathrm{{{symbols(text)}}}"
        if len(text) > 1 and text.isascii() and text.isalpha()
        else symbols(text)
    )


def sequence(parts: Iterable[str]) -> str:
    """Join the parts, with a blank between a command and a letter."""
    out = ""
    for part in filter(None, parts):
        if part[0].isalnum() and re.search(r"\\[A-Za-z]+\Z", out):
            out += " "
        out += part
    return out


def scripts(base: str, below: str = "", above: str = "") -> str:
    """`x_{1}^{2}`, without braces around a single sign."""
    if re.search(r"[\^_]", base) and not re.fullmatch(r"\{.*\}|\\left.*\\right.+", base, re.S):
        base = f"{{{base}}}"
    below = f"_{_group(below)}" if below else ""
    above = (
        "'" * above.count("\\prime")
        if above and not above.replace("\\prime", "")
        else f"^{_group(above)}"
        if above
        else ""
    )
    return f"{base or '{}'}{below}{above}"


def _group(text: str) -> str:
    return text if len(text) == 1 else f"{{{text}}}"


def fraction(above: str, below: str, *, barred: bool = True) -> str:
    return f"\\frac{{{above}}}{{{below}}}" if barred else f"\\binom{{{above}}}{{{below}}}"


def root(inner: str, degree: str = "") -> str:
    return f"\\sqrt[{degree}]{{{inner}}}" if degree else f"\\sqrt{{{inner}}}"


def accent(base: str, sign: str, *, below: bool = False) -> str:
    """A base with an accent, or with any other sign above or below it."""
    command = ACCENTS.get(sign.strip())
    if below and command in ("bar", "overline"):
        command = "underline"
    if command is None:
        return f"\\{'under' if below else 'over'}set{{{symbols(sign)}}}{{{base}}}"
    return f"\\{command}{{{base}}}"


def fence(parts: Sequence[str], opening: str = "(", closing: str = ")", separator: str = "|") -> str:
    r"""`\left( a, b \right)`; plain brackets around a single line."""
    inner = symbols(separator).join(parts)
    opening_sign, closing_sign = symbols(opening), symbols(closing)
    if opening_sign and closing_sign and not re.search(r"\\(?:frac|begin|sum|int|prod|sqrt|binom)", inner):
        return sequence([opening_sign, inner, closing_sign])
    return (
        f"\\left{opening_sign or '.'}{' ' if inner[:1].isalnum() else ''}{inner}\\right{closing_sign or '.'}"
    )


def matrix(rows: Iterable[Iterable[str]], kind: str = "matrix") -> str:
    return f"\\begin{{{kind}}}" + "\\\\".join("&".join(row) for row in rows) + f"\\end{{{kind}}}"


def equation(latex: str) -> str:
    r"""Between dollar signs if it needs LaTeX; an equation of plain signs, such as `v = 5`, is not
    changed."""
    latex = " ".join(latex.split())
    return f"${latex}$" if _STRUCTURE.search(latex) else latex
