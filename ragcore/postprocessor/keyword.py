"""Filters passages by words in them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from ragcore.postprocessor.base import BaseNodePostprocessor
from ragcore.schema import NodeWithScore, QueryBundle

_WITHOUT_SPACES = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "THAI", "LAO", "MYANMAR", "KHMER")


class KeywordNodePostprocessor(BaseNodePostprocessor):
    """Only passages with at least one of `required_keywords`, if there are any, and none of
    `exclude_keywords`.

    A keyword is one word or several in a row, in any language and in any case. It must be whole words, except
    in scripts without spaces. ValueError for a text instead of a list of keywords.

    >>> from ragcore.schema import TextNode
    >>> hits = [NodeWithScore(TextNode("A red boat.")), NodeWithScore(TextNode("A green tree."))]
    >>> [hit.text for hit in KeywordNodePostprocessor(required_keywords=["boat"]).postprocess_nodes(hits)]
    ['A red boat.']
    """

    def __init__(self, required_keywords: Sequence[str] = (), exclude_keywords: Sequence[str] = ()) -> None:
        self._required = _any_of(required_keywords)
        self._excluded = _any_of(exclude_keywords)

    def _postprocess_nodes(
        self, nodes: Sequence[NodeWithScore], query_bundle: QueryBundle | None
    ) -> list[NodeWithScore]:
        texts = [_fold(hit.text) for hit in nodes]
        return [
            hit
            for hit, text in zip(nodes, texts, strict=True)
            if (self._required is None or self._required.search(text))
            and not (self._excluded is not None and self._excluded.search(text))
        ]


def _any_of(keywords: Sequence[str]) -> re.Pattern[str] | None:
    if isinstance(keywords, str):
        raise ValueError(f"a list of keywords is needed, not the text {keywords!r}")
    folded = [_fold(keyword).strip() for keyword in keywords]
    return re.compile("|".join(_pattern(keyword) for keyword in folded if keyword)) if any(folded) else None


def _pattern(keyword: str) -> str:
    before = r"(?<!\w)" if _is_spaced(keyword[0]) else ""
    after = r"(?!\w)" if _is_spaced(keyword[-1]) else ""
    return before + r"\s+".join(re.escape(word) for word in keyword.split()) + after


def _is_spaced(sign: str) -> bool:
    """Whether it is a letter or digit of a script that writes spaces between words."""
    return sign.isalnum() and not unicodedata.name(sign, "").startswith(_WITHOUT_SPACES)


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
