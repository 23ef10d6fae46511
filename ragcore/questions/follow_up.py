"""A follow-up message made to stand alone: "When was it founded?" becomes "When was Northwind Health founded?".

Plain rules, the same result every time. A message that can be understood by itself is returned unchanged. Where the rules
do not know the words of a language, what the last question was about is added in brackets, which is what retrieval needs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragcore.questions.small_talk import is_small_talk
from ragcore.questions.summary_requests import is_summary_request, topic_of
from ragcore.schema import ChatMessage, MessageRole
from ragcore.text.keywords import STOP_WORDS, content_words

ENOUGH = 5  # content words: so much is understood even behind an "and"
MAX_CARRIED = 8  # words carried over when the last question names nothing


def stand_alone(question: str, history: Sequence[ChatMessage]) -> str:
    """The question with its subject, taken from the person's earlier messages. No content word of it is lost."""
    said = [message.content for message in history if message.role is MessageRole.USER]
    asked = [each for each in said if each.strip() and not is_small_talk(each)]
    if not asked or not leans_on_context(question):
        return question
    before = _last_that_stands(asked)
    if is_summary_request(before):
        before = topic_of(before)
    if pronoun := _first(_PRONOUN, question):
        name = _name_in(before)
        if name:
            return question[: pronoun.start()] + (_owner(name) if _owns(pronoun) else name) + question[pronoun.end() :]
    carried = _carried(before, question)
    return f"{question.rstrip()} ({carried})" if carried else question


def without_topic(question: str) -> str:
    """The question without what `stand_alone` added to it in brackets; as it is where it would say nothing without."""
    alone = _TOPIC.sub("", question)
    return alone if any(word.isalpha() for word in content_words(alone)) else question


def leans_on_context(question: str) -> bool:
    """Does it point at something said before: a pronoun with nothing to refer to, "and ...?", "what about ...?", a scrap?"""
    text = question.strip()
    if _COMPLETE.search(text):
        return False
    if _OPENING.search(text) and len(content_words(text)) < ENOUGH:
        return True
    pointing = _first(_POINTING, text)
    if pointing and not _NAMES.search(text[: pointing.start()].partition(" ")[2]):
        return True
    return len(content_words(text)) < 2 and len(_CJK.findall(text)) < 6


_TOPIC = re.compile(r" \([^()]+\)$")
_OPENING = re.compile(
    r"^\W*(?:and|but|or|so|then|also|what about|how about|what else|who else|where else|anything else|any other|why not|how so"
    r"|und|aber|oder|et|mais|ou|y|e|pero|o|那|那么|还有|它|他|她)\b|^(?:那|还有|它|他们|她|他|这)",
    re.IGNORECASE,
)
# "When is the dentist?", with a thing of its own; not "What is the population?", which is mostly that of something.
_THING = r"(?:the|my|our|your|an?) (?!same\b|other\b|first\b|next\b|last\b|\w+est\b|most\b|least\b|former\b|latter\b)[^\W\d_]+"
_COMPLETE = re.compile(
    r"^\W*(?:(?:when|where|how (?:much|high|long|big|old|far|often))(?:['’]s| is| are| was| were)|(?:is|are) there)"
    rf" {_THING}\W*$"
    r"|^\W*(?:wann|wo|wie (?:viel|hoch|lange?|groß|alt|weit|oft|teuer)) (?:ist|sind|war|waren)"
    r" (?:der|die|das|mein\w*|unser\w*|eine?) \w{3,}\W*$"
    r"|^\W*(?:quand|où|combien) (?:est|sont|était|étaient) (?:l[ae] |les |l['’]|mon |ma |mes |notre |nos )\w{3,}\W*$"
    r"|^\W*(?:cuándo|dónde|cuánto) (?:es|son|está|están|era|fue) (?:el|la|los|las|mi|mis|nuestr[oa]s?) \w{3,}\W*$",
    re.IGNORECASE,
)
_POINTING = re.compile(
    r"\b(?:he|she|they|him|them|his|hers?|theirs?|its|it(?! (?:true|possible|necessary))|this|these|those"
    r"|that(?=\s*(?:$|[?.!,]|(?:one|time|year|place|person|company|word)\b))|(?<=about )that|(?<=(?:is|do) )that|(?<=was )that"
    r"|there(?=\s*[?.!]|$)|ones?(?=\s*[?.!]|$)"
    r"|the (?:former|latter|same|others?|first|second|third|last)(?: one)?(?=\s*[?.!]|$)"
    r"|er|sie|ihn|ihm|ihr\w*|seine?\w*|dort|davon|dazu|damit|dieser?|dieses|diesem"
    r"|elle|elles|ils|eux|leurs?|celui-ci|celle-ci|ceux-ci|cela|ça"
    r"|él|ella|ellos|ellas|sus?|eso|esto|allí)\b|它|他们|他的|她|这个|那个|那里|这些|那些",
    re.IGNORECASE,
)
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_WORD = r"[^\W\d_a-zà-ÿ][\w'’&.-]*[\w]"  # begins with a capital letter
_NAMES = re.compile(rf"{_WORD}(?: (?:(?:of|the|and|de|la|von|van|der|du) )*(?:{_WORD}|\d+))*")
_QUESTION_WORD = re.compile(
    r"^(?:who|whom|whose|what|when|where|why|which|how|is|are|was|were|do|does|did|can|could|will|would|should|has|have|had|tell"
    r"|explain|describe|list|name|give|show|i|i'm|the|a|an|in|on|and|wer|was|wann|wo|warum|wie|welche\w*|ist|sind|qui|que|quand|où"
    r"|pourquoi|comment|combien|quel\w*|est|quién|qué|cuándo|dónde|cómo|cuál\w*|es)$",
    re.IGNORECASE,
)


def _first(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """The first that is no abbreviation, as "IT" is in a text that is not all in capitals."""
    return next((found for found in pattern.finditer(text) if text.isupper() or not found.group().isupper()), None)


def _last_that_stands(asked: Sequence[str]) -> str:
    return next((message for message in reversed(asked) if not leans_on_context(message)), asked[0])


def _name_in(before: str) -> str:
    """The longest name in the question; "" for none. A single word at its start may have its capital letter from that alone."""
    names = (_without_opening(match.group()) for match in _NAMES.finditer(before) if match.start() or " " in match.group())
    return max(names, key=len, default="")


def _without_opening(name: str) -> str:
    words = name.split()
    while words and _QUESTION_WORD.match(words[0]):
        words = words[1:]
    return " ".join(words)


def _owns(pronoun: re.Match[str]) -> bool:
    """Whether a noun follows that is theirs, as in "her book", but not in "told her about it"."""
    following = _FOLLOWING.match(pronoun.string, pronoun.end())
    if pronoun.group().lower() == "her":
        return following is not None and following[1].lower() not in STOP_WORDS - _BEFORE_NOUNS
    return pronoun["its"] is not None


def _owner(name: str) -> str:
    return name + ("'" if name.endswith("s") else "'s")


def _carried(before: str, question: str) -> str:
    """The words of the earlier question that carry meaning, less those the new one says itself; a new year replaces the old."""
    if _CJK.search(before):
        return before.strip(" ?？。")
    said = set(content_words(question))
    dated = any(char.isdigit() for char in question)
    kept = [
        word
        for word in re.findall(r"[\w'’&.-]*\w", before)
        if (meant := content_words(word)) and not set(meant) <= said and not (dated and word[0].isdigit())
    ]
    return " ".join(dict.fromkeys(kept[:MAX_CARRIED]))


_PRONOUN = re.compile(
    r"\b(?:(?P<its>its|his|their)|it(?! (?:true|possible|necessary))|he|she|they|him|them|her)\b(?!['’]\w)", re.IGNORECASE
)
_FOLLOWING = re.compile(r" +([\w'’-]+)")
_BEFORE_NOUNS = frozenset(("own", "most", "more", "other", "same", "few"))
