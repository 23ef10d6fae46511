"""Judges answers without a model: by their passages, by their question, or by a reference answer.

The verdicts are coarse. Each has a reason, and the output format of its task.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ragcore.extractive.reader import Reader
from ragcore.extractive.sentence_support import SentenceCheck, claims, claims_nothing
from ragcore.extractive.verbatim_match import figures_in, is_negated, missing_figures, readings_in, stem_text
from ragcore.prompts.prompt import Passage
from ragcore.text.citations import MARKS
from ragcore.text.keywords import content_words, words
from ragcore.text.quotable_sentences import quotes_in

SHORT_ANSWER = 6  # words; such an answer with a number or a name need not repeat words of the question
TIE_MARGIN = 0.1  # difference of two scores, 0 to 1; below it neither answer is better
MAX_SCORE_IF_DIFFERENT = 0.25  # largest score, 0 to 1, of an answer with a wrong number, or a wrong "not"
BRIEF_WORDS = 60  # words


class Judge:
    """Judges answers by rules. Threads may share a judge."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._check = SentenceCheck(reader.vectors.embedder, reader)

    def judge_faithfulness(self, response: str, passages: Sequence[Passage]) -> str:
        """YES if the passages support each of its sentences."""
        checked = self._check.check(MARKS.sub("", response), [passage.text for passage in passages])
        judged = [sentence for sentence in checked if sentence.verdict]
        for sentence in judged:
            if sentence.verdict != "supported":
                nearest = f"; the nearest sentence is “{sentence.evidence}”" if sentence.evidence else ""
                return f"NO No passage says “{sentence.text}”{nearest}."
        return "YES The passages say each of its sentences." if judged else "NO It states nothing."

    def judge_answer(self, query: str, response: str) -> str:
        if self.margin(query, _claims(response)) >= 0:
            return "YES It is about the question."
        return "NO It does not answer the question."

    def judge_relevancy(self, query: str, response: str, passages: Sequence[Passage]) -> str:
        """YES if it answers the question and is in the passages."""
        verdict = self.judge_answer(query, response)
        return verdict if verdict.startswith("NO") else self.judge_faithfulness(response, passages)

    def judge_context(self, query: str, passages: Sequence[Passage]) -> str:
        if any(self.margin(query, passage.text) >= 0 for passage in passages):
            return "YES A sentence of the passages answers it."
        return "NO No sentence of the passages answers it."

    def judge_guidelines(self, guidelines: str, query: str, response: str) -> str:
        """Checks whether it answers, and the length, numbers and citations that guidelines may require."""
        text = MARKS.sub("", response)
        if (
            re.search(r"\b(?:brief|short|concise|succinct)", guidelines, re.IGNORECASE)
            and len(text.split()) > BRIEF_WORDS
        ):
            return f"NO It has {len(text.split())} words."
        if re.search(r"\b(?:number|statistic|figure|quantit)", guidelines, re.IGNORECASE) and not figures_in(
            text
        ):
            return "NO It has no number."
        if re.search(r"\b(?:cite|citation|source|reference)", guidelines, re.IGNORECASE) and not MARKS.search(
            response
        ):
            return "NO It cites nothing."
        return self.judge_answer(query, response)

    def grade_answer(self, query: str, response: str, reference: str) -> str:
        """A number from 1 to 5, in halves, and the reason on the next line."""
        score = self._correctness(query, response, reference)
        share = "all" if score > 0.9 else "part" if score > 0.3 else "little"
        return f"{round(2 + 8 * score) / 2:.1f}\nIt says {share} of what the right answer says."

    def compare(self, query: str, response: str, second: str, reference: str) -> str:
        """ "A", "B" or "TIE" with a reason."""
        one, two = (self._correctness(query, text, reference) for text in (response, second))
        goal = "the right answer" if reference.strip() else "the question"
        if abs(one - two) < TIE_MARGIN:
            return f"TIE Both are equally near to {goal}."
        return f"{'A' if one > two else 'B'} It is nearer to {goal}."

    def margin(self, query: str, text: str) -> float:
        """The log odds of its best sentence above the threshold of an answer; below 0 it does not answer."""
        text = MARKS.sub("", text)
        if len(words(text)) <= SHORT_ANSWER and set(_SPECIFIC.findall(text)) - set(_SPECIFIC.findall(query)):
            return 0.0  # "In March 1998."
        odds = self._reader.log_odds(query, quotes_in(text, number=0))
        return float(odds.max(initial=-np.inf)) - self._reader.weights.answer

    def _correctness(self, query: str, response: str, reference: str) -> float:
        """0 to 1."""
        answer, right = _claims(response), MARKS.sub("", reference).strip()
        if not answer:
            return 0.0
        if not right:
            return float(1 / (1 + np.exp(-self.margin(query, answer))))
        if stem_text(right) in stem_text(answer):
            return 1.0
        expected = set(content_words(right))
        coverage = len(expected & set(content_words(answer))) / max(len(expected), 1)
        score = float(coverage + self._reader.vectors.similarity(right, [answer])[0]) / 2
        differs = missing_figures(figures_in(right), readings_in(answer)) or is_negated(right) != is_negated(
            answer
        )
        return min(score, MAX_SCORE_IF_DIFFERENT) if differs else score


def _claims(response: str) -> str:
    """The sentences of an answer that claim something."""
    return " ".join(text for _, end, text, _ in claims(response) if not claims_nothing(text, response[end:]))


_NAME = r"[A-ZÀ-Þ][\w'’-]*"
# the first of several words is always capitalised
_SPECIFIC = re.compile(rf"\d+|(?<=\w ){_NAME}|^\W*{_NAME}\W*$")
