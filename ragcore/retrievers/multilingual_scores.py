"""Scaling of the multilingual embedder's cosines, so that they can be combined with scores of words.

They lie between 0.7 and 0.9, so that their differences would hardly count: the lowest of the candidates
becomes 0 and the highest 1. Words count less if passage and question are of different languages: they share
names and numbers, and in the same script words with another meaning.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from ragcore.schema import TextNode
from ragcore.text.language import language_of

OTHER_LANGUAGE_SHARE = (
    0.8  # of the cosine in the score, if a passage is in another language than the question
)
SAMPLE = 300  # characters of a passage from which its language is detected


def min_max(cosines: Mapping[str, float | None]) -> dict[str, float | None]:
    """0 for the lowest to 1 for the highest, and 1 where all are the same; None stays None."""
    known = [cosine for cosine in cosines.values() if cosine is not None]
    lowest, width = min(known, default=0.0), max(known, default=0.0) - min(known, default=0.0)
    return {
        id_: None if cosine is None else (cosine - lowest) / width if width else 1.0
        for id_, cosine in cosines.items()
    }


def in_other_languages(question: str, candidates: Iterable[TextNode]) -> set[str]:
    """The ids of passages whose language is known, and not that of the question. Empty if that is unknown."""
    own = language_of(question)
    if not own:
        return set()
    return {node.id_ for node in candidates if _language_of(node.text[:SAMPLE]) not in (own, "")}


_language_of = lru_cache(maxsize=10_000)(language_of)  # a search has a hundred candidates, often the same
