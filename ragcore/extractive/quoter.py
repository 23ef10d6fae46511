"""Answers without a language model: quotes the sentences that answer, with citations, and adds nothing.

It reads a question and passages, and no prompt. It needs no server, gives the same answer every time, and
cannot state anything that is not in the documents.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from ragcore.embeddings.base import Embedder
from ragcore.extractive.fixed_replies import (
    NO_MODEL,
    closest_passages,
    in_language_of,
    is_closest,
    is_refusal,
    nothing_about,
    without_heading,
)
from ragcore.extractive.follow_up import add_topic, remove_topic
from ragcore.extractive.languages.source_mentions import remove_source_mentions
from ragcore.extractive.other_versions import (
    differing_versions,
    in_leading_version,
    note_other_version,
    without_other_versions,
)
from ragcore.extractive.reader import MAX_QUOTED, Reader, Reading, candidates
from ragcore.extractive.summary import summarize
from ragcore.extractive.summary_requests import is_summary_request
from ragcore.observe import span
from ragcore.prompts.prompt import Origin, Passage, as_text
from ragcore.schema import ChatMessage, Outcome
from ragcore.text.quotable_sentences import Quote, distinct, join_quotes, quotes_in
from ragcore.text.quotable_units import LISTED

NAME = "extractive"  # in traces and facts, where other answers have the name of their model

_PIECE = re.compile(r"\s*(?:\S+\s*){1,3}|\s+")


@dataclass(frozen=True, slots=True)
class Answer:
    """`text` with its citations. `outcome` is None if no passages were searched."""

    text: str
    outcome: Outcome | None


class Quoter:
    """Quotes passages. Safe to share between threads.

    >>> from ragcore.embeddings.hashing import HashEmbedding
    >>> quoter = Quoter(HashEmbedding())
    >>> passages = [Passage("It is red. The office opened in 1998.", 1)]
    >>> reading = quoter.quote("When did the office open?", passages)
    >>> reading.outcome, [str(quote) for quote in reading.quotes]
    ('answer', ['The office opened in 1998. [1]'])
    >>> quoter.answer("When did the office open?", passages).text
    'The office opened in 1998. [1]'
    """

    def __init__(self, embedder: Embedder) -> None:
        self.reader = Reader(embedder)

    def quote(self, question: str, passages: Sequence[Passage]) -> Reading:
        """Reads the passages for the question. If a follow-up has no answer, it is read again without the
        words in brackets: "What about the boat? (lead marketing)" as "What about the boat?"."""
        question = remove_source_mentions(question)
        reading = self.reader.read(question, passages)
        alone = remove_topic(question)
        if reading.outcome == "answer" or alone == question:
            return reading
        read_alone = self.reader.read(alone, passages)
        return read_alone if read_alone.outcome == "answer" or reading.outcome == "nothing" else reading

    def answer(self, question: str, passages: Sequence[Passage]) -> Answer:
        """The quotes as text, or the summary that the question requests."""
        if is_summary_request(question):
            return self._summary(question, passages)
        reading = self.quote(question, without_other_versions(passages))
        if reading.outcome != "answer" and any(passage.leader for passage in passages):
            of_all = self.quote(question, passages)
            reading = replace(of_all, quotes=in_leading_version(question, of_all.quotes, passages))
        answer = _in_words(question, reading)
        if answer.outcome != "answer":
            return answer
        above = note_other_version(question, reading.quotes, passages)
        below = differing_versions(question, reading.quotes, passages)
        return replace(answer, text="\n\n".join(filter(None, [above, answer.text, below])))

    def answer_without_passages(self, question: str) -> Answer:
        """The reply that there is nothing to quote."""
        return Answer(in_language_of(question, NO_MODEL), None)

    def summarize(self, question: str, passages: Sequence[Passage]) -> Answer:
        """One answer from all passages. An empty question requests a summary, too. Passages without numbers
        are answers to combine, or texts."""
        if not any(passage.number is not None for passage in passages):
            texts = [passage.text for passage in passages]
            return self.combine(question, [Answer(text, outcome_of_reply(text)) for text in texts])
        return self.answer(question, passages) if question.strip() else self._summary(question, passages)

    def combine(self, question: str, answers: Sequence[Answer]) -> Answer:
        """One answer from several to the same question, each from passages of its own."""
        texts = [Passage(answer.text) for answer in answers]
        has_quotes = any(quote.marks for quote in candidates(texts))
        if not question.strip() or is_summary_request(question):
            return self._summary(question, texts, again=has_quotes)
        answering = [Passage(answer.text) for answer in answers if answer.outcome == "answer"]
        if has_quotes and answering:
            reading = self.quote(question, answering)
            return Answer(join_quotes(reading.quotes or reading.best_first[:MAX_QUOTED]), "answer")
        quoted = [Passage(without_heading(answer.text)) for answer in answers]
        return _in_words(question, self.quote(question, quoted))

    def refine(self, question: str, existing: Answer, passages: Sequence[Passage]) -> Answer:
        """The better one of the existing answer and a new one from its quotes and those of the passages."""
        if existing.outcome == "nothing" or not existing.text.strip():
            return self.answer(question, passages)
        quotes = quotes_in(without_heading(existing.text), number=None, passage=len(passages))
        if is_summary_request(question):
            new = self._summary(question, passages)
            answer = self._summary(question, [Passage(existing.text), Passage(new.text)], again=True)
        else:
            relevance = [*(passage.relevance for passage in passages), 1.0]
            everything = distinct([*quotes, *candidates(passages)])
            reading = self.reader.read_quotes(remove_source_mentions(question), everything, relevance)
            changed = (existing.outcome, reading.outcome) == ("closest", "answer")
            if changed and reading.best_first[0] in quotes:
                # A closest passage is no answer only because another passage was read with it.
                return existing
            answer = _in_words(question, reading)
        new_texts = {quote.text for quote in quotes_in(without_heading(answer.text), number=None)}
        worse = answer.outcome == "nothing" or (answer.outcome, existing.outcome) == ("closest", "answer")
        nothing_new = new_texts <= {quote.text for quote in quotes} and answer.outcome == existing.outcome
        return existing if worse or nothing_new else answer

    def condense(self, name: str, question: str, history: Sequence[ChatMessage]) -> str:
        """A follow-up with the words of the conversation that it depends on; see `add_topic`."""
        read = ((Origin.HISTORY, as_text(tuple(history))), (Origin.QUESTION, question))
        return record(name, read, lambda: Answer(add_topic(question, history), None)).text

    def _summary(self, question: str, passages: Sequence[Passage], *, again: bool = False) -> Answer:
        text = summarize(self.reader.vectors, question, passages, again=again)
        return Answer(text, "nothing" if is_refusal(text) else "answer")


def outcome_of_reply(text: str) -> Outcome:
    """The outcome of an answer of which only the words are known, such as one that a script passes on."""
    if is_closest(text):
        return "closest"
    return "nothing" if is_refusal(text) else "answer"


def record(name: str, read: Sequence[tuple[Origin, str]], quote: Callable[[], Answer]) -> Answer:
    """The result of `quote` in a span. `read` are the texts that it reads. The span is one "llm", like a call
    of a model, so that answers of both kinds are counted and drawn alike."""
    parts = [{"origin": origin.value, "text": text} for origin, text in read if text]
    messages = [{"role": "user", "parts": parts}]
    with span("llm", prompt=name, model=NAME, provider="ragcore", messages=messages) as step:
        answer = quote()
        step.note(reply=answer.text, cut_short=False)
        if answer.outcome is not None:
            step.note(outcome=answer.outcome)
    return answer


def in_pieces(text: str) -> list[str]:
    """The text in pieces of a few words, for a reader who expects an answer that grows."""
    return _PIECE.findall(text)


def _in_words(question: str, reading: Reading) -> Answer:
    match reading.outcome:
        case "answer":
            return Answer(join_quotes(reading.quotes), "answer")
        case "closest":
            places = groupby(reading.quotes, lambda quote: quote.passage)
            paragraphs = [_paragraph(list(quotes)) for _, quotes in places]
            return Answer(closest_passages(question, "\n\n".join(paragraphs)), "closest")
    return Answer(nothing_about(question), "nothing")


def _paragraph(quotes: Sequence[Quote]) -> str:
    """The quotes of one passage. What stands below another heading is no continuous text, so it begins a
    line."""
    text = ""
    for _, below in groupby(quotes, lambda quote: quote.lead):
        ends_with_list = LISTED.match(text.rpartition("\n")[2]) is not None
        line = "\n\n" if ends_with_list else "  \n"
        text += (line if text else "") + join_quotes(list(below))
    return text
