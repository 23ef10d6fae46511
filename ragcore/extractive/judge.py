"""Judging without a model: is a statement among the passages, does an answer fit the question, does it say what is right?

Sentences are compared by the words they share and by closeness of meaning; a number or a "not" that only one of two has
speaks against them. Coarse, but the same every time, and the reason says what was seen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ragcore.extractive.evidence import Evidence
from ragcore.extractive.verbatim_match import denies, figures, in_a_row, readings, unsaid
from ragcore.prompts.prompt import Passage
from ragcore.questions.answer_types import expected_kind, fits_kind
from ragcore.questions.fixed_replies import is_refusal
from ragcore.text.citations import MARKS
from ragcore.text.keywords import content_words
from ragcore.text.quotable_sentences import quotes_in
from ragcore.text.sentences import sentences

SAME = 0.6  # likeness, 0 to 1, from which two sentences say the same
SHORT_ANSWER = 10  # words: such an answer need not repeat the question's words
EVEN = 0.1  # difference of two scores, 0 to 1, below which neither answer is better

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


class Judge:
    """`threshold`: log odds that the best sentence of an answer must reach."""

    def __init__(self, evidence: Evidence, threshold: float) -> None:
        self._evidence = evidence
        self._threshold = threshold

    def faithful(self, response: str, passages: Sequence[Passage]) -> str:
        """YES where the passages say each of its sentences."""
        claims = self._claims(response)
        if not claims:
            return _no("It states nothing that the passages could bear out.")
        known = [sentence for passage in passages for sentence in sentences(MARKS.sub("", passage.text))]
        for claim in claims:
            if doubt := self._doubt(claim, known):
                return _no(f"“{claim}”: {doubt}")
        return _yes("Each sentence of it stands in the passages.")

    def answers_the_question(self, query: str, response: str) -> str:
        claims = self._claims(response)
        if not claims:
            return _no("It answers nothing.")
        if self.margin(query, response) >= 0:
            return _yes("It is about what was asked.")
        return _no("It does not say what was asked.")

    def relevant(self, query: str, response: str, passages: Sequence[Passage]) -> str:
        """YES where it both answers the question and stands in the passages."""
        verdict = self.answers_the_question(query, response)
        return verdict if verdict.startswith("NO") else self.faithful(response, passages)

    def context_holds_the_answer(self, query: str, passages: Sequence[Passage]) -> str:
        if max((self.margin(query, passage.text) for passage in passages), default=-1.0) >= 0:
            return _yes("A sentence of the passages answers it.")
        return _no("No sentence of the passages answers it.")

    def keeps_to(self, guidelines: str, query: str, response: str) -> str:
        """By what can be seen: whether it answers, and the length, numbers and citations that guidelines may ask for."""
        wanted = guidelines.lower()
        if re.search(r"\b(?:brief|short|concise|succinct)", wanted) and len(response.split()) > 60:
            return _no(f"It has {len(response.split())} words.")
        if re.search(r"\b(?:number|statistic|figure|quantit)", wanted) and not _NUMBER.search(MARKS.sub("", response)):
            return _no("It holds no number.")
        if re.search(r"\b(?:cite|citation|source|reference)", wanted) and not MARKS.search(response):
            return _no("It cites nothing.")
        return self.answers_the_question(query, response)

    def grade(self, query: str, response: str, reference: str) -> str:
        """A number from 1 to 5, in halves, and the reason on the next line."""
        score = self._rightness(query, response, reference)
        grade = round(2 + 8 * score) / 2
        share = "all" if score > 0.9 else "part" if score > 0.3 else "little"
        return f"{grade:.1f}\nIt says {share} of what the right answer says."

    def better(self, query: str, response: str, second: str, reference: str) -> str:
        """ "A", "B" or "TIE" with a reason."""
        one, two = (self._rightness(query, text, reference) for text in (response, second))
        measured = "the right answer" if reference.strip() else "what was asked"
        if abs(one - two) < EVEN:
            return f"TIE Both are equally near to {measured}."
        return f"{'A' if one > two else 'B'} It is nearer to {measured}."

    def margin(self, query: str, text: str) -> float:
        """How far the log odds of its best sentence lie above the threshold of an answer; below 0 it answers nothing."""
        quotes = quotes_in(MARKS.sub("", text), number=0)
        if not quotes:
            return -np.inf
        if len(text.split()) <= SHORT_ANSWER and fits_kind(expected_kind(query), text, query):
            return 0.0  # "In March 1998."
        return self._evidence.weighed(query, quotes).by_odds(self._threshold)

    def _rightness(self, query: str, response: str, reference: str) -> float:
        """0 to 1."""
        claims = " ".join(self._claims(response))
        if not claims:
            return 0.0
        if not reference.strip():
            return float(1 / (1 + np.exp(-self.margin(query, claims))))
        if _holds(claims, reference):
            return 1.0
        right = MARKS.sub("", reference)
        meant, said = set(content_words(right)), set(content_words(claims))
        covered = len(meant & said) / max(len(meant), 1)
        score = float((covered + self._evidence.alike(right, [claims])[0]) / 2)
        if unsaid(figures(right), readings(claims)) or denies(right) != denies(claims):
            score = min(score, 0.25)
        return score

    def _claims(self, response: str) -> list[str]:
        """The sentences of an answer; none for one that says it found nothing."""
        text = MARKS.sub("", response).strip()
        return [] if is_refusal(text) else [said for said in sentences(text) if any(char.isalnum() for char in said)]

    def _doubt(self, claim: str, known: Sequence[str]) -> str:
        """What speaks against it; "" for nothing."""
        if any(_holds(sentence, claim) and denies(sentence) == denies(claim) for sentence in known):
            return ""
        if not known:
            return "there are no passages."
        meant = set(content_words(claim))
        covered = np.array([len(meant & set(content_words(sentence))) for sentence in known]) / max(len(meant), 1)
        alike = (covered + self._evidence.alike(claim, known)) / 2
        best = int(alike.argmax())
        if alike[best] < SAME:
            return "no passage says this."
        if odd := unsaid(figures(claim), readings(known[best])):
            return f"the passage does not say {', '.join(odd)}."
        return "the passage says the opposite." if denies(claim) != denies(known[best]) else ""


def _holds(text: str, part: str) -> bool:
    """The same words one after another, whatever the punctuation."""
    return in_a_row(part) in in_a_row(text)


def _yes(reason: str) -> str:
    return f"YES {reason}"


def _no(reason: str) -> str:
    return f"NO {reason}"
