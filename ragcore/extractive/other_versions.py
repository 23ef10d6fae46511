"""What other versions of a document say instead of the quoted sentences, with their dates."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragcore.extractive.fixed_replies import Wordings, in_language_of
from ragcore.extractive.reader import candidates
from ragcore.extractive.summary import escape_name
from ragcore.prompts.prompt import Passage
from ragcore.text.keywords import content_words, words
from ragcore.text.quotable_sentences import Quote, distinct, document_of

MIN_SAME_SENTENCE = 0.5  # Jaccard index of the words of a sentence and that of another version
MIN_SHARED = 3  # words of which one may have been replaced

_DIGIT = re.compile(r"\d")
_OTHERS: Wordings = {
    "en": "This is from {version}. Other versions say:",
    "de": "So steht es in {version}. In anderen Fassungen steht:",
    "es": "Esto es de {version}. Otras versiones dicen:",
    "fr": "Ceci vient de {version}. D’autres versions disent :",
    "zh": "以上内容来自{version}。其他版本的说法：",
}
_NOT_LEADING: Wordings = {
    "en": "This is from {version}, not from {leader}:",
    "de": "Das ist aus {version}, nicht aus {leader}:",
    "es": "Esto es de {version}, no de {leader}:",
    "fr": "Ceci vient de {version}, pas de {leader} :",
    "zh": "以下内容来自{version}，而不是{leader}：",
}


def without_other_versions(passages: Sequence[Passage]) -> list[Passage]:
    """The passages of the versions that lead. All of them, if they are only of others."""
    return [passage for passage in passages if not passage.leader] or list(passages)


def in_leading_version(question: str, quotes: Sequence[Quote], passages: Sequence[Passage]) -> list[Quote]:
    """The quotes, and in the place of each from another version the sentence of the one that leads."""
    by_number = {passage.number: passage for passage in passages}
    leading: list[Quote] = []
    for quote in quotes:
        quoted = by_number.get(quote.marks[0]) if quote.marks else None
        of_leader = [
            found
            for passage in passages
            if quoted is not None and quoted.leader and document_of(passage.source) == quoted.leader
            if (found := _in_place(question, quote, passage)) is not None
        ]
        leading += of_leader[:1] or [quote]
    return distinct(leading)


def differing_versions(question: str, quotes: Sequence[Quote], passages: Sequence[Passage]) -> str:
    """A paragraph with the version of the quotes, and the sentences of other versions that say something else
    in their place. "" if there are none."""
    by_number = {passage.number: passage for passage in passages}
    differing: dict[str, list[str]] = {}
    version = ""
    for quote in quotes:
        quoted = by_number.get(quote.marks[0]) if quote.marks else None
        if quoted is None or not quoted.version or quoted.leader:
            continue
        for other in passages:
            found = _in_place(question, quote, other) if other.leader == quote.document else None
            if found is not None and found.text != quote.text and other.version not in found.text:
                version = version or name_version(quoted)
                differing.setdefault(name_version(other), []).append(str(found))
    if not differing:
        return ""
    lines = [f"- {name}: {' '.join(dict.fromkeys(texts))}" for name, texts in differing.items()]
    return "\n\n".join([in_language_of(question, _OTHERS).format(version=version), "\n".join(lines)])


def note_other_version(question: str, quotes: Sequence[Quote], passages: Sequence[Passage]) -> str:
    """The sentence to put above quotes that are of another version than the one that leads; else ""."""
    by_number = {passage.number: passage for passage in passages}
    quoted = by_number.get(quotes[0].marks[0]) if quotes and quotes[0].marks else None
    if quoted is None or not quoted.leader:
        return ""
    wording = in_language_of(question, _NOT_LEADING)
    return wording.format(leader=f"**{escape_name(quoted.leader)}**", version=name_version(quoted))


def name_version(passage: Passage) -> str:
    """The name of the passage's document with the date of this version, in Markdown."""
    return f"**{escape_name(document_of(passage.source))}** ({escape_name(passage.version)})"


def _in_place(question: str, quote: Quote, passage: Passage) -> Quote | None:
    """The sentence of a passage of another version that is most like the quote, and has the words that it
    shares with the question, of MIN_SHARED words all but one. None if there is none."""
    shared = {*content_words(question)} & {*words(quote.read_with_lead)}
    # "Allowed" may have become "forbidden"; but the row of another thing is not in its place.
    may_lack = 1 if len(shared) >= MIN_SHARED and not quote.is_row else 0
    sought = _without_numbers(quote)
    best, most_alike = None, MIN_SAME_SENTENCE
    for sentence in candidates([passage]):
        if sentence.text == quote.text:
            return sentence
        terms = _without_numbers(sentence)
        alike = len(sought & terms) / max(len(sought | terms), 1)
        if alike >= most_alike and len(shared - {*words(sentence.read_with_lead)}) <= may_lack:
            best, most_alike = sentence, alike
    return best


def _without_numbers(quote: Quote) -> set[str]:
    return {word for word in words(quote.text) if not _DIGIT.search(word)}
