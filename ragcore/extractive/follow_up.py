"""A follow-up message with what it is about in brackets: "How long does it take?" becomes "How long does it take? (bake cake)".

A message leans on what was said before where it begins as one that goes on ("and", "what about"), where it points at something
("it", "that one") before it has named much, or where it has hardly a word of its own. What it is about are the content words of
the last message that does not lean itself, question or not. Whoever reads the result counts what is in brackets for less.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from ragcore.extractive.small_talk import is_small_talk
from ragcore.extractive.summary_requests import is_summary_request, topic_of
from ragcore.schema import ChatMessage, MessageRole
from ragcore.text.keywords import content_words, words
from ragcore.text.language import language_of

ENOUGH = 6  # content words: so much is understood by itself
NAMED = 2  # content words before a pronoun, of which it may mean one
FEW = 4  # words: as many with only one of content are no sentence
MAX_CARRIED = 8  # words
UNSPACED = ("zh", "ja")

# By language, how a message begins that goes on, and the words by which it points at something.
_LEANING = {
    "en": (
        r"(?:and|but|or|what about|how about|(?:what|who|where|anything) else|any other|why not|how so)\b",
        r"\b(?:s?he|him|hers?|his|they|them|theirs?|its|it(?! \w+ (?:to|that|for)\b)|this|these|those|(?<=[st] )that"
        r"|that (?:one|time|year|place|person)|the (?:former|latter|same|others?))\b"
        r"|\b(?:that|there|ones?|the (?:first|second|third|last))\b(?=\W*$)",
    ),
    "de": (
        r"(?:und|aber|oder|was ist mit|wie (?:ist|steht) es mit)\b",
        r"\b(?:er|sie|ihn|ihm|ihr\w*|seine?\w*|dort|davon|dazu|damit|dabei|diese\w?)\b|(?<!gibt )\bes\b|\bdas\b(?=\W*$)",
    ),
    "fr": (
        r"(?:et|mais|ou|qu['’]en est-il)\b",
        r"\b(?:elles?|(?<!y a-t-)ils?(?! y a\b)|eux|leurs?|celui-ci|celles?-ci|ceux-ci|cela|ça|y(?! a\b))\b",
    ),
    "es": (
        r"(?:y|e|pero|o|qué hay de)\b",
        r"\b(?:él|ell[ao]s?|sus?|es(?:t?o|[ea]|[oa]s)|allí)\b|[aei]rl[oae]s?\b",
    ),
    "zh": (r"那么?|还有|这|[它他她]", r"[它他她]|这[个些里]|那[个些里]"),
}
_PATTERNS = {
    language: (re.compile(rf"\W*(?:{opening})", re.IGNORECASE), re.compile(pointing, re.IGNORECASE))
    for language, (opening, pointing) in _LEANING.items()
}


def stand_alone(question: str, history: Sequence[ChatMessage]) -> str:
    """The question, and in brackets what it is about where it does not say so.

    >>> stand_alone("How long does it take?", [ChatMessage(MessageRole.USER, "I would like to bake a cake.")])
    'How long does it take? (like bake cake)'
    """
    said = [message.content for message in history if message.role is MessageRole.USER]
    asked = [each for each in said if each.strip() and not is_small_talk(each)]
    if not asked or not leans_on_context(question):
        return question
    before = next((each for each in reversed(asked) if not leans_on_context(each)), asked[0])
    carried = _carried(topic_of(before) if is_summary_request(before) else before, question)
    return f"{question.rstrip()} ({carried})" if carried else question


def without_carried(question: str) -> str:
    """The question as it was typed, without what `stand_alone` put behind it.

    >>> without_carried("How long does it take? (like bake cake)")
    'How long does it take?'
    """
    return _CARRIED.sub("", question)


def leans_on_context(question: str) -> bool:
    """Whether it is understood only after what was said before."""
    return bool(_leaning(question))


def _leaning(question: str) -> Literal["goes on", "points", "scrap", ""]:
    """In which way it leans; "IT" does not point at anything in a text that is not all in capitals."""
    own, language = _size(question), language_of(question)
    if own >= ENOUGH:
        return ""
    for opening, pointing in [_PATTERNS[language]] if language in _PATTERNS else _PATTERNS.values():
        if opening.match(question):
            return "goes on"
        found = next((each for each in pointing.finditer(question) if question.isupper() or not each[0].isupper()), None)
        if found and (own <= NAMED or _size(question[: found.start()]) < NAMED):
            return "points"
    return "scrap" if own == 0 or (own == 1 and len(words(question)) <= FEW) else ""


def _size(text: str) -> float:
    """In content words; half of them where these are pairs of characters, as nothing stands between words."""
    return len(content_words(text)) / (2 if language_of(text) in UNSPACED else 1)


def _carried(before: str, question: str) -> str:
    """The words of the earlier message that carry meaning, less those that the question has; where it points at something, only
    names, if there are any. A new year replaces the old."""
    if language_of(before) in UNSPACED:
        return before.strip(" ?？。")
    own, dated = set(content_words(question)), any(char.isdigit() for char in question)
    found = [word for word in _WORD.findall(before) if not (dated and word[0].isdigit())]
    if _leaning(question) == "points":
        found = [word for word in _NAME.findall(before) if content_words(word)] or found
    new = [word for word in found if (meant := set(content_words(word))) and not meant <= own]
    return " ".join(dict.fromkeys(new[:MAX_CARRIED]))


_CARRIED = re.compile(r"\s*\([^()]+\)\W*$")
_WORD = re.compile(r"[\w'’&.-]*\w")
_CAPITALISED = r"[^\W\d_a-zà-ÿ][\w'’&.-]*\w"
_NAME = re.compile(rf"(?<=\S ){_CAPITALISED}|^{_CAPITALISED}(?= {_CAPITALISED})")  # not what has its capital from its place
