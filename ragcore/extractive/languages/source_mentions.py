"""Mentions of the document in a question, in five languages: "according to the document".

They are removed, because few sentences of a document mention the document or its author.
"""

from __future__ import annotations

import re
from itertools import chain

from ragcore.extractive.topic import KINDS, in_first_person
from ragcore.text.keywords import content_words

_THE = r"(?:the|this|these|my|our|your)"
_EN = rf"(?:{KINDS}|authors?|writer|narrator)\b"
_DE = rf"(?:das|de[mrn]|die|diese[mrs]?) (?:\w*{KINDS}|autor|verfasser)\b"
_FR = rf"(?:l[ea] |l['’]|cet? |cette )(?:{KINDS}|auteur)\b"
_ES = rf"(?:el|la|este|esta) (?:{KINDS}|autor)\b"
_ZH = r"(?:本|该|这[篇份个本]?)?(?:文档|文件|文章|文本|手册|报告|指南|合同|(?<=[本该篇])文)[中里上]?"
# Not "in the paper industry" or "in the article on Rome".
_END = r"(?=\W*$|[,:]| (?:w[aehio]\w+|how|is|are|do|does|did|qu\w+|cuá\w+|comment|cómo|dónde)\b)"
# of the document, of its author, and phrases such as "what does it say about" and "what happened"
_MENTIONS = {
    "en": (
        rf"\b(?:according to|based on) {_THE} (?:[\w'’-]+ ){{0,3}}?{_EN}{_END},?",
        rf"\b(?:(?:mentioned|described) )?(?:in|from) {_THE} {_EN}{_END},?",
        rf"(?:\b(?:what|how) )?\b(?:do|does|did) {_THE} (?:[\w'’-]+ ){{0,3}}?{_EN}"
        r" (?:say|tell|state|mention|describe|explain|define|discuss|cover)\b(?: (?:us|me|anything"
        r"|something|about|on)\b)*",
        (
            rf"\b(?:do|does|did) {_THE} {_EN}(?= (?:allow|require|recommend|suggest|include|contain|list"
            r"|give)\b)"
        ),
        (
            r"^\W*(?:(?:what|is|are|there|anything|something|any|information|said"
            rf"|in {_THE} {_EN}) )+(?:about|on)\b"
        ),
        r"\bhappen(?:ed|s)\b",
    ),
    "de": (
        rf"\b(?:laut (?:{_DE}|\w*{KINDS}\b)|(?:nach|in) {_DE}{_END}|im \w*{KINDS}{_END}),?",
        (
            rf"(?:\bwas )?\b(?:sagt|steht) (?:{_DE}|in {_DE}|im \w*{KINDS}\b),?(?: (?:dazu|etwas|über"
            r"|zu[mr]?)\b,?)*"
        ),
        r"^\W*(?:gibt es (?:etwas|informationen)|erzähle? mir(?: etwas)?) (?:über|von|zu[mr]?)\b",
        r"\b(?:geschah|geschieht|passierte?)\b",
    ),
    "fr": (
        rf"\b(?:(?:selon|d['’]après) {_FR}|dans {_FR}{_END}),?",
        rf"(?:\bque )?\bdi(?:t|sent) {_FR} (?:sur|de)\b",
        r"^\W*(?:y a-t-il (?:quelque chose|des (?:informations|règles))|parle[sz]?[- ]moi) (?:sur|de)\b",
        r"(?<=\bqu)e s['’]est-il passé\b",
    ),
    "es": (
        rf"\b(?:según {_ES}|en {_ES}{_END}),?",
        rf"(?:\bqué )?\bdicen? {_ES} (?:sobre|de)\b",
        r"^\W*(?:hay (?:algo|información)|háblame|cuéntame) (?:sobre|de)\b",
        r"(?<=\bqué )(?:pasó|sucedió|ocurrió)\b",
    ),
    "zh": (
        rf"(?:根据|依据|按照|在){_ZH}(?!的)[，,]?",
        rf"{_ZH}(?=关于|对)|(?:{_ZH})?(?:说|讲|写|提到)了什么(?=\W*$)",
    ),
}
_MENTION = re.compile("|".join(chain.from_iterable(_MENTIONS.values())), re.IGNORECASE)


def remove_source_mentions(question: str) -> str:
    """The question without mentions of the document. If nothing else is in it, it does not change.

    >>> remove_source_mentions("What does the handbook say about the notice period?")
    'the notice period?'
    """
    rest = in_first_person(" ".join(_MENTION.sub(" ", question).split()).strip(" ,:，"))
    return rest if content_words(rest) else question
