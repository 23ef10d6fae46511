"""The language of a text, by its script, and for Latin letters by the commonest words of each language."""

from __future__ import annotations

import re
from collections import Counter

_SCRIPTS = {
    "ja": r"[\u3040-\u30ff]",  # before Chinese: Japanese has its characters too
    "zh": r"[\u3400-\u9fff]",
    "ko": r"[\uac00-\ud7af]",
    "ru": r"[\u0400-\u04ff]",
    "el": r"[\u0370-\u03ff]",
    "he": r"[\u0590-\u05ff]",
    "ar": r"[\u0600-\u06ff]",
    "hi": r"[\u0900-\u097f]",
    "th": r"[\u0e00-\u0e7f]",
}
MIN_SHARE = 0.2  # least share of the letters of a script for its language
MAX_ACCENTED = 0.025  # largest share of letters outside ASCII in English
SAMPLE_CHARS = 20_000  # characters at the beginning of a text that decide
_LETTER = re.compile(r"[^\W\d_]")
_SMALL_WORDS = {
    "en": (
        "the of and to is was that with for what who when where which how did does do are were it by "
        "from this has have been"
    ),
    "de": "der die das und ist den von mit nicht auf wer wie was wann wo warum ein eine einer einem dem "
    "des im zu wurde war viel viele gibt ich wir für kann bei",
    "fr": "le la les et des est du dans une que pour qui quand où comment pourquoi quel quelle au aux sur "
    "par il elle ce cette combien je nous vous",
    "es": "el los las y del es en una que por con quién qué cuándo dónde cómo cuál cuántos se su al lo "
    "fue para como cuánto cuánta cuántas hay",
    "it": (
        "il lo gli e di che è per una con chi quando dove come perché quale della del nel sono alla si da non"
    ),
    "pt": (
        "o os as e do da que é em uma por com quem quando onde como qual quantos não ao na no foi para se um"
    ),
    "nl": "de het een en van is dat met voor wie wat wanneer waar hoe waarom welke op te zijn werd niet "
    "aan door hoeveel ik wij kan bij",
}
SMALL_WORDS = {language: frozenset(words.split()) for language, words in _SMALL_WORDS.items()}
"""The commonest words of each language."""


def is_foreign(text: str) -> bool:
    """Whether the beginning is clearly in another language than English, even in one that `language_of` does
    not know. False for a table of numbers, say."""
    sample = text[:SAMPLE_CHARS]
    letters = _LETTER.findall(sample)
    if sum(not letter.isascii() for letter in letters) > MAX_ACCENTED * len(letters):
        return True
    return language_of(sample) not in ("en", "")


def language_of(text: str) -> str:
    """The ISO 639-1 code; "" if it is unclear. A script of several languages gives its commonest.

    >>> language_of("Wann wurde die Brücke gebaut?")
    'de'
    """
    letters = len(_LETTER.findall(text))
    for language, script in _SCRIPTS.items():
        if letters and len(re.findall(script, text)) >= MIN_SHARE * letters:
            return language
    counts = Counter(re.findall(r"[^\W\d_]+", text.lower()))
    votes = {language: sum(counts[word] for word in known) for language, known in SMALL_WORDS.items()}
    first, second = sorted(votes.values(), reverse=True)[:2]
    return max(votes, key=lambda language: votes[language]) if first > second else ""
