"""How cosines of the multilingual embedder are made to be mixed with scores of words.

They lie between 0.7 and 0.9, so that their differences would count for little beside those of words: the lowest of the
candidates becomes 0 and the highest 1. Words count less where passage and question are of different languages: what they share
there are names and numbers, and in the same script words that mean something else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from ragcore.schema import TextNode
from ragcore.text.language import language_of

OTHER_LANGUAGE_SHARE = 0.8  # of the cosine in the score, where a passage is in another language than the question
SAMPLE = 300  # characters of a passage that tell its language


def min_max(cosines: Mapping[str, float | None]) -> dict[str, float | None]:
    """0 for the lowest to 1 for the highest, and 1 where all are the same; None stays None."""
    known = [cosine for cosine in cosines.values() if cosine is not None]
    lowest, width = min(known, default=0.0), max(known, default=0.0) - min(known, default=0.0)
    return {id_: None if cosine is None else (cosine - lowest) / width if width else 1.0 for id_, cosine in cosines.items()}


def in_other_languages(question: str, candidates: Iterable[TextNode]) -> set[str]:
    """The ids of those whose language is known, and not that of the question. Empty where that is not known."""
    asked = language_of(question)
    if not asked:
        return set()
    return {node.id_ for node in candidates if _language_of(node.text[:SAMPLE]) not in (asked, "")}


_language_of = lru_cache(maxsize=10_000)(language_of)  # a search has a hundred candidates, often the same
