"""Which documents a question names, and what it asks of their author."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import PurePath

from ragcore.extractive.summary_requests import topic_of
from ragcore.text.keywords import content_words

NAMED = 0.65
KINDS = (  # what people call a text that they have put in
    r"(?:documents?|texts?|passages?|articles?|papers?|essays?|files?|reports?|(?:hand)?books?|manuals?|guide(?:line)?s?"
    r"|leaflets?|brochures?|chapters?|slides?|presentations?|letters?|e-?mails?|notes?|minutes|contracts?|agreements?"
    r"|polic(?:y|ies)|dokument(?:e[ns]?|s)?|texte[ns]?|artikeln?|buch|berichte?|vertrag|anleitung|leitfaden|broschüre|kapitel"
    r"|präsentation|folien|brief|protokoll|textes?|manuel|rapports?|livre|chapitre|présentation|lettre|courriel|contrat"
    r"|règlement|documentos?|textos?|artículos?|guía|informes?|libro|folleto|capítulo|presentación|carta|correo|contrato"
    r"|reglamento)"
)
_KIND = re.compile(rf"\b(?:hand)?{KINDS}\b", re.IGNORECASE)
_AUTHOR = re.compile(
    r"\bthe (?:author|writer|narrator)(?P<own>['’]s)?(?= (?!(?:of|on|about|by|from|and|or)\b)\w)", re.IGNORECASE
)


def in_first_person(question: str) -> str:
    """As who wrote the document would ask it: "What did I do" for "What did the author do". Nearly all that is asked of
    an author is said in the first person, and an embedder finds that better by it."""
    return _AUTHOR.sub(lambda author: "my" if author["own"] else "I", question)


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
    asked = set(content_words(_KIND.sub(" ", topic))) or set(content_words(topic))
    return {name for name in documents if asked and asked <= set(content_words(re.sub(r"[\W_]+", " ", name)))}


def quoted_names(message: str, documents: Iterable[str]) -> set[str]:
    """Those of these names of files that stand in the message word for word, with or without their ending; of one within
    another only the longer. Without its ending a name must say more than the kind of text, or that a summary is asked for.

    >>> sorted(quoted_names("Summarise Lease 2024 and photo.png", ["Lease.pdf", "Lease 2024.pdf", "photo.png"]))
    ['Lease 2024.pdf', 'photo.png']
    """
    said, places = message.casefold(), dict[str, tuple[int, int]]()
    for name in documents:
        stem = PurePath(name).stem
        if stem.casefold() not in said:
            continue
        for called in (name, *([stem] if content_words(_KIND.sub(" ", topic_of(stem))) else [])):
            if found := re.search(rf"(?<![\w.]){re.escape(called.casefold())}(?!\.?[a-z0-9_])", said):
                places[name] = found.span()
                break
    return {
        name
        for name, (start, end) in places.items()
        if not any(first <= start and end <= last and last - first > end - start for first, last in places.values())
    }
