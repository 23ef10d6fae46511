"""A follow-up message with its topic in brackets: "How long does it take? (bake cake)".

A message depends on earlier ones if it begins with "and" or "what about", if it has "it" or "that one" with
few content words before it, or if it has hardly any content words. Its topic is the content words of the last
message that does not depend on others. The reader gives less weight to the words in brackets.
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

SELF_CONTAINED = 6  # content words; a message of so many does not depend on others
MIN_BEFORE_PRONOUN = 2  # content words before a pronoun; with so many, it may refer to them
FRAGMENT_WORDS = 4  # words; a message of so many with one content word is no sentence
MAX_TOPIC = 8  # words in brackets
UNSPACED = ("zh", "ja")

# By language, the beginnings of a message that continues an earlier one, and the words that refer to
# something.
_DEPENDENCE = {
    "en": (
        r"(?:and|but|or|what about|how about|(?:what|who|where|anything) else|any other|why not|how so)\b",
        r"\b(?:s?he|him|hers?|his|they|them|theirs?|its|it(?! \w+ (?:to|that|for)\b)|this|these|those"
        r"|(?<=[st] )that|that (?:one|time|year|place|person)|the (?:former|latter|same|others?))\b"
        r"|\b(?:that|there|ones?|the (?:first|second|third|last))\b(?=\W*$)",
    ),
    "de": (
        r"(?:und|aber|oder|was ist mit|wie (?:ist|steht) es mit)\b",
        (
            r"\b(?:er|sie|ihn|ihm|ihr\w*|seine?\w*|dort|davon|dazu|damit|dabei|diese\w?)\b|(?<!gibt )\bes\b"
            r"|\bdas\b(?=\W*$)"
        ),
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
    for language, (opening, pointing) in _DEPENDENCE.items()
}


def add_topic(question: str, history: Sequence[ChatMessage]) -> str:
    """The question, with its topic in brackets if it depends on earlier messages.

    >>> add_topic("How long does it take?", [ChatMessage(MessageRole.USER, "I would like to bake a cake.")])
    'How long does it take? (like bake cake)'
    """
    messages = [message.content for message in history if message.role is MessageRole.USER]
    questions = [each for each in messages if each.strip() and not is_small_talk(each)]
    if not questions or not depends_on_context(question):
        return question
    before = next((each for each in reversed(questions) if not depends_on_context(each)), questions[0])
    topic = _topic_words(topic_of(before) if is_summary_request(before) else before, question)
    return f"{question.rstrip()} ({topic})" if topic else question


def remove_topic(question: str) -> str:
    """The question without the words that `add_topic` added.

    >>> remove_topic("How long does it take? (like bake cake)")
    'How long does it take?'
    """
    return _TOPIC.sub("", question)


def depends_on_context(question: str) -> bool:
    """Whether the message can be understood only with earlier ones."""
    return bool(_dependence(question))


def _dependence(question: str) -> Literal["goes on", "points", "scrap", ""]:
    """The way in which the question depends on earlier messages. "IT" is no pronoun, except in a text in
    capitals."""
    own, language = _size(question), language_of(question)
    if own >= SELF_CONTAINED:
        return ""
    for opening, pointing in [_PATTERNS[language]] if language in _PATTERNS else _PATTERNS.values():
        if opening.match(question):
            return "goes on"
        pronoun = next(
            (each for each in pointing.finditer(question) if question.isupper() or not each[0].isupper()),
            None,
        )
        if pronoun and (own <= MIN_BEFORE_PRONOUN or _size(question[: pronoun.start()]) < MIN_BEFORE_PRONOUN):
            return "points"
    return "scrap" if own == 0 or (own == 1 and len(words(question)) <= FRAGMENT_WORDS) else ""


def _size(text: str) -> float:
    """The number of content words. Pairs of characters, in scripts without spaces, count half."""
    return len(content_words(text)) / (2 if language_of(text) in UNSPACED else 1)


def _topic_words(before: str, question: str) -> str:
    """The content words of the earlier message that the question lacks. If the question has a pronoun, only
    its names, if there are any. A new year replaces the old one."""
    if language_of(before) in UNSPACED:
        return before.strip(" ?？。")
    own, has_number = set(content_words(question)), any(char.isdigit() for char in question)
    topic = [word for word in _WORD.findall(before) if not (has_number and word[0].isdigit())]
    if _dependence(question) == "points":
        topic = [word for word in _NAME.findall(before) if content_words(word)] or topic
    new = [word for word in topic if (stems := set(content_words(word))) and not stems <= own]
    return " ".join(dict.fromkeys(new[:MAX_TOPIC]))


_TOPIC = re.compile(r"\s*\([^()]+\)\W*$")
_WORD = re.compile(r"[\w'’&.-]*\w")
_CAPITALISED = r"[^\W\d_a-zà-ÿ][\w'’&.-]*\w"
# not the first of small words
_NAME = re.compile(rf"(?<=\S ){_CAPITALISED}|^{_CAPITALISED}(?= {_CAPITALISED})")
