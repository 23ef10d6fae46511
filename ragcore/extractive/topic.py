"""The documents that a question names, and questions about their author."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import PurePath

from ragcore.extractive.summary_requests import topic_of
from ragcore.text.keywords import content_words

MIN_SHARE = 0.65  # least share of the idf of a name's words that a question must have to name the document
KINDS = (  # words for a document
    r"(?:documents?|texts?|passages?|articles?|papers?|essays?|files?|reports?|(?:hand)?books?|manuals?"
    r"|guide(?:line)?s?"
    r"|leaflets?|brochures?|chapters?|slides?|presentations?|letters?|e-?mails?|notes?|minutes"
    r"|contracts?|agreements?"
    r"|polic(?:y|ies)|dokument(?:e[ns]?|s)?|texte[ns]?|artikeln?|buch|berichte?|vertrag|anleitung"
    r"|leitfaden|broschüre|kapitel"
    r"|präsentation|folien|brief|protokoll|textes?|manuel|rapports?|livre|chapitre|présentation|lettre"
    r"|courriel|contrat"
    r"|règlement|documentos?|textos?|artículos?|guía|informes?|libro|folleto|capítulo|presentación"
    r"|carta|correo|contrato|reglamento)"
)
_KIND = re.compile(rf"\b(?:hand)?{KINDS}\b", re.IGNORECASE)
_AUTHOR = re.compile(
    r"\bthe (?:author|writer|narrator)(?P<own>['’]s)?(?= (?!(?:of|on|about|by|from|and|or)\b)\w)",
    re.IGNORECASE,
)


def in_first_person(question: str) -> str:
    """Replace "the author" by "I", because an author's text is mostly in the first person: "What did I
    do"."""
    return _AUTHOR.sub(lambda author: "my" if author["own"] else "I", question)


def find_named(question: str, documents: Iterable[str]) -> set[str]:
    """The file names that the question names, by the idf of their words among all names: "Northwind Standard"
    is northwind_standard_details.pdf and not northwind_plus_details.pdf. Empty if all have the same words."""
    words = {name: set(content_words(re.sub(r"[\W_]+", " ", PurePath(name).stem))) for name in documents}
    counts = Counter(word for of_name in words.values() for word in of_name)
    # 0 for a word of all names
    idf = {word: math.log((1 + len(words) / count) / 2) for word, count in counts.items()}
    in_question = set(content_words(question))

    def weight(of_name: set[str]) -> float:
        return sum(idf[word] for word in sorted(of_name))

    return {
        name
        for name, own in words.items()
        if weight(own) > 0 and MIN_SHARE * weight(own) <= weight(own & in_question)
    }


def find_titled(topic: str, documents: Iterable[str]) -> set[str]:
    """The file names that have all words of the topic: "the roof e-mail" is 1_roof.eml."""
    own = set(content_words(_KIND.sub(" ", topic))) or set(content_words(topic))
    return {name for name in documents if own and own <= set(content_words(re.sub(r"[\W_]+", " ", name)))}


def quoted_names(message: str, documents: Iterable[str]) -> set[str]:
    """The file names that are in the message word for word, with or without their ending; of two that
    overlap, the longer. A name without its ending needs another word than "report" or "summary".

    >>> sorted(
    ...     quoted_names("Summarise Lease 2024 and photo.png", ["Lease.pdf", "Lease 2024.pdf", "photo.png"])
    ... )
    ['Lease 2024.pdf', 'photo.png']
    """
    text, places = message.casefold(), dict[str, tuple[int, int]]()
    for name in documents:
        stem = PurePath(name).stem
        if stem.casefold() not in text:
            continue
        for form in (name, *([stem] if content_words(_KIND.sub(" ", topic_of(stem))) else [])):
            if match := re.search(rf"(?<![\w.]){re.escape(form.casefold())}(?!\.?[a-z0-9_])", text):
                places[name] = match.span()
                break
    return {
        name
        for name, (start, end) in places.items()
        if not any(
            first <= start and end <= last and last - first > end - start for first, last in places.values()
        )
    }
