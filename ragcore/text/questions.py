"""Questions that a text answers, made from its own sentences by plain rules: "Rain is wet because ..." gives "Why is rain wet?"

Rules of English grammar go first; definitions are understood in German, French, Spanish and Chinese too. What no rule knows
becomes a question about a heading or a keyword, in the language of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragcore.text.follow_up import leans_on_context
from ragcore.text.keywords import content_words
from ragcore.text.phrases import is_telling, keywords
from ragcore.text.quotes import quotes_in

MOST_TOPICS = 12
LONGEST = 15  # words of a question

_SUBJECT = r"(?P<subject>[^\W\d_][^,;:()\"“”.!?]{0,70}?)"
_DATE = r"(?:(?:early|late|mid|the) )?(?:[A-Z][a-z]+ )?(?:\d{1,2},? )?(?:1\d{3}|20\d\d)s?"
_PAST = {
    "opened": "open", "began": "begin", "started": "start", "closed": "close", "ended": "end", "died": "die",
    "arrived": "arrive", "joined": "join", "moved": "move", "married": "marry", "appeared": "appear",
    "happened": "happen", "took": "take", "left": "leave", "launched": "launch", "became": "become", "won": "win",
    "came": "come",
}  # fmt: skip
_WHEN_DONE = re.compile(
    rf"^{_SUBJECT} (?P<be>was|were) (?P<done>[a-z]+(?:ed|rn|ilt|ade|old|ght|un|en)\b(?:(?! and )[^,;]){{0,40}}?),? in {_DATE}"
)
_WHEN_DID = re.compile(rf"^{_SUBJECT} (?P<did>{'|'.join(_PAST)})\b(?P<what>[^,;]{{0,40}}?) in {_DATE}")
_WHY = re.compile(rf"^{_SUBJECT} (?P<be>is|are|was|were|can|cannot|must|may|should|will) (?P<what>[^,;]{{3,60}}?),? because ")
_HOW_MANY = re.compile(
    rf"^{_SUBJECT} (?P<have>has|have|had) (?:about |over |only |nearly |almost |more than |at least )?"
    r"(?:\d[\d,.]*|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty) (?P<things>[a-z]+(?: of [a-z]+)?)\b"
)
_WHAT = (
    (re.compile(rf"^{_SUBJECT} (?P<be>is|are|was|were) (?:an?|the|one of) (?P<kind>[^,;.]*)"), ""),
    (re.compile(rf"^{_SUBJECT} (?:ist|sind|war) (?:eine?|der|die|das) (?P<kind>.*)"), "Was ist {subject}?"),
    (re.compile(rf"^{_SUBJECT} (?:est|sont|était) (?:une?|le|la|l') ?(?P<kind>.*)"), "Qu'est-ce que {subject} ?"),
    (re.compile(rf"^{_SUBJECT} (?:es|son|era) (?:una?|el|la) (?P<kind>.*)"), "¿Qué es {subject}?"),
    (re.compile(r"^(?P<subject>[\u3400-\u9fff]{2,10}?)是(?P<kind>[一中世最].*)"), "{subject}是什么？"),
)
_PERSON = re.compile(
    r"\b(?:man|woman|king|queen|president|chair|poet|engineer|physicist|chemist|mathematician|\w+ician|\w{3,}(?:ist|eer)|writer|"
    r"painter|teacher|singer|actor|author|doctor|director|composer|leader|founder|minister|player|who)\b"
)
_LEANS = re.compile(
    r"^(?:he|she|it|they|we|you|i|this|these|that|those|there|here|his|her|its|their|our|my|your|such|one|some|what|who|which|"
    r"when|where|but|and|so|or|if|then|also|er|sie|es|dies\w*|wir|il|elle|ils|elles|ce|c|cela|él|ella|esto|est[ae]|both|all|"
    r"another|other|nothing|no|not|only|in|on|at|for|with|after|before|as)\b|^[它他她这那]",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"^(?:The|An?|Der|Die|Das|Le|La|Les|El|Los|Las)(?= )")
_QUESTION = re.compile(r"[?？؟]$")
_ASKED = re.compile(r"[^.!?？؟]{6,}[?？؟]")  # at the beginning of a quotation that holds its short answer too
_ABOUT = {
    "en": "What can you tell me about {}?",
    "de": "Wer oder was ist {}?",
    "fr": "Qu'est-ce que {} ?",
    "es": "¿Qué es {}?",
    "zh": "{}是什么？",
}
_COMMON = {
    "en": frozenset(("the", "of", "and", "to", "is", "was", "that", "with", "for")),
    "de": frozenset(("der", "die", "das", "und", "ist", "den", "von", "mit", "nicht", "auf")),
    "fr": frozenset(("le", "la", "les", "et", "des", "est", "du", "dans", "une", "que", "pour")),
    "es": frozenset(("el", "los", "las", "y", "del", "es", "en", "una", "que", "por", "con")),
}


def questions_in(text: str) -> Iterator[str]:
    """Questions that stand in the text or that one of its sentences answers, then ones about its headings and keywords.

    Each names what it is about, none comes twice.
    """
    given: set[str] = set()
    for question in _all(text):
        if question not in given and len(question.split()) <= LONGEST:
            given.add(question)
            yield question


def questions_of_sentences(text: str) -> Iterator[str]:
    """As `questions_in`, without the ones about headings and keywords."""
    yield from (question for question in dict.fromkeys(_of_sentences(text)) if len(question.split()) <= LONGEST)


def language_of(text: str) -> str:
    """ "en", "de", "fr", "es" or "zh", by the commonest small words; "en" where none of them is known."""
    if len(re.findall(r"[\u3400-\u9fff]", text)) > len(text) / 4:
        return "zh"
    said = text.lower().split()
    return max(_COMMON, key=lambda language: sum(word in _COMMON[language] for word in said))


def _all(text: str) -> Iterator[str]:
    yield from _of_sentences(text)
    about = _ABOUT[language_of(text)]
    leads = dict.fromkeys(quote.lead for quote in quotes_in(text, number=0) if quote.lead)
    topics = [lead for lead in leads if not _QUESTION.search(lead) and ":" not in lead]
    for topic in [*topics, *keywords(text, MOST_TOPICS)]:
        if is_telling(topic):
            yield about.format(topic)


def _of_sentences(text: str) -> Iterator[str]:
    quotes = quotes_in(text, number=0)
    leads = list(dict.fromkeys(quote.lead for quote in quotes if quote.lead))
    for lead in leads:
        if _QUESTION.search(lead) and not leans_on_context(lead):
            yield lead
    for quote in quotes:
        if asked := _ASKED.match(quote.text):
            yield from () if leans_on_context(asked.group()) else (asked.group(),)
        elif not _LEANS.match(quote.text):
            yield from _asked_of(quote.text)


def _asked_of(sentence: str) -> Iterator[str]:
    """At most one question: the one of the first rule that fits."""
    if (found := _WHEN_DONE.match(sentence)) and (subject := _named(found)):
        yield f"When {found['be']} {subject} {found['done']}?"
    elif (found := _WHEN_DID.match(sentence)) and (subject := _named(found)):
        yield f"When did {subject} {_PAST[found['did']]}{found['what']}?"
    elif (found := _WHY.match(sentence)) and (subject := _named(found)):
        yield f"Why {found['be']} {subject} {found['what']}?"
    elif (found := _HOW_MANY.match(sentence)) and (subject := _named(found)):
        do = {"has": "does", "have": "do", "had": "did"}[found["have"]]
        yield f"How many {found['things']} {do} {subject} have?"
    else:
        for pattern, question in _WHAT:
            if (found := pattern.match(sentence)) and (subject := _named(found)):
                be = found["be"] if not question else ""
                word = "Who" if _PERSON.search(found["kind"]) else "What"
                yield question.format(subject=subject) or f"{word} {be} {subject}?"
                return


def _named(found: re.Match[str]) -> str:
    """What the sentence is about, as it stands inside a question; "" where it says too little or too much for that."""
    subject = _ARTICLE.sub(lambda article: article.group().lower(), found["subject"].strip())
    return subject if content_words(subject) and len(subject.split()) <= 7 else ""
