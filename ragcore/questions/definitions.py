"""What a question wants explained, "a pinion" of "What is a pinion?", and the sentences that begin by saying what that is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from ragcore.questions.topic import about
from ragcore.text.keywords import content_words


@lru_cache(maxsize=64)
def asked_what_it_is(question: str) -> frozenset[str]:
    """The words of the thing of which is asked what, or who, it is, or that is all that is said; none where something else is
    asked."""
    found = _QUESTION.match(_FURTHER.sub("", about(_BRACKETS_AT_END.sub("", question))))
    return frozenset(content_words(next(filter(None, found.groups()), ""))) if found else frozenset()


def says_what_it_is(thing: frozenset[str], sentence: str) -> bool:
    """Whether the sentence has the thing first and goes on with what it is: "A pinion (small gear) is", "Pinion: a small gear",
    "Meet the pinion - a small gear"."""
    if not thing:
        return False
    if any(frozenset(content_words(said)) == thing for said in _subjects(sentence) if not _BEGINS_BESIDE.match(said)):
        return True
    before_dash = (content_words(sentence[: dash.start()]) for dash in _DASH.finditer(sentence))
    return any(frozenset(words[-len(thing) :]) == thing for words in before_dash)


def _subjects(sentence: str) -> Iterator[str]:
    """What the sentence may be about: its label; what stands before its verb, without what is said before or beside it there,
    or in its brackets alone. What looks like a verb may be none: "The Korean War was"."""
    if label := _LABEL.match(sentence):
        yield label["name"]
        sentence = sentence[label.end() :]
    if aside := _ASIDE.search(sentence):
        yield sentence[: aside.start()]
    for verb in islice(_IS.finditer(sentence), VERBS):
        head = sentence[: verb.start()].strip()
        yield _BRACKETS.sub(" ", head)
        yield from _BRACKETS.findall(head)
        parts = head.split(",")
        yield parts[0] if head.endswith(",") else parts[-1]


VERBS = 3  # looked at in a sentence
_QUESTION = re.compile(
    r"^\W*(?:"
    r"(?:what|who)(?:['’]s| is| are| was| were) (?:(?:meant by|the (?:meaning|definition) of) )?([^?,;]+)"
    r"|what (?:does|do|did) ([^?,;]+?) (?:mean|stand for)"
    r"|define ([^?,;]+)"
    r"|(?:was|wer) (?:ist|sind|war|waren|bedeutet|heißt) ([^?,;]+)"
    r"|(?:qu['’]est[- ]ce qu(?:e(?: c['’]est que)?|['’])|qui (?:est|sont|était|étaient)) ?([^?,;]+)"
    r"|qu(?:é|ién(?:es)?) (?:es|son|era|eran|fue|significa) ([^?,;]+)"
    r"|什么是([^？，；]+)|([^？，；]+?)是什么(?:意思)?"
    r"|((?:\S+ ){0,2}[^\s?？]+)"
    r")\W*$",
    re.IGNORECASE,
)
_BRACKETS_AT_END = re.compile(r"\s*\([^()]+\)(?=\W*$)")  # where a follow-up has what it is about
_FURTHER = re.compile(
    r",? (?:and|und|et|y) (?:how|why|what|who|when|where|which|does|do|is|are|wie|warum|wieso|was|wer|wann|wo|comment|pourquoi"
    r"|qui|quand|où|cómo|por qué|qué|quién|cuándo|dónde)\b.*",
    re.IGNORECASE,
)
_BRACKETS = re.compile(r"\([^()]+\)")
_LABEL = re.compile(r"(?P<name>[^:.;]{2,60}):\s+(?=\S)")
_ARTICLE = r"(?:an?|the|one of|eine?|der|die|das|une?|l[ea]|l['’]|una|el)\b"
_ASIDE = re.compile(rf",\s+{_ARTICLE}", re.IGNORECASE)
_DASH = re.compile(rf"\s[-–—]\s+{_ARTICLE}", re.IGNORECASE)
_BEGINS_BESIDE = re.compile(
    r"\s*(?:in|for|with|without|at|by|under|on|after|before|during|from|to|as|when|if|like|unlike|beim?|für|mit|ohne|nach|vor"
    r"|unter|zu[mr]?|avec|sans|pour|dans|sous|après|avant|con|sin|para|por|bajo|antes)\b",
    re.IGNORECASE,
)
_IS = re.compile(
    r"\b(?:is|are|was|were|means?|refers? to|stands? for|ist|sind|war|waren|bedeutet|bezeichnet|heißt|est|sont|était|étaient"
    r"|désigne|signifie|es|era|eran|fue|significa)\b|是|指",
    re.IGNORECASE,
)
