"""Is this message a question, or a wish for a summary; and a summary of what?"""

from __future__ import annotations

import re
from dataclasses import dataclass

_WISH = (
    r"summar(?:y|ies|i[sz]e\w*|i[sz]ing)|overview|synopsis|"
    r"(?:main|key|central|important) (?:points?|ideas?|topics?|themes?|findings)|"
    r"takeaways?|tl;?dr|gist|in a nutshell|zusammen(?:fassung|fassen)|fasse?\b.{0,60}\bzusammen|überblick|"
    r"(?:haupt|kern)(?:punkte|aussagen?|themen)|wichtigste[nr]? (?:punkte|aussagen|themen)|"
    r"résum(?:é|er|ez|e)\b|aperçu|synthèse|points? (?:clés?|principaux)|idées? principales?|"
    r"resum(?:en|ir)\b|sinopsis|(?:puntos?|ideas?) (?:clave|principal(?:es)?)"
)
_THIS = (
    r"(?:this|these|those|the|it|they|my|our|your|all|provided|given|uploaded|following|texts?|documents?|files?|papers?|"
    r"reports?|articles?|pages?|essays?|books?|content|passages?)"
)
_ABOUT = (
    rf"what (?:is|are|'s|does|do) (?:{_THIS} )+(?:is |are )?(?:about|cover|say|deal with|discuss|contain)\b.{{0,12}}$|"
    rf"what (?:{_THIS} )+(?:is|are) about|"
    r"wo(?:rum|von) (?:geht es|handel[nt])|was steht (?:in|im)|de quoi (?:parle|traite|s'agit)|de qué (?:trata|habla|va)|"
    r"(?:讲|說|说|講|写|關於|关于)(?:了|的是)?什么"
)
_REQUEST = re.compile(
    rf"\b(?:{_WISH})|(?:{_ABOUT})|^\W*resum[aei]\w*\b|总结|總結|摘要|概述|概括|概要|要点|要點|主要内容|主要內容", re.IGNORECASE
)
# "Who wrote the summary?" asks for a fact.
_FACT = re.compile(
    r"^\W*(?:who|whose|whom|when|where|why|how (?:many|much|long|old)|wer|wann|wo|qui|quand|où|quién|cuándo)\b", re.IGNORECASE
)
# "Is the price in the overview?" asks about one.
_NOUN = re.compile(r"\b(?:summar(?:y|ies)|overview|synopsis|résumé)\b", re.IGNORECASE)
_ASKS_ABOUT_ONE = re.compile(
    r"^(?!.*\b(?:give|write|make|show|send|tell) (?:me|us)\b)\W*(?:how(?! about\b)"
    r"|(?:can|could|may|might)(?! you\b| (?:i|we) (?:please )?(?:have|get|see)\b)"
    r"|(?:is|are|was|were|am|do|does|did|has|have|had|should|must|will|would)(?! you\b| it (?:be )?possible\b))\b"
    r"[^.?!]*+\W*$",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"[?？؟]\s*$|^\W*(?:who|whom|whose|what|when|where|why|which|how|is|are|was|were|do|does|did|can|could|will|would|should|has|have|had"
    r"|wer|wen|wem|wessen|was|wann|wo|warum|wieso|welche\w*|wie|qui|que|quoi|quand|où|pourquoi|comment|combien|quel\w*"
    r"|quién\w*|qué|cuándo|dónde|por qué|cómo|cuánt\w+|cuál\w*)\b|[吗呢谁]|什么|哪|多少|几[个年]",
    re.IGNORECASE,
)
_FILLER = re.compile(
    rf"\b(?:(?:\d+|two|three|four|five|six|both)(?= (?:documents|files|texts|papers|reports|articles))|"
    rf"{_THIS}|please|can|could|would|you|give|me|us|write|make|create|provide|tell|show|want|need|i|a|an|of|for|from|in|on|and|is|"
    r"are|what|also|some|that|can|answer|describe|questions?|short|brief(?:ly)?|long|detailed|quick|concise|whole|entire|"
    r"(?:(?:\d+|one|two|three|four|five|six|ten) )?(?:sentences?|words?|paragraphs?|bullets?|bullet points?|points?)|"
    r"bitte|mir|gib|einen?|eine[rs]?|de[rsnm]|die|das|diese[sr]?|dokumente?|text(?:es)?|datei(?:en)?|worum|geht|es|um|"
    r"le|la|les|l|du|des|un|une|ce|cet|cette|ces|moi|fais|donne|documento?s?|texte|fichiers?|de|quoi|parle|"
    r"el|los|las|este|esta|estos|estas|haz|dame|hazme|texto|archivos?|del?|qué|trata)\b|请|請|这|這|文档|文件|文章|本文|一下|内容|的|了|个|篇",
    re.IGNORECASE,
)
_NUMBERS = {
    1: "one|a single|an?|eine[mnr]?|einzigen|une?|una?|uno|一", 2: "two|zwei|deux|dos|两|兩|二", 3: "three|drei|trois|tres|三",
    4: "four|vier|quatre|cuatro|四", 5: "five|fünf|cinq|cinco|五", 6: "six|sechs|seis|六", 7: "seven|sieben|sept|siete|七",
    8: "eight|acht|huit|ocho|八", 9: "nine|neun|neuf|nueve|九", 10: "ten|zehn|dix|diez|十",
}  # fmt: skip
_LENGTH = re.compile(
    r"(?:\b(?:in|with|within|to|using|the top|mit|en|avec|con)\s+|用)?"
    r"(?:\b(?:at most|no more than|not more than|less than|fewer than|under|up to|about|around|exactly|only|max(?:imum|\.)?"
    r"|höchstens|maximal|weniger als|etwa|ungefähr|genau|nur|au plus|moins de|environ|como máximo|menos de|unas?|solo)\s+)?"
    rf"(?<![^\W_一-鿿])(?P<count>\d{{1,3}}|{'|'.join(_NUMBERS.values())})\s*"
    r"(?:(?:short|brief|simple|main|key|central|important|bullet|kurze[nr]?|wichtigste[nr]?|courtes?|principaux)[ -]){0,2}"
    r"(?:(?P<words>words?|wörtern?|worte?n?|mots?|palabras?)\b|(?:sentences?|points?|bullets?|takeaways|ideas|findings|lines?"
    r"|sätze?n?|satz|(?:stich|haupt|kern)?punkte?n?|phrases?|idées|frases?|oraci(?:ón|ones)|puntos?)\b|句话?|[个個]?要?[点點])",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Length:
    """How long a summary is to be, as far as that was said."""

    sentences: int | None = None
    words: int | None = None  # at most


def asked_length(message: str) -> Length:
    """ "in three sentences", "the 5 main points", "in under 100 words": in the same languages."""
    found = _LENGTH.search(message)
    if found is None:
        return Length()
    said = found["count"].lower()
    count = int(said) if said.isdecimal() else next(number for number, word in _NUMBERS.items() if re.fullmatch(word, said))
    return Length(words=count or None) if found["words"] else Length(sentences=count or None)


def is_summary_request(message: str) -> bool:
    """ "Summarise the report", "what is this about?", "main points": in English, German, French, Spanish and Chinese."""
    wished = _NOUN.sub(" ", message) if _ASKS_ABOUT_ONE.search(message) else message
    return _REQUEST.search(wished) is not None and _FACT.search(message) is None


def is_question(message: str) -> bool:
    """A question about something, not a wish for a summary."""
    return _ASKS.search(message) is not None and not is_summary_request(message)


def topic_of(message: str) -> str:
    """What a summary is to be about; "" for the whole of it."""
    return " ".join(_FILLER.sub(" ", _REQUEST.sub(" ", _LENGTH.sub(" ", message))).split()).strip(_MARKS)


_MARKS = " .,;:!?¿¡？。，！؟\"'()"
