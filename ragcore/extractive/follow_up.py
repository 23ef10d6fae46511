"""A follow-up message with its topic in brackets: "How long does it take? (bake cake)".

"And Elm?" after "How many seats does Cedar have?" has a name in place of another one, and becomes "How many
seats does Elm have?". Any other message gets its topic in brackets.

A message depends on earlier ones if it begins with "and" or "what about", if it has "it" or "that one" with
few content words before it, or if it has hardly any content words. Its topic is the content words of the last
message that does not depend on others. The reader gives less weight to the words in brackets.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from ragcore.extractive.identifiers import identifiers
from ragcore.extractive.small_talk import is_small_talk
from ragcore.extractive.summary_requests import is_summary_request, topic_of
from ragcore.schema import ChatMessage, MessageRole
from ragcore.text.keywords import content_words, words
from ragcore.text.language import language_of
from ragcore.text.turns import question_words

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
    questions = _questions(history)
    if not questions or not depends_on_context(question):
        return question
    before, pointing, _ = _understand(questions)
    if replaced := _replace_name(question, before):
        return replaced[0]
    if pointing and _names_owner(question):
        before = pointing  # "And of the bridge?" after "Who was its keeper?" is about a keeper
    topic = _topic_words(topic_of(before) if is_summary_request(before) else before, question)
    return f"{question.rstrip()} ({topic})" if topic else question


def names_compared(history: Sequence[ChatMessage]) -> tuple[str, list[str]]:
    """The last question, and the names that took each other's place in it or before it.

    >>> asked = ["How many seats does Cedar have?", "And Elm?"]
    >>> names_compared([ChatMessage(MessageRole.USER, question) for question in asked])
    ('How many seats does Elm have?', ['Cedar', 'Elm'])
    """
    question, pointing, names = _understand(_questions(history))
    return pointing or question, names


def remove_topic(question: str) -> str:
    """The question without the words that `add_topic` added.

    >>> remove_topic("How long does it take? (like bake cake)")
    'How long does it take?'
    """
    return _TOPIC.sub("", question)


def _questions(history: Sequence[ChatMessage]) -> list[str]:
    messages = [message.content for message in history if message.role is MessageRole.USER]
    return [message for message in messages if message.strip() and not is_small_talk(message)]


def _understand(questions: Sequence[str]) -> tuple[str, str, list[str]]:
    """The last question that depends on no other, with the last name in place of another one; the last
    question with a pronoun after it, or ""; and the names, in the order in which they took each other's
    place."""
    alone, pointing, names = (questions or [""])[0], "", list[str]()
    for question in questions:
        if not depends_on_context(question):
            alone, pointing, names = question, "", []
        elif replaced := _replace_name(question, alone):
            alone, old, new = replaced
            names = [*(names or [old]), new]
        elif _dependence(question) == "points":
            pointing = question
    return alone, pointing, names


def _replace_name(question: str, before: str) -> tuple[str, str, str] | None:
    """The earlier question with the name or number of this one in place of its own, and both; None if the
    question is more than that, or if it is unclear what it replaces."""
    if number := _NUMBER_ALONE.fullmatch(question):
        numbers, new = identifiers(before), number["number"]
        if len(numbers) != 1 or numbers[0] == new:
            return None
        return before.replace(numbers[0], new, 1), numbers[0], new
    match = _NAME_ALONE.fullmatch(question)
    if match is None or question_words(match["name"]):
        return None
    names = [name for name in _NAMES.finditer(before) if not _AFTER_ARTICLE.search(before[: name.start()])]
    if match["preposition"]:
        names = [name for name in names if before[: name.start()].endswith(f" {match['preposition']} ")]
    if len(names) != 1 or names[0][0] == match["name"]:
        return None
    (name,) = names
    return before[: name.start()] + match["name"] + before[name.end() :], name[0], match["name"]


def _names_owner(question: str) -> bool:
    """Whether it is only what the pronoun of the question before stands for: "And of the bridge?"."""
    return _OWNER.match(question) is not None and _size(question) <= MIN_BEFORE_PRONOUN


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
_SEVERAL = rf"{_CAPITALISED}(?: {_CAPITALISED})*"
_LATIN = r"[A-Z][A-Za-z\d-]+(?: [A-Z][A-Za-z\d-]+)*"
_NAMES = re.compile(rf"(?<=[^\W\d_] ){_SEVERAL}|{_LATIN}(?=[\u3400-\u9fff])")
_OPENING = r"and|or|und|oder|et|ou|y|o|e|what about|how about|was ist mit|qu['’]en est-il de|qué hay de"
_NAME_ALONE = re.compile(
    rf"\W*(?:(?i:{_OPENING})\s+(?:(?P<preposition>[a-zà-ÿ]{{1,5}}) )?|那么?\s*|(?=.*呢))"
    rf"(?P<name>{_LATIN}(?=\s*呢)|{_SEVERAL})\s*呢?\W*"
)
_NUMBER_ALONE = re.compile(rf"\W*(?:(?i:{_OPENING})\s+|那么?\s*|(?=.*呢))(?P<number>\d[\d./-]*)\s*呢?\W*")
_OWNER = re.compile(
    rf"\W*(?:{_OPENING})\s+(?:of|for|in|at|from|von|vom|bei|beim|für|im|de|du|des|pour|à|au|del|para|en)\s",
    re.IGNORECASE,
)
_AFTER_ARTICLE = re.compile(  # in German all nouns have a capital
    r"\b(?:the|der|die|das|de[nms]|eine?[nmrs]?|keine?[nmrs]?|viele?|welche[nmrs]?|jede[nmrs]?|im|am|zu[mr]"
    r"|pro) $",
    re.IGNORECASE,
)
# not the first of small words
_NAME = re.compile(rf"(?<=\S ){_CAPITALISED}|^{_CAPITALISED}(?= {_CAPITALISED})")
