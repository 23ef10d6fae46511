"""A question whose words are misspelt, as its author meant it: in the words of the passages that were found for it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from ragcore.embeddings.base import Embedder, TokenEmbedder
from ragcore.text.keywords import STOP_WORDS, stem
from ragcore.text.language import language_of

LANGUAGE = "en"  # that the vocabulary of a TokenEmbedder is made for

_WORD = re.compile(r"[^\W\d_]{4,}")


def as_meant(question: str, texts: Iterable[str], embedder: Embedder) -> str:
    """With a word of the texts in place of each English one that is neither in them nor in the embedder's vocabulary.

    The word is one slip away, as four of five misspelt ones are (Damerau 1964, https://doi.org/10.1145/363958.363994), and
    begins with the same letter; of several the one that is said most often. Abbreviations stay; so does the question where the
    embedder has no vocabulary.
    """
    if not isinstance(embedder, TokenEmbedder):
        return question
    words = [word for word in _WORD.findall(question) if word[1:].islower() and word.lower() not in STOP_WORDS]
    strange = [word for word in words if not embedder.knows(word)]
    if not strange:
        return question
    said = " ".join(texts).lower()
    if (language_of(question) or language_of(said)) != LANGUAGE:
        return question
    forms = Counter(_WORD.findall(said))
    known = {stem(form) for form in forms}
    for word in strange:
        if stem(word.lower()) not in known and (near := [form for form in forms if _one_slip(word.lower(), form)]):
            meant = max(near, key=lambda form: (forms[form], form))
            question = re.sub(rf"\b{word}\b", meant.capitalize() if word[0].isupper() else meant, question)
    return question


def _one_slip(word: str, other: str) -> bool:
    """Whether they differ, after the first letter, in one letter that is missing, added or another, or in the order of two."""
    if word[0] != other[0] or abs(len(word) - len(other)) > 1:
        return False
    begin = _shared(word, other)
    word, other = word[begin:], other[begin:]
    end = _shared(word[::-1], other[::-1])
    word, other = word[: len(word) - end], other[: len(other) - end]
    return max(len(word), len(other)) <= 1 or (len(word) == 2 and word == other[::-1])


def _shared(word: str, other: str) -> int:
    """How many letters they begin with alike."""
    return next((at for at, (one, two) in enumerate(zip(word, other, strict=False)) if one != two), min(len(word), len(other)))
