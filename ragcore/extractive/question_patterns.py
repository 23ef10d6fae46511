"""Rules that turn a sentence into the question it answers: "The tower was built in 1871." gives "When was the
tower built?"

English has rules for reasons, makers, dates, numbers, places and contents, German for dates and contents, and
all five languages for definitions. Rules for rarer kinds gave less than three questions in two million
characters.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from ragcore.text.keywords import content_words

_SUBJECT = r"(?P<subject>[^\W\d_][^,;:()\"“”.!?]{0,70}?)"
_MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_WHEN = (
    r"(?:in (?:(?:early|late|mid|the) )?(?:(?:[A-Z][a-z]+),? )?(?:1\d{3}|20\d\d)s?"
    rf"|on (?:[A-Z][a-z]+day,? )?(?:the )?(?:\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTH}"
    rf"|{_MONTH} \d{{1,2}})(?:,? \d{{4}})?)\b"
)
_NUMBER = (
    r"(?:about |around |over |only |nearly |almost |up to |more than |at least )?(?:\d[\d,]*|two|three"
    r"|four|five|six)"
)
_THINGS = (
    r"(?P<things>(?!(?:second|minute|hour|day|week|month|year)s\b|more\b|other\b"
    r"|of\b)[a-z]+s(?: of [a-z]+)?)\b"
)
_BE = r"(?P<be>is|are|was|were)"
_DONE = r"(?P<done>[a-z]+(?:ed|rn|ilt|ade|old|ght|un|en|eld|ept|ent|et|ut)\b(?:(?! and | or )[^,;]){0,40}?)"


def _regular_past(verbs: str) -> dict[str, str]:
    return {verb + ("d" if verb.endswith("e") else "ed"): verb for verb in verbs.split()}


_PRESENT = {
    verb.replace(" ", "s ", 1) if " " in verb else f"{verb}s": verb
    for verb in (
        "cover", "include", "offer", "provide", "require", "contain", "protect", "open", "close", "begin",
        "start", "end", "leave", "consist of", "depend on", "refer to", "cause", "cost", "weigh", "last",
        "take",
    )
}  # fmt: skip
_PAST = _regular_past(
    """
    open start close end die arrive join move appear happen launch found publish release sign invent discover
    retire resign graduate introduce establish return visit reach adopt agree raise replace receive conquer
    invade form last
    """
) | {
    "began": "begin", "married": "marry", "took": "take", "left": "leave", "became": "become", "won": "win",
    "came": "come", "built": "build", "wrote": "write", "bought": "buy", "sold": "sell", "made": "make",
    "fell": "fall", "broke": "break", "lost": "lose", "gave": "give", "stopped": "stop", "sent": "send",
    "cost": "cost", "led to": "lead to",
}  # fmt: skip
_STATED = _regular_past(
    "announce argue claim conclude decide demand promise propose recommend report resolve suggest warn"
)

_CAN = r"(?P<be>is|are|was|were|can|cannot|must|may|should|will)"
_DID = rf"(?P<verb>{'|'.join(_PAST)})\b"
_LIMIT = r"(?=[,.;]| and | that | which )"

# (the question with the groups of the pattern in braces, a pattern for the beginning of a sentence)
_ENGLISH = (
    ("Why {be} {subject} {what}?", rf"^{_SUBJECT} {_CAN} (?P<what>[^,;]{{3,60}}?),? because "),
    (
        "Who {made} {subject}?",
        (
            rf"^{_SUBJECT} (?:is|was|were) (?P<made>built|founded|designed|invented|discovered"
            r"|created) by (?:the \w+ )?[A-Z]"
        ),
    ),
    ("When {be} {subject} {done}?", rf"^{_SUBJECT} (?P<be>was|were) {_DONE},? (?:by [^,;]{{3,40}} )?{_WHEN}"),
    ("When did {subject} {base}{what}?", rf"^{_SUBJECT} {_DID}(?P<what>[^,;]{{0,40}}?),? {_WHEN}"),
    ("How many {things} {do} {subject} have?", rf"^{_SUBJECT} (?P<verb>has|have|had) {_NUMBER} {_THINGS}"),
    (
        "Where {be} {subject} {done}?",
        rf"^{_SUBJECT} {_BE} (?P<done>located|situated|kept|held|stored|buried) (?:in|at|on|under|near"
        r"|behind|between) (?!the same|order|a number|place|mind)",
    ),
    (
        "What {be} {subject} {done}?",
        rf"^{_SUBJECT} {_BE} (?P<done>called|known as|named after|based on|caused by) ",
    ),
    (
        "What {do} {subject} {base}?",
        rf"^{_SUBJECT} (?P<verb>consists of|depends on|refers to|causes|led to) ",
    ),
    (
        "What {be} {subject} {done}?",
        rf"^{_SUBJECT} {_BE} (?P<done>responsible for|used for|used to|made of|built of) ",
    ),
    (
        "What {do} {subject} {base}?",
        (
            rf"^{_SUBJECT} (?P<verb>covers|includes|offers|provides|requires|contains|protects) (?!that\b"
            r"|for\b|us\b|you\b|up\b)"
        ),
    ),
    (
        "What did {subject} {base}?",
        rf"^{_SUBJECT} (?P<verb>{'|'.join(_STATED)}) (?:that|to) (?!be |it\b)[\w']",
    ),
    (
        "{who} {be} {best}?",
        rf"^{_SUBJECT} {_BE} (?P<best>the (?:(?!best|rest|same|latest)\w{{3,}}est|first|only|main"
        r"|most \w+|second \w+est) "
        rf"(?:(?!and |that |which |who |recent)[^,;.()]){{3,40}}? (?:of|in|on|for|about"
        rf"|to) [^,;.()]{{3,30}}?){_LIMIT}",
    ),
    ("{who} {be} {subject}?", rf"^{_SUBJECT} {_BE} (?:an?|the|one of) (?P<kind>[^,;.]*)"),
    (
        "{who} is {subject}?",
        r"^(?P<subject>(?!D[eia][res] |The )[A-Z]\w+(?: [A-Z]\w+){1,3}), (?:an?|the) (?P<kind>[^,;.]{5,60}),",
    ),
)
_GERMAN = (
    (
        "Wann {be} {subject} {done}?",
        rf"^{_SUBJECT} (?P<be>wurden?) (?:im Jahre? |am |im "
        rf"|seit )?(?:\d{{1,2}}\. )?(?:[A-Z][a-zä]+ )?(?:1\d{{3}}|20\d\d) "
        r"(?P<done>(?:(?! und )[^,;]){0,40}?(?:\w*ge\w+(?:t|en)|\w+iert|(?:be|er|ver|ent|zer)\w+(?:t"
        r"|en)))\.$",
    ),
    ("Was {verb} {subject}?", rf"^{_SUBJECT} (?P<verb>umfasst|enthält|bietet|erfordert) "),
    ("{wer} {be} {subject}?", rf"^{_SUBJECT} (?P<be>ist|sind|war|waren) (?:eine?|der|die|das) (?P<kind>.*)"),
)
_OTHERS = (
    ("Qu'est-ce que {subject} ?", rf"^{_SUBJECT} (?:est|sont|était) (?:une?|le|la|l') ?(?P<kind>.*)"),
    ("¿Qué es {subject}?", rf"^{_SUBJECT} (?:es|son|era) (?:una?|el|la) (?P<kind>.*)"),
    ("{subject}是什么？", r"^(?P<subject>[\u3400-\u9fff]{2,10}?)是(?P<kind>[一中世最].*)"),
)

_RULES = [(wording, re.compile(pattern)) for wording, pattern in (*_ENGLISH, *_GERMAN, *_OTHERS)]

_PERSON = re.compile(
    r"\b(?:man|woman|king|queen|president|chair|poet|engineer|physicist|chemist|mathematician|\w+ician"
    r"|\w{3,}(?:ist|eer)|writer|"
    r"painter|teacher|singer|actor|author|doctor|director|composer|founder|minister|student|"
    r"preacher|bishop|scholar|reformer|lawyer|soldier|"
    r"Präsident\w*|König\w*|Dichter\w*|Physiker\w*|Maler\w*|Schriftsteller\w*|Politiker\w*|Ingenieur\w*"
    r"|Erfinder\w*)\b"
)
_LEANING = re.compile(
    r"\b(?:he|she|it|they|we|you|i|me|him|them|us|this|these|those|such|here|our|my|your|er|sie|es"
    r"|dies\w*|wir|il|elle|ils|elles|"
    r"ce|cela|él|ella|esto|another|(?:the )(?:same|former|latter|above|following|other))\b|[它他她这那]",
    re.IGNORECASE,
)
# by an owner in an earlier sentence
_OWNED = re.compile(r"\b(?:his|her|its|their|ihr\w*|seine?\w?)\b", re.IGNORECASE)
_ADVERBIAL = re.compile(
    r"^(?:deshalb|heut\w*|seit\w*|dar\w+|inner\w+|außer\w+|im|am|an|auf|bei|mit|nach|vor|seit|zu[mr]?"
    r"|vo[nm]|durch|für|dort|hier|dann|"
    r"dam\w+|da|daher|dabei|danach|dadurch|dazu|dafür|auch|aber|und|oder|nur|zwar|jedoch|ebenso|später"
    r"|trotz|wegen|während|unter|über|eine?[rs]|weitere\w*|viele|"
    r"einige|manche|nicht|bis|um|als|wie|ein \w*[Bb]eispiel|"
    r"there|some|one|what|who|which|when|where|but|and|so|or|if|then|also|both|all|many|most|much"
    r"|several|few|more|"
    r"nothing|nobody|no|not|only|in|on|at|for|with|after|before|as|by|from|to|of|under|over|into"
    r"|because|while|though|although|"
    r"since|during|once|until|despite|according|however|today|now|instead|later|still|yet|perhaps|even"
    r"|hence|thus|that|"
    r"January|February|March|April|May|June|July|August|September|October|November|December|\w+day"
    r"|\w+ly|part|things?|one)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r" (?:that|which|who|whom|whose|where|when|if|because|but|is|are|was|were|has|have|had|will|would"
    r"|must|can|may|said|says|"
    r"dass|weil|hat|haben|ist|sind|wurde|wird|until|while|called|named|known|so|not|never|also|only|do"
    r"|does|did|often|now|then|usually)\b"
)
_ARTICLE = re.compile(
    r"^(?:The|An?|Each|Every(?:one)?|No|Der|Die|Das|Eine?|Jede[rs]?|Alle|Le|La|Les|El|Los|Las|In|At|On"
    r"|If|When|Before|After)(?!\S)"
)
# a heading without an end of its own
_HEADED = re.compile(r"^(?:Article|Section|Chapter|Artikel|Kapitel) \d+\.? (?=[A-ZÄÖÜ])")
MAX_WORDS = 7  # of a subject


def question_for(sentence: str, known: Collection[str] = ()) -> str:
    """The question of the first rule that matches the sentence; "" if none does. `known`: words in small
    letters that are no names, and so have no capital inside the question.

    >>> question_for("The tower was built in 1871.")
    'When was the tower built?'
    """
    sentence = _HEADED.sub("", sentence)
    for wording, pattern in _RULES:
        if (match := pattern.match(sentence)) and (parts := _parts(match, known)):
            return wording.format_map(parts)
    return ""


def _parts(match: re.Match[str], known: Collection[str]) -> dict[str, str]:
    """The values of a wording; {} if the subject is a pronoun, an adverb or a clause, or too long."""
    parts = {name: text for name, text in match.groupdict().items() if text is not None}
    subject = parts["subject"].strip()
    if not content_words(subject) or len(subject.split()) > MAX_WORDS or _OWNED.search(subject):
        return {}
    used = " ".join(text for name, text in parts.items() if name not in ("kind", "verb", "be"))
    if _ADVERBIAL.match(subject) or _CLAUSE.search(subject) or _LEANING.search(used):
        return {}
    verb, kind = parts.get("verb", ""), parts.get("kind", "") + parts.get("best", "")
    person = _PERSON.search(kind) is not None
    return parts | {
        "subject": _inside_question(subject, known),
        "do": "did"
        if verb in _PAST or verb == "had"
        else "does"
        if verb in _PRESENT or verb == "has"
        else "do",
        "base": _PAST.get(verb) or _STATED.get(verb) or _PRESENT.get(verb, verb),
        "who": "Who" if person else "What",
        "wer": "Wer" if person else "Was",
    }


def _inside_question(phrase: str, known: Collection[str]) -> str:
    """The phrase without the capital of the beginning of a sentence."""
    first, _, rest = phrase.partition(" ")
    common = first[:1].lower() + first[1:] in known and not rest[:1].isupper()
    return phrase[:1].lower() + phrase[1:] if common or _ARTICLE.match(phrase) else phrase
