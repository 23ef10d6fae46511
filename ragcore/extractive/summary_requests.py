"""Recognises requests for a summary, with their topic, length and language."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ragcore.text.language import language_of

_THIS = (
    r"(?:this|these|those|the|it|they|my|our|your|all|each|every|provided|given|uploaded|following"
    r"|texts?|documents?|files?|papers?|reports?|articles?|pages?|essays?|books?|content|passages?|library)"
)


@dataclass(frozen=True, slots=True)
class _Patterns:
    """Regular expressions of a language. `filler`: words without a topic. `counts`: one to ten."""

    wish: str
    about: str
    filler: str
    counts: str
    sentences: str
    words: str


_LANGUAGES: Mapping[str, _Patterns] = {
    "en": _Patterns(
        r"summar(?:y|ies|i[sz]e\w*|i[sz]ing)|overview|synopsis|takeaways?|tl;?dr|gist|in a nutshell"
        r"|(?:main|key|central|important) (?:points?|ideas?|topics?|themes?|findings)",
        rf"what (?:is|are|'s|does|do) (?:{_THIS} )+(?:is |are )?(?:about|cover|say|deal with|discuss"
        rf"|contain)\b.{{0,12}}$|what (?:{_THIS} )+(?:is|are) about|what(?: is|'s| are) in (?:{_THIS}\W+)+$"
        r"|what(?: is|'s| are) (?=(?:[^.?!]|\.\b){1,80} about\W*(?:$|[.?!]))",
        r"(?:\d+|two|three|four|five|six|both)(?= (?:documents|files|texts|papers|reports|articles))"
        rf"|{_THIS}|everything|please|can|could|would|you|give|me|us|write|make|create|provide|tell"
        r"|show|want|need|i|a|an|of|for"
        r"|from|in|on|and|is|are|what|also|some|that|have|answer|describe|questions?|short|brief(?:ly)?"
        r"|long|detailed|quick|concise|top"
        r"|max\w*|whole|entire|with(?:in)?|to|using|about|around"
        r"|at most|(?:not?|less|fewer) (?:more )?than|under|up to|exactly|only"
        r"|(?:(?:\d+|one|two|three|four|five|six|ten) )?(?:sentences?|words?|paragraphs?"
        r"|(?:bullet )?points?|bullets?)",
        "one|a single|an?,two,three,four,five,six,seven,eight,nine,ten",
        "(?:(?:short|brief|simple|main|key|central|important|bullet)[ -]){0,2}"
        "(?:sentences?|points?|bullets?|takeaways|ideas|findings|lines?)",
        "words?",
    ),
    "de": _Patterns(
        r"zusammen(?:fassung|fassen)|fasse?(?=\b.{0,60}\bzusammen)|überblick|(?:haupt|kern)(?:punkte"
        r"|aussagen?|themen)|wichtigste[nr]? (?:punkte|aussagen|themen)",
        "wo(?:rum|von) (?:geht es|handel[nt])(?: i[nm])?|was steht i[nm]",
        r"bitte|zusammen|antworte|mir|uns|gib|einen?|eine[rsm]?|de[rsnm]|die|das|diese[srmn]?|(?:meine"
        r"|unsere|ihre)[rsnm]?|alle[smn]?|jede[nsmr]?|über|von|zu"
        r"|dokument(?:e[ns]?|s)?|text(?:es?|en)?|datei(?:en)?|worum|geht|es|um|kurz(?:e[nr]?)?|mit"
        r"|höchstens|maximal|etwa|ungefähr|genau|nur",
        "eine[mnr]?|einzigen,zwei,drei,vier,fünf,sechs,sieben,acht,neun,zehn",
        "(?:(?:kurze[nr]?|wichtigste[nr]?) ){0,2}(?:sätze?n?|satz|(?:stich|haupt|kern)?punkte?n?)",
        "wörtern?|worte?n?",
    ),
    "es": _Patterns(
        r"resum(?:en|ir)\b|sinopsis|(?:puntos?|ideas?) (?:clave|principal(?:es)?)",
        r"de qué (?:trata|habla|va)n?|^\W*resum[aei]\w*\b",
        "el|los|las|este|esta|estos|estas|haz|dame|hazme|textos?|archivos?|del?|qué|tratan?|una?|tod[oa]s?|mis|sus|documentos?"
        "|responde|en|con|como máximo|menos de|unas?|solo",
        "una?|uno,dos,tres,cuatro,cinco,seis,siete,ocho,nueve,diez",
        "frases?|oraci(?:ón|ones)|puntos?",
        "palabras?",
    ),
    "fr": _Patterns(
        r"résum(?:é|er|ez|e)\b|aperçu|synthèse|points? (?:clés?|principaux)|idées? principales?",
        "de quoi (?:parle|traite|s'agit)(?:nt)?",
        "le|la|les|l|du|des|un|une|ce|cet|cette|ces|moi|fais|donne|textes?|fichiers?|de|quoi|parlent|parle|tou[ts]|toutes?|mes|vos"
        "|réponds|avec|au plus|moins de|environ",
        "une?,deux,trois,quatre,cinq,six,sept,huit,neuf,dix",
        "(?:courtes? )?phrases?|(?:principaux )?points|idées",
        "mots?",
    ),
    "zh": _Patterns(
        "总结|總結|摘要|概述|概括|概要|要点|要點|主要内容|主要內容",
        "(?:讲|說|说|講|写|關於|关于)(?:了|的是)?什么",
        "请|請|这|這|些|所有|全部|文档|文件|文章|本文|一下|内容|的|了|个|篇|用|不超过|大约|约|在",
        "一,两|兩|二,三,四,五,六,七,八,九,十",
        "句话?|[个個]?要?[点點]",
        "个?[字词]",
    ),
}  # fmt: skip


def _any(name: str) -> str:
    """The alternatives of all languages, those of spaced scripts as whole words."""
    spaced = "|".join(
        getattr(patterns, name) for language, patterns in _LANGUAGES.items() if language != "zh"
    )
    return rf"\b(?:{spaced})\b|{getattr(_LANGUAGES['zh'], name)}"


def _wishes(languages: Iterable[_Patterns]) -> re.Pattern[str]:
    return re.compile(
        "|".join(rf"(?:\b|(?<=[一-鿿]))(?:{each.wish})|{each.about}" for each in languages), re.IGNORECASE
    )


_WISHES_IN = {language: _wishes([patterns]) for language, patterns in _LANGUAGES.items()}
_WISHES = _wishes(_LANGUAGES.values())
_FILLER = re.compile(_any("filler"), re.IGNORECASE)
_COUNTS = [
    "|".join(words)
    for words in zip(*(patterns.counts.split(",") for patterns in _LANGUAGES.values()), strict=True)
]
_LENGTH = re.compile(
    rf"(?<![^\W_一-鿿])(?P<count>\d{{1,3}}|{'|'.join(_COUNTS)})\s*(?:(?P<words>{_any('words')})"
    rf"|{_any('sentences')})",
    re.IGNORECASE,
)
_MARKS = " .,;:!?¿¡？。，！؟\"'()"
_NOUN = re.compile(
    r"\b(?:summar(?:y|ies)|overview|synopsis|résumé|resumen|zusammenfassung|überblick)\b", re.IGNORECASE
)
# "Who wrote the summary?" and "Is the price in the overview?" are questions about a summary, not requests for
# one.
_ASKS_ABOUT_ONE = re.compile(
    r"^(?!.*\b(?:give|write|make|show|send|tell) (?:me|us)\b)\W*(?:who|whose|whom|when|where|why"
    r"|how(?! about\b)|wer|wann|wo|qui|quand|où|quién|cuándo|(?:can|could|may|might)(?! you\b| (?:i"
    r"|we) (?:please )?(?:have|get|see)\b)"
    r"|(?:is|are|was|were|am|do|does|did|has|have|had|should|must|will|would)(?! you\b"
    r"| it (?:be )?possible\b))\b[^.?!]*+\W*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Length:
    """The requested length of a summary; None if there is none."""

    sentences: int | None = None
    words: int | None = None  # at most; of Chinese, characters


def requested_length(message: str) -> Length:
    """ "in three sentences", "the 5 main points", "in under 100 words": in the same languages."""
    match = _LENGTH.search(message)
    if match is None:
        return Length()
    number = match["count"]
    in_words = (at for at, words in enumerate(_COUNTS, 1) if re.fullmatch(words, number, re.IGNORECASE))
    count = int(number) if number.isdecimal() else next(in_words)
    return Length(words=count or None) if match["words"] else Length(sentences=count or None)


def is_summary_request(message: str) -> bool:
    """ "Summarise the report", "what is this about?", "main points": in English, German, Spanish, French and
    Chinese."""
    return _WISHES.search(_NOUN.sub(" ", message) if _ASKS_ABOUT_ONE.search(message) else message) is not None


def request_language(message: str) -> str:
    """The language (ISO 639-1) of the request; "" if it is unclear."""
    wished = [language for language, pattern in _WISHES_IN.items() if pattern.search(message)]
    likely = language_of(message)
    return likely if likely in wished or not wished else wished[0]


def topic_of(message: str) -> str:
    """The topic of the requested summary; "" for a summary of everything."""
    return " ".join(_FILLER.sub(" ", _WISHES.sub(" ", _LENGTH.sub(" ", message))).split()).strip(_MARKS)
