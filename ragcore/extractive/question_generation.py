"""Questions that a text answers, made from its own sentences by plain rules: "Rain is wet because ..." gives "Why is rain wet?"

What no rule knows becomes a question about a heading or a keyword, in the language of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragcore.extractive.follow_up import leans_on_context
from ragcore.extractive.question_patterns import asked_by
from ragcore.text import language
from ragcore.text.key_phrases import in_ordinary_case, is_telling, keywords
from ragcore.text.quotable_sentences import quotes_in

MOST_TOPICS = 12
LONGEST = 15  # words of a question

_QUESTION = re.compile(r"[?？؟]$")
_ASKED = re.compile(r"[^.!?？؟]{6,}[?？؟]")  # at the beginning of a quotation that holds its short answer too
_LABEL_WORD = r"(?:Q|F|P|Question|Frage|Pregunta|问题?)"  # in a list of questions and answers
_LABEL = re.compile(_LABEL_WORD + r"\s?\d*\s?[:.)：]\s*")
_ASIDE = re.compile(r", (?:I|we|you|he|she|they) \w+,")
_SMALL = re.compile(r"\b[^\W\d_A-ZÀ-Þ]\w+")
_ABOUT = {
    "en": "What can you tell me about {}?",
    "de": "Was steht hier über „{}“?",  # in quotation marks it needs neither an article nor a case
    "fr": "Que dit-on ici de « {} » ?",
    "es": "¿Qué se dice aquí de «{}»?",
    "zh": "{}是什么？",
}


def questions_in(text: str, whole: str = "") -> Iterator[str]:
    """Questions that stand in the text or that one of its sentences answers, then ones about its headings and keywords.

    Each names what it is about, none comes twice. `whole`: what it is a part of, and shows which words are no names.
    """
    given: set[str] = set()
    for question in _all(text, whole):
        if question not in given and len(question.split()) <= LONGEST:
            given.add(question)
            yield question


def questions_of_sentences(text: str, whole: str = "") -> Iterator[str]:
    """As `questions_in`, without the ones about headings and keywords."""
    yield from (question for question in dict.fromkeys(_of_sentences(text, whole)) if len(question.split()) <= LONGEST)


def topics_in(text: str) -> Iterator[str]:
    """Its headings that are no questions, then its keywords, the most telling first."""
    leads = dict.fromkeys(quote.lead for quote in quotes_in(text, number=0) if quote.lead)
    headings = [lead for lead in leads if not _QUESTION.search(lead) and ":" not in lead]
    for topic in [*headings, *keywords(text, MOST_TOPICS)]:
        if is_telling(topic):
            yield in_ordinary_case(topic, text)


def asked_about(topic: str, spoken: str) -> str:
    """What is said about a topic. `spoken`: as `language_of` gives it."""
    return _ABOUT[spoken].format(topic)


def language_of(text: str) -> str:
    """One that a question can be worded in: "en", "de", "fr", "es" or "zh"; "en" for every other."""
    spoken = language.language_of(text)
    return spoken if spoken in _ABOUT else "en"


def _all(text: str, whole: str) -> Iterator[str]:
    yield from _of_sentences(text, whole)
    spoken = language_of(text)
    yield from (asked_about(topic, spoken) for topic in topics_in(text))


def _of_sentences(text: str, whole: str) -> Iterator[str]:
    quotes = quotes_in(text, number=0)
    for lead in dict.fromkeys(quote.lead for quote in quotes if quote.lead):
        if _QUESTION.search(lead):
            yield from _as_written(lead, text)
    known = frozenset(_SMALL.findall(whole or text))
    for quote in quotes:
        if asked := _ASKED.match(quote.text):
            yield from _as_written(asked.group(), text)
        elif question := asked_by(quote.text, known):
            yield question


def _as_written(question: str, text: str) -> Iterator[str]:
    """A question that stands at the head of its answer: what is asked in the middle of a paragraph is often no question."""
    labelled = _LABEL.match(question)
    question = question[labelled.end() :] if labelled else question
    first_words = r"\s+".join(map(re.escape, question.split()[:4]))
    heads_a_line = re.search(rf"^[\W\d_]*(?:{_LABEL_WORD}[\W\d]+)?{first_words}", text, re.MULTILINE)
    if heads_a_line and not _ASIDE.search(question) and not leans_on_context(question):
        yield in_ordinary_case(question, text)
