"""Correcting misspelt words of a question with the words of the passages that it retrieves."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from ragcore.embeddings.base import Embedder, TokenEmbedder
from ragcore.text.keywords import STOP_WORDS, stem
from ragcore.text.language import language_of

LANGUAGE = "en"  # the language of a TokenEmbedder's vocabulary

_WORD = re.compile(r"[^\W\d_]{4,}")


def correct_spelling(question: str, texts: Iterable[str], embedder: Embedder) -> str:
    """The question with each misspelt English word replaced by a word of the texts.

    A word is misspelt if neither the texts nor the embedder's vocabulary have it. The new word differs by one
    error, as four of five spelling errors do (Damerau 1964, https://doi.org/10.1145/363958.363994), and has
    the same first letter; of several it is the most frequent. Abbreviations do not change, and nothing does
    if the embedder has no vocabulary.
    """
    if not isinstance(embedder, TokenEmbedder):
        return question
    words = [
        word for word in _WORD.findall(question) if word[1:].islower() and word.lower() not in STOP_WORDS
    ]
    strange = [word for word in words if not embedder.knows(word)]
    if not strange:
        return question
    passages = " ".join(texts).lower()
    if (language_of(question) or language_of(passages)) != LANGUAGE:
        return question
    forms = Counter(_WORD.findall(passages))
    known = {stem(form) for form in forms}
    for word in strange:
        if stem(word.lower()) not in known and (
            near := [form for form in forms if _one_error(word.lower(), form)]
        ):
            correction = max(near, key=lambda form: (forms[form], form))
            question = re.sub(
                rf"\b{word}\b", correction.capitalize() if word[0].isupper() else correction, question
            )
    return question


def _one_error(word: str, other: str) -> bool:
    """Whether they differ after the first letter by one missing, added or different letter, or by the order
    of two."""
    if word[0] != other[0] or abs(len(word) - len(other)) > 1:
        return False
    begin = _common_prefix(word, other)
    word, other = word[begin:], other[begin:]
    end = _common_prefix(word[::-1], other[::-1])
    word, other = word[: len(word) - end], other[: len(other) - end]
    return max(len(word), len(other)) <= 1 or (len(word) == 2 and word == other[::-1])


def _common_prefix(word: str, other: str) -> int:
    """The number of equal letters at the beginning."""
    return next(
        (at for at, (one, two) in enumerate(zip(word, other, strict=False)) if one != two),
        min(len(word), len(other)),
    )
