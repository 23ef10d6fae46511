"""What a question is about, without what it says of the text that it is put to: "according to the document", "the author".

Every sentence is the document's and the author's, and hardly one says so: words that none can hold would count against all.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import PurePath

from ragcore.text.keywords import content_words


def about(question: str, *, with_names: bool = False) -> str:
    """The question without such words; as it is where nothing else is left of it.

    `with_names`: "staff handbook" stays of "the staff handbook says", as a file may be called so; "document" does not.
    """

    def left(match: re.Match[str]) -> str:
        of, helping = match.groupdict().get("of"), match.groupdict().get("helping")
        names = [of, *_NAME.findall(match.group())] if with_names else []
        return " ".join(filter(None, [" ", *names, helping, " "]))

    rest = _TOLD.sub(left, _ACCORDING_TO.sub(left, question))
    rest = _ASKED_OF.sub(left, in_first_person(rest))
    rest = _HAPPENED.sub(lambda match: match[match.lastindex or 0], rest)
    rest = " ".join(rest.split()).strip(" ,;，")
    return rest if content_words(rest) else question


def in_first_person(question: str) -> str:
    """As the one who wrote the document would ask it: "What did I do" for "What did the author do". Nearly all that is asked of
    an author is said in the first person, and an embedder finds that better by it."""
    return _AUTHOR.sub(lambda match: _OWN[match.lastgroup or ""], question)


def apart_from_name(question: str, document: str, said: str) -> str:
    """The question without the name that its document goes by, as "Paul Graham" is of paul_graham_essay.pdf; "" where it does
    not say that, or nothing else, or where the document says it too. `said`: what is known of its text."""
    named = {word.lower() for word in _WORD.findall(PurePath(document).stem)}
    for run in _CAPITALISED.finditer(question):
        words = [word.lower() for word in _WORD.findall(run.group())]
        if words and named.issuperset(words) and not any(re.search(rf"\b{word}\b", said, re.IGNORECASE) for word in words):
            rest = " ".join((question[: run.start()] + question[run.end() :]).split())
            return rest if content_words(rest) else ""
    return ""


def named(question: str, documents: Iterable[str]) -> set[str]:
    """Those of these names of files that the question says: NAMED of their words' idf among the names, so that "Northwind
    Standard" is northwind_standard_details.pdf and not northwind_plus_details.pdf. None where nothing tells them apart."""
    words = {name: set(content_words(re.sub(r"[\W_]+", " ", PurePath(name).stem))) for name in documents}
    having = Counter(word for of_name in words.values() for word in of_name)
    idf = {word: math.log((1 + len(words) / count) / 2) for word, count in having.items()}  # 0 for one that all names have
    asked = set(content_words(question))

    def weight(of_name: set[str]) -> float:
        return sum(idf[word] for word in sorted(of_name))

    return {name for name, own in words.items() if weight(own) > 0 and NAMED * weight(own) <= weight(own & asked)}


def called(topic: str, documents: Iterable[str]) -> set[str]:
    """Those of these names of files that the topic is, or is a part of, and says no more: "the roof e-mail" is 1_roof.eml."""
    asked = set(content_words(_NAME.sub(" ", topic))) or set(content_words(topic))
    return {name for name in documents if asked and asked <= set(content_words(re.sub(r"[\W_]+", " ", name)))}


NAMED = 0.65
_WORD = re.compile(r"[^\W\d_]{3,}")
_CAPITALISED = re.compile(r"(?:^|(?<=\w ))[A-ZÀ-Þ][\w.-]*(?: [A-ZÀ-Þ][\w.-]*)*(?:['’]s\b)?")

# What a person calls what was put in, and what such a thing may be called.
_ANY = r"documents?|texts?|passages?|articles?|papers?|essays?|files?"
_NAMES = (
    r"reports?|(?:hand)?books?|manuals?|guides?|guidelines?|leaflets?|brochures?|chapters?|slides?|presentations?|letters?"
    r"|e-?mails?|notes?|minutes|contracts?|agreements?|polic(?:y|ies)"
)
_ANY_DE = r"dokument(?:e|en)?|text(?:e|en)?|artikeln?"
_NAMES_DE = r"(?:hand)?buch|bericht(?:e|en)?|leitfaden|broschüre|kapitel|präsentation|folien|brief|protokoll|vertrag|anleitung"
_ANY_FR = r"documents?|textes?|articles?"
_NAMES_FR = r"manuel|guide|rapports?|livre|brochure|chapitre|présentation|lettre|courriel|contrat|règlement"
_ANY_ES = r"documentos?|textos?|artículos?"
_NAMES_ES = r"manual|guía|informes?|libro|folleto|capítulo|presentación|carta|correo|contrato|reglamento"
_NAME = re.compile(rf"\b(?:{_NAMES}|{_NAMES_DE}|{_NAMES_FR}|{_NAMES_ES})\b", re.IGNORECASE)
# What follows such words, so that they do not belong to more: "in the paper industry", "in the article on Rome".
_THEN = (
    r"(?:(?=\W*$)|,|(?= (?:who|whom|whose|what|when|where|which|why|how|is|are|was|were|do|does|did|has|have|had|can|could|will"
    r"|would|should|must|may|wer|wen|wem|wessen|wann|wo|welche[rsmn]?|warum|wie|den|die|das|der"
    r"|qui|que|quel(?:le)?s?|quand|où|pourquoi|comment|quién|qué|cuál|cuándo|dónde|cómo)\b))"
)
_ACCORDING_TO = re.compile(
    r"\b(?:according to|based on|in|from) (?:the|this|these|my|our|your) (?:given |provided |uploaded )?"
    rf"(?:{_ANY}|{_NAMES})\b{_THEN}"
    rf"|\baccording to (?:the|this) (?:authors?|writer|narrator)\b{_THEN}"
    rf"|\b(?:laut|gemäß|nach) (?:de[mrn]|diese[mr]) (?:{_ANY_DE}|{_NAMES_DE}|autor|verfasser)\b{_THEN}"
    rf"|\b(?:im|in (?:de[mr]|diese[mr])) (?:{_ANY_DE}|{_NAMES_DE})\b{_THEN}"
    rf"|\b(?:selon|d['’]après|dans) (?:l[ea] |cet? |cette |l['’])(?:{_ANY_FR}|{_NAMES_FR})\b{_THEN}"
    rf"|\bselon l['’]auteur\b{_THEN}"
    rf"|\b(?:según|en) (?:el|la|este|esta) (?:{_ANY_ES}|{_NAMES_ES})\b{_THEN}"
    rf"|\bsegún el autor\b{_THEN}"
    r"|(?:根据|依据|按照|在)(?:本|该|这(?:篇|份|个)?)(?:文档|文件|文章|文本|文)(?:中|里)?[，,]?",
    re.IGNORECASE,
)
# "What does the staff handbook say about", "what is said about", "tell me about": what is asked for is what follows.
_TOLD = re.compile(
    "|".join(
        (
            r"(?:\b(?:what|how) (?:else |exactly )?)?\b(?:do|does|did|can|could|will|would|should) "
            rf"(?:the|this|these|my|our|your) (?:(?P<of>(?:[\w'’-]+ ){{0,3}}?)(?:{_ANY}|{_NAMES})|authors?|writer|narrator)"
            r" (?:ever |not |also |actually )?(?:say|tell|state|mention|talk|describe|explain|define|discuss|cover)\b"
            r"(?: (?:us|me))?(?: (?:anything|something|much))?(?: (?:about|on|of|regarding|concerning)\b)?",
            r"(?:\bwhat )?\b(?:is|are|was|were) (?:said|told|written|stated|mentioned) (?:about|on|of|regarding|concerning)\b",
            r"^\W*(?:(?:is|are|was|were) there )?"
            r"(?:anything|something|any(?: more)? (?:information|details?|mention|rules?|words?))(?: said| written)?"
            r" (?:about|on|of|regarding|concerning)\b",
            r"^\W*(?:(?:please|(?:what )?(?:can|could) you(?: please)?) )?(?:tell|give|show|find) me"
            r"(?: more| all| everything| something| anything)?(?: information| details?| facts)?"
            r" (?:about|on|regarding|concerning)\b",
            # German
            rf"(?:\bwas )?\b(?:sag|steh|schreib)(?:t|en) (?:da[sz]u )?(?:das|der|die|diese[srm]?|im|in (?:de[mr]|diese[mr]))"
            rf" (?:{_ANY_DE}|{_NAMES_DE})(?: etwas)? (?:über|zu[mr]?)\b",
            r"^\W*(?:gibt es|steht da) (?:etwas|informationen|angaben|regeln) (?:über|zu[mr]?|von)\b",
            r"^\W*(?:bitte )?(?:erzähle?|sage?) mir (?:etwas |mehr |alles )?(?:über|von|zu[mr]?)\b",
            # French
            rf"(?:\bque )?\b(?:di(?:t|sent)|expliquent?) (?:l[ea]s? |ce[st]? |cette |l['’])(?:{_ANY_FR}|{_NAMES_FR})"
            r" (?:sur|(?:à propos|au sujet) d(?:e|u|es)|de)\b",
            r"^\W*y a-t-il (?:quelque chose|des (?:informations?|règles)) (?:sur|à propos d(?:e|u|es))\b",
            r"^\W*parle[sz]?[- ]moi d(?:e|u|es)\b",
            # Spanish
            rf"(?:\bqué )?\bdicen? (?:el|la|los|las|este|esta) (?:{_ANY_ES}|{_NAMES_ES}) (?:sobre|acerca de|de)\b",
            r"^\W*hay (?:algo|información|reglas) (?:sobre|acerca de|de)\b",
            r"^\W*(?:háblame|cuéntame|dime)(?: algo| más| todo)? (?:de|sobre|acerca de)\b",
            # Chinese
            r"(?:本|该|这(?:篇|份|个|本)?)?(?:文档|文件|文章|手册|报告|指南|合同)(?:中|里|上)?(?:是)?(?:怎么|如何)?"
            r"(?:说|讲|写|提到)了?(?:些|哪些)?(?:什么|内容)?(?=\W*$)",
            r"(?:文档|文件|文章|手册|报告|指南|合同)(?:中|里|上)?(?=关于|对)",
        )
    ),
    re.IGNORECASE,
)
_ASKED_OF = re.compile(
    r"\b(?P<helping>do|does|did|has|have|had|would|could|can|will|should) (?:the|this) "
    r"(?:(?:authors?|writer|narrator)(?= \w)(?! (?:of|on|about|by|from)\b)"
    rf"|(?:{_ANY}|{_NAMES})(?= (?:ever |not |also )?(?:give|list|name|call|claim|argue|suggest|recommend|conclude|note|report"
    r"|compare|refer|contain|include|require|allow|forbid|prohibit)\b))",
    re.IGNORECASE,
)
_AUTHOR = re.compile(
    r"\b(?:(?P<whose>{the}['’]s)|(?P<is>is {the}(?!\W*$))|(?P<was>was {the}(?!\W*$))|(?P<does>does {the})|(?P<has>has {the})"
    r"|(?<!is )(?<!was )(?P<who>{the}))\b(?!['’]s)(?! (?:of|on|about|by|from|is|has|was)\b)".format(
        the=r"the (?:author|writer|narrator)"
    ),
    re.IGNORECASE,
)
_OWN = {"does": "do I", "has": "have I", "is": "am I", "was": "was I", "whose": "my", "who": "I"}
# What happened is what is asked for, and told by other words than these.
_HAPPENED = re.compile(
    r"\b(what(?: else)?) (?:has |had )?(?:happen(?:ed|s)?|occur(?:red|s)?|(?:took|takes) place|(?:went|goes) on)\b"
    r"|\b(was) (?:geschah|geschieht|passierte?)\b"
    r"|\b(qu)(?:e s['’]est-il passé|['’]est-il arrivé|['’]est-ce qui (?:s['’]est passé|est arrivé))"
    r"|\b(qué) (?:pasó|pasa|sucedió|sucede|ocurrió|ocurre)\b",
    re.IGNORECASE,
)
