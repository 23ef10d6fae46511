"""An abbreviation of a question in the words that the passages have for it: "HR" in "Human Resources"."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from ragcore.text.keywords import STOP_WORDS

OFTEN = 2  # times that words have to be said for what begins like them, unless each begins with a capital

_SHORT = re.compile(r"\b[A-Z]{2,5}\b")
# Not "it", "who" and "un", as these may be names.
_STRESSED = frozenset(
    """
    after all also and any are been being both but by can did do does doing each few for from had has have how if in into
    is more most must never no nor not of off on once only or other out over own same some such than that the their them
    then there these they this those to too under until very was were what when where which why will with would you your
    """.upper().split()
)


def spelt_out(question: str, texts: Iterable[str]) -> str:
    """With words of the texts in place of each abbreviation that is not in them, and is made of the words' first letters.

    Of several the ones that are said most often. Between three or more, "of", "and" and "for" may stand. A question that is all
    in capitals stays as it is, and so does a word that is said with stress: "NOT".
    """
    shorts = set(_SHORT.findall(question)) - _STRESSED if question != question.upper() else set()
    if not shorts:
        return question
    said = " ".join(" ".join(texts).split())
    for short in sorted(shorts):
        if not re.search(rf"\b{short}\b", said) and (words := _words_of(short, said)):
            question = re.sub(rf"\b{short}\b", words, question)
            question = re.sub(rf"\b({re.escape(words)}(?<=s)['’])s\b", r"\1", question)
    return question


def _words_of(short: str, said: str) -> str:
    """The words whose first letters it is, as they are written most often; "" where there are none."""
    between = "[ -](?:(?:of|and|for|&) )?" if len(short) > 2 else "[ -]"
    pattern = r"\b" + between.join(rf"{letter}[a-z’'-]+" for letter in short) + r"\b"
    written = Counter(re.findall(pattern, said, re.IGNORECASE))
    times: Counter[str] = Counter()
    for phrase, count in written.items():
        words = [word for word in re.split(r"[ -]", phrase) if word not in ("of", "and", "for", "&")]
        if not STOP_WORDS & {word.lower() for word in words}:
            times[phrase.lower()] += count + OFTEN * all(word[0].isupper() for word in words)
    best = max(times, key=lambda phrase: (times[phrase], phrase), default="")
    return (
        max((phrase for phrase in written if phrase.lower() == best), key=written.__getitem__) if times[best] >= OFTEN else ""
    )
