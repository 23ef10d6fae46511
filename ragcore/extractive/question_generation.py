"""Questions that a text answers: "Rain is wet because ..." gives "Why is rain wet?"

Further questions are about its headings and keywords, in the language of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from ragcore.extractive.follow_up import depends_on_context
from ragcore.extractive.question_patterns import question_for
from ragcore.text import language
from ragcore.text.key_phrases import in_ordinary_case, is_distinctive, keywords
from ragcore.text.keywords import content_words, words
from ragcore.text.language import SMALL_WORDS
from ragcore.text.prose import is_prose
from ragcore.text.quotable_sentences import quotes_in

MAX_TOPICS = 12
MAX_WORDS = 15  # words of a question

_QUESTION = re.compile(r"[?？؟]$")
_QUESTION_AT_START = re.compile(r"[^.!?？؟]{6,}[?？؟]")  # at the beginning of a quote with its short answer
_LABEL_WORD = r"(?:Q|F|P|Question|Frage|Pregunta|问题?)"  # in a list of questions and answers
_LABEL = re.compile(_LABEL_WORD + r"\s?\d*\s?[:.)：]\s*")
_ASIDE = re.compile(r", (?:I|we|you|he|she|they) \w+,")
_SMALL = re.compile(r"\b[^\W\d_A-ZÀ-Þ]\w+")
_ABOUT = {
    "en": "What can you tell me about {}?",
    "de": "Was steht hier über „{}“?",  # quotation marks, because then it needs no article and no case
    "fr": "Que dit-on ici de « {} » ?",
    "es": "¿Qué se dice aquí de «{}»?",
    "zh": "{}是什么？",
}


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """A question, and the sentence of the text that answers it; or the question as it stands in the text."""

    text: str
    sentence: str


def questions_in(text: str, whole: str = "") -> Iterator[str]:
    """The questions in the text, those that its sentences answer, then ones about its headings and keywords.

    Each names its topic and is unique. `whole`: the whole document, which shows the words that are no names.
    """
    about = _ABOUT[language_of(text)]
    answered = (question.text for question in _of_sentences(text, whole))
    questions = dict.fromkeys(chain(answered, map(about.format, topics_in(text))))
    yield from (question for question in questions if _is_short(question))


def questions_of_sentences(text: str, whole: str = "") -> Iterator[AnsweredQuestion]:
    """Like `questions_in`, but only of whole sentences of prose. The words of a menu, a caption or a
    table make no sensible question."""
    seen: set[str] = set()
    spoken = language_of(whole or text)
    for question in _of_sentences(text, whole):
        if question.text not in seen and _is_short(question.text) and is_prose(question.sentence, spoken):
            seen.add(question.text)
            yield question


def _is_short(question: str) -> bool:
    return len(question.split()) <= MAX_WORDS


def prose_sentences(text: str) -> Iterator[str]:
    """The whole sentences of prose of a text, without its headings, rows and items."""
    language = language_of(text)
    for quote in quotes_in(text, number=0):
        if quote.bullet is None and is_prose(quote.text, language):
            yield quote.text


def stands_in(question: str, sentence: str) -> bool:
    """Whether each word of the question that means something stands in the sentence; False if it has none.

    >>> stands_in("When was the tower built?", "The tower was built in 1871.")
    True
    """
    small = SMALL_WORDS.get(language.language_of(question), frozenset())
    sought = {*content_words(question)} - small
    return bool(sought) and sought <= {*words(sentence)}


def topics_in(text: str) -> Iterator[str]:
    """The headings of the text that are no questions, then its keywords, the best first."""
    leads = dict.fromkeys(quote.lead for quote in quotes_in(text, number=0) if quote.lead)
    headings = [lead for lead in leads if not _QUESTION.search(lead) and ":" not in lead]
    yield from (
        in_ordinary_case(topic, text)
        for topic in [*headings, *keywords(text, MAX_TOPICS)]
        if is_distinctive(topic)
    )


def language_of(text: str) -> str:
    """The language of questions about the text: "en", "de", "fr", "es" or "zh"; "en" for every other."""
    spoken = language.language_of(text)
    return spoken if spoken in _ABOUT else "en"


def _of_sentences(text: str, whole: str) -> Iterator[AnsweredQuestion]:
    quotes = quotes_in(text, number=0)
    for lead in dict.fromkeys(quote.lead for quote in quotes if quote.lead):
        if _QUESTION.search(lead):
            yield from _as_written(lead, text)
    known = frozenset(_SMALL.findall(whole or text))
    for quote in quotes:
        if question := _QUESTION_AT_START.match(quote.text):
            yield from _as_written(question.group(), text)
        elif generated := question_for(quote.text, known):
            yield AnsweredQuestion(generated, quote.text)


def _as_written(question: str, text: str) -> Iterator[AnsweredQuestion]:
    """The question, if it begins a line. Inside a paragraph it is often rhetorical."""
    labelled = _LABEL.match(question)
    question = question[labelled.end() :] if labelled else question
    first_words = r"\s+".join(map(re.escape, question.split()[:4]))
    heads_a_line = re.search(rf"^[\W\d_]*(?:{_LABEL_WORD}[\W\d]+)?{first_words}", text, re.MULTILINE)
    if heads_a_line and not _ASIDE.search(question) and not depends_on_context(question):
        written = in_ordinary_case(question, text)
        yield AnsweredQuestion(written, written)
