"""Rules that turn a sentence into the question it answers: "The tower was built in 1871." gives "When was the tower built?"

English has rules for reasons, makers, dates, numbers, places and contents, German for dates and contents, and
all five languages for definitions. Rarer kinds gave under three questions in two million characters.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from ragcore.text.keywords import content_words

_SUBJECT = r"(?P<subject>[^\W\d_][^,;:()\"“”.!?]{0,70}?)"
_MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_WHEN = (
    r"(?:in (?:(?:early|late|mid|the) )?(?:(?:[A-Z][a-z]+),? )?(?:1\d{3}|20\d\d)s?"
    rf"|on (?:[A-Z][a-z]+day,? )?(?:the )?(?:\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTH}|{_MONTH} \d{{1,2}})(?:,? \d{{4}})?)\b"
)
_NUMBER = r"(?:about |around |over |only |nearly |almost |up to |more than |at least )?(?:\d[\d,]*|two|three|four|five|six)"
_THINGS = r"(?P<things>(?!(?:second|minute|hour|day|week|month|year)s\b|more\b|other\b|of\b)[a-z]+s(?: of [a-z]+)?)\b"
_BE = r"(?P<be>is|are|was|were)"
_DONE = r"(?P<done>[a-z]+(?:ed|rn|ilt|ade|old|ght|un|en|eld|ept|ent|et|ut)\b(?:(?! and | or )[^,;]){0,40}?)"

_PRESENT = {
    "covers": "cover", "includes": "include", "offers": "offer", "provides": "provide", "requires": "require",
    "contains": "contain", "protects": "protect", "opens": "open", "closes": "close", "begins": "begin", "starts": "start",
    "ends": "end", "leaves": "leave", "consists of": "consist of", "depends on": "depend on", "refers to": "refer to",
    "causes": "cause", "costs": "cost", "weighs": "weigh", "lasts": "last", "takes": "take",
}  # fmt: skip
_PAST = {
    "opened": "open", "began": "begin", "started": "start", "closed": "close", "ended": "end", "died": "die",
    "arrived": "arrive", "joined": "join", "moved": "move", "married": "marry", "appeared": "appear",
    "happened": "happen", "took": "take", "left": "leave", "launched": "launch", "became": "become", "won": "win",
    "came": "come", "founded": "found", "built": "build", "wrote": "write", "published": "publish", "released": "release",
    "bought": "buy", "sold": "sell", "signed": "sign", "invented": "invent", "discovered": "discover", "retired": "retire",
    "resigned": "resign", "graduated": "graduate", "introduced": "introduce", "established": "establish", "made": "make",
    "fell": "fall", "broke": "break", "lost": "lose", "gave": "give", "returned": "return", "visited": "visit",
    "reached": "reach", "adopted": "adopt", "agreed": "agree", "raised": "raise", "replaced": "replace", "stopped": "stop",
    "sent": "send", "received": "receive", "conquered": "conquer", "invaded": "invade", "cost": "cost", "formed": "form",
    "lasted": "last", "led to": "lead to",
}  # fmt: skip
_STATED = {
    "announced": "announce", "argued": "argue", "claimed": "claim", "concluded": "conclude", "decided": "decide",
    "demanded": "demand", "promised": "promise", "proposed": "propose", "recommended": "recommend", "reported": "report",
    "resolved": "resolve", "suggested": "suggest", "warned": "warn",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rule:
    """`pattern` matches from the beginning of a sentence and has groups; `wording` has their names in
    braces."""

    pattern: re.Pattern[str]
    wording: str


def _rule(wording: str, pattern: str) -> Rule:
    return Rule(re.compile(pattern), wording)


_CAN = r"(?P<be>is|are|was|were|can|cannot|must|may|should|will)"
_DID = rf"(?P<verb>{'|'.join(_PAST)})\b"
_LIMIT = r"(?=[,.;]| and | that | which )"

ENGLISH = (
    _rule("Why {be} {subject} {what}?", rf"^{_SUBJECT} {_CAN} (?P<what>[^,;]{{3,60}}?),? because "),
    _rule(
        "Who {made} {subject}?",
        rf"^{_SUBJECT} (?:is|was|were) (?P<made>built|founded|designed|invented|discovered|created) by (?:the \w+ )?[A-Z]",
    ),
    _rule("When {be} {subject} {done}?", rf"^{_SUBJECT} (?P<be>was|were) {_DONE},? (?:by [^,;]{{3,40}} )?{_WHEN}"),
    _rule("When did {subject} {base}{what}?", rf"^{_SUBJECT} {_DID}(?P<what>[^,;]{{0,40}}?),? {_WHEN}"),
    _rule("How many {things} {do} {subject} have?", rf"^{_SUBJECT} (?P<verb>has|have|had) {_NUMBER} {_THINGS}"),
    _rule(
        "Where {be} {subject} {done}?",
        rf"^{_SUBJECT} {_BE} (?P<done>located|situated|kept|held|stored|buried) (?:in|at|on|under|near|behind|between) "
        r"(?!the same|order|a number|place|mind)",
    ),
    _rule("What {be} {subject} {done}?", rf"^{_SUBJECT} {_BE} (?P<done>called|known as|named after|based on|caused by) "),
    _rule("What {do} {subject} {base}?", rf"^{_SUBJECT} (?P<verb>consists of|depends on|refers to|causes|led to) "),
    _rule("What {be} {subject} {done}?", rf"^{_SUBJECT} {_BE} (?P<done>responsible for|used for|used to|made of|built of) "),
    _rule(
        "What {do} {subject} {base}?",
        rf"^{_SUBJECT} (?P<verb>covers|includes|offers|provides|requires|contains|protects) (?!that\b|for\b|us\b|you\b|up\b)",
    ),
    _rule("What did {subject} {base}?", rf"^{_SUBJECT} (?P<verb>{'|'.join(_STATED)}) (?:that|to) (?!be |it\b)[\w']"),
    _rule(
        "{who} {be} {best}?",
        rf"^{_SUBJECT} {_BE} (?P<best>the (?:(?!best|rest|same|latest)\w{{3,}}est|first|only|main|most \w+|second \w+est) "
        rf"(?:(?!and |that |which |who |recent)[^,;.()]){{3,40}}? (?:of|in|on|for|about|to) [^,;.()]{{3,30}}?){_LIMIT}",
    ),
    _rule("{who} {be} {subject}?", rf"^{_SUBJECT} {_BE} (?:an?|the|one of) (?P<kind>[^,;.]*)"),
    _rule(
        "{who} is {subject}?",
        r"^(?P<subject>(?!D[eia][res] |The )[A-Z]\w+(?: [A-Z]\w+){1,3}), (?:an?|the) (?P<kind>[^,;.]{5,60}),",
    ),
)
GERMAN = (
    _rule(
        "Wann {be} {subject} {done}?",
        rf"^{_SUBJECT} (?P<be>wurden?) (?:im Jahre? |am |im |seit )?(?:\d{{1,2}}\. )?(?:[A-Z][a-zä]+ )?(?:1\d{{3}}|20\d\d) "
        r"(?P<done>(?:(?! und )[^,;]){0,40}?(?:\w*ge\w+(?:t|en)|\w+iert|(?:be|er|ver|ent|zer)\w+(?:t|en)))\.$",
    ),
    _rule("Was {verb} {subject}?", rf"^{_SUBJECT} (?P<verb>umfasst|enthält|bietet|erfordert) "),
    _rule("{wer} {be} {subject}?", rf"^{_SUBJECT} (?P<be>ist|sind|war|waren) (?:eine?|der|die|das) (?P<kind>.*)"),
)
OTHERS = (
    _rule("Qu'est-ce que {subject} ?", rf"^{_SUBJECT} (?:est|sont|était) (?:une?|le|la|l') ?(?P<kind>.*)"),
    _rule("¿Qué es {subject}?", rf"^{_SUBJECT} (?:es|son|era) (?:una?|el|la) (?P<kind>.*)"),
    _rule("{subject}是什么？", r"^(?P<subject>[\u3400-\u9fff]{2,10}?)是(?P<kind>[一中世最].*)"),
)

_PERSON = re.compile(
    r"\b(?:man|woman|king|queen|president|chair|poet|engineer|physicist|chemist|mathematician|\w+ician|\w{3,}(?:ist|eer)|writer|"
    r"painter|teacher|singer|actor|author|doctor|director|composer|founder|minister|student|"
    r"preacher|bishop|scholar|reformer|lawyer|soldier|"
    r"Präsident\w*|König\w*|Dichter\w*|Physiker\w*|Maler\w*|Schriftsteller\w*|Politiker\w*|Ingenieur\w*|Erfinder\w*)\b"
)
_LEANING = re.compile(
    r"\b(?:he|she|it|they|we|you|i|me|him|them|us|this|these|those|such|here|our|my|your|er|sie|es|dies\w*|wir|il|elle|ils|elles|"
    r"ce|cela|él|ella|esto|another|(?:the )(?:same|former|latter|above|following|other))\b|[它他她这那]",
    re.IGNORECASE,
)
_OWNED = re.compile(r"\b(?:his|her|its|their|ihr\w*|seine?\w?)\b", re.IGNORECASE)  # by an owner in an earlier sentence
_ADVERBIAL = re.compile(
    r"^(?:deshalb|heut\w*|seit\w*|dar\w+|inner\w+|außer\w+|im|am|an|auf|bei|mit|nach|vor|seit|zu[mr]?|vo[nm]|durch|für|dort|hier|dann|"
    r"dam\w+|da|daher|dabei|danach|dadurch|dazu|dafür|auch|aber|und|oder|nur|zwar|jedoch|ebenso|später|trotz|wegen|während|unter|über|eine?[rs]|weitere\w*|viele|"
    r"einige|manche|nicht|bis|um|als|wie|ein \w*[Bb]eispiel|"
    r"there|some|one|what|who|which|when|where|but|and|so|or|if|then|also|both|all|many|most|much|several|few|more|"
    r"nothing|nobody|no|not|only|in|on|at|for|with|after|before|as|by|from|to|of|under|over|into|because|while|though|although|"
    r"since|during|once|until|despite|according|however|today|now|instead|later|still|yet|perhaps|even|hence|thus|that|"
    r"January|February|March|April|May|June|July|August|September|October|November|December|\w+day|\w+ly|part|things?|one)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r" (?:that|which|who|whom|whose|where|when|if|because|but|is|are|was|were|has|have|had|will|would|must|can|may|said|says|"
    r"dass|weil|hat|haben|ist|sind|wurde|wird|until|while|called|named|known|so|not|never|also|only|do|does|did|often|now|then|usually)\b"
)
_ARTICLE = re.compile(
    r"^(?:The|An?|Each|Every(?:one)?|No|Der|Die|Das|Eine?|Jede[rs]?|Alle|Le|La|Les|El|Los|Las|In|At|On|If|When|Before|After)"
    r"(?!\S)"
)
_HEADED = re.compile(r"^(?:Article|Section|Chapter|Artikel|Kapitel) \d+\.? (?=[A-ZÄÖÜ])")  # a heading without an end of its own
MOST_WORDS = 7  # of a subject


def question_for(sentence: str, known: Collection[str] = ()) -> str:
    """The question of the first rule that matches the sentence; "" if none does. `known`: words in small
    letters that are no names, and so have no capital inside the question.

    >>> question_for("The tower was built in 1871.")
    'When was the tower built?'
    """
    sentence = _HEADED.sub("", sentence)
    for rule in (*ENGLISH, *GERMAN, *OTHERS):
        if (match := rule.pattern.match(sentence)) and (parts := _parts(match, known)):
            return rule.wording.format_map(parts)
    return ""


def _parts(match: re.Match[str], known: Collection[str]) -> dict[str, str]:
    """The values of a wording; {} if the subject is a pronoun, an adverb or a clause, or too long."""
    parts = {name: text for name, text in match.groupdict().items() if text is not None}
    subject = parts["subject"].strip()
    if not content_words(subject) or len(subject.split()) > MOST_WORDS or _OWNED.search(subject):
        return {}
    used = " ".join(text for name, text in parts.items() if name not in ("kind", "verb", "be"))
    if _ADVERBIAL.match(subject) or _CLAUSE.search(subject) or _LEANING.search(used):
        return {}
    verb, kind = parts.get("verb", ""), parts.get("kind", "") + parts.get("best", "")
    person = _PERSON.search(kind) is not None
    return parts | {
        "subject": _inside_question(subject, known),
        "do": "did" if verb in _PAST or verb == "had" else "does" if verb in _PRESENT or verb == "has" else "do",
        "base": _PAST.get(verb) or _STATED.get(verb) or _PRESENT.get(verb, verb),
        "who": "Who" if person else "What",
        "wer": "Wer" if person else "Was",
    }


def _inside_question(phrase: str, known: Collection[str]) -> str:
    """The phrase without the capital of the beginning of a sentence."""
    first, _, rest = phrase.partition(" ")
    common = first[:1].lower() + first[1:] in known and not rest[:1].isupper()
    return phrase[:1].lower() + phrase[1:] if common or _ARTICLE.match(phrase) else phrase
