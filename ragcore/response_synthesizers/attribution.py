"""Attribution: every sentence of a written answer gets the passage that supports it, or is known to have
none.

A language model cites as it likes: not at all, in its own form, or the wrong passage. So citations are
checked after the answer is written, by the sentence check, which needs no language model. The task is that of
Rashkin et al. 2021 (Measuring attribution in natural language generation models,
https://arxiv.org/abs/2112.12870).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ragcore.embeddings.base import Embedder
from ragcore.extractive.languages.source_mentions import remove_source_mentions
from ragcore.extractive.sentence_support import (
    CheckedSentence,
    SentenceCheck,
    claims,
    claims_nothing,
    find_quoting,
    points_at_passage,
    verdict_of,
)
from ragcore.prompts.prompt import Passage
from ragcore.schema import Outcome
from ragcore.text.citations import MARKS, cited_in, standard_citations


@dataclass(frozen=True, slots=True)
class AttributedAnswer:
    """`text` has corrected citations. `sentences` are its sentences in order, each as `text[start:end]`
    without citations. A sentence with the verdict "absent" is in none of the passages; it cites none, and
    neither does a "weak" one.

    `outcome` is "closest" if the passages are about the question but may not answer it, and "nothing" if the
    answer states nothing.
    """

    text: str
    sentences: tuple[CheckedSentence, ...]
    outcome: Outcome = "answer"


LEAST = -2.51
"""How far the best sentence that supports an answer may lie below the reader's threshold of one, in log odds:
below that, the question is doubted to have an answer in the documents. It doubts a tenth of the answerable
questions at most. Fitted by `python -m benchmarks.written_answers --judge --fit`."""


class AnswerCheck:
    """Puts the citations of written answers right, and tells an answer from what is none, without a language
    model. Safe to share between threads.

    >>> from ragcore.embeddings import HuggingFaceEmbedding
    >>> check = AnswerCheck(HuggingFaceEmbedding())
    >>> check.check("How tall is it?", "It is 330 m tall.", [Passage("The tower is 330 m tall.", 1)]).text
    'It is 330 m tall. [1]'
    """

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self.sentences = SentenceCheck(embedder)

    def check(self, question: str, answer: str, passages: Sequence[Passage]) -> AttributedAnswer:
        """The answer with corrected citations, and its outcome; [n] cites `passages[n - 1]`."""
        attributed = attribute(answer, [passage.text for passage in passages], self.sentences)
        if not any(sentence.verdict for sentence in attributed.sentences):
            return replace(attributed, outcome="nothing")
        return (
            attributed
            if self.measure(question, attributed) >= LEAST
            else replace(attributed, outcome="closest")
        )

    def measure(self, question: str, answer: AttributedAnswer) -> float:
        """How far the log odds of answering lie above the reader's threshold, for the likeliest of the
        sentences of passages that support the answer; -inf without any."""
        reader = self.sentences.reader
        evidence = [
            Passage(each.evidence, 1) for each in answer.sentences if each.verdict in ("supported", "weak")
        ]
        best = [
            reader.read(remove_source_mentions(question), [each]).log_odds.max(initial=-np.inf)
            for each in evidence
        ]
        return float(max(best, default=-np.inf)) - reader.weights.answer


def attribute(answer: str, passages: Sequence[str], check: SentenceCheck) -> AttributedAnswer:
    """The answer with a citation behind each sentence that a passage supports; [n] cites `passages[n - 1]`.

    A citation that the model wrote stays where its passage supports the sentence. In its place, and where the
    model cited nothing, comes the passage that supports the sentence best. A citation of a passage that does
    not support it goes.
    """
    written = standard_citations(answer, len(passages))
    sentences = check.check(written, passages)
    marks = [MARKS.match(written, sentence.end) for sentence in sentences]
    cited = [list(dict.fromkeys(cited_in(mark.group()))) if mark else [] for mark in marks]
    citations = [_passages_to_cite(*each, passages, check) for each in zip(sentences, cited, strict=True)]
    for at, (sentence, following) in enumerate(pairwise(sentences)):
        # "According to [1], the sky is blue." cites before it states.
        if (
            cited[at]
            and points_at_passage(sentence.text)
            and not _SENTENCE_END.search(written, sentence.start, following.start)
        ):
            citations[at : at + 2] = citations[at + 1] or cited[at], []
    text = ""
    copied = 0
    attributed: list[CheckedSentence] = []
    for sentence, mark, numbers in zip(sentences, marks, citations, strict=True):
        text += written[copied : sentence.start]
        start = len(text)
        row, bar = _table_row(written[sentence.start : sentence.end], cites=bool(numbers))
        text += row
        attributed.append(replace(sentence, start=start, end=len(text), miscited=False))
        text += " " * bool(numbers) + "".join(f"[{number}]" for number in numbers) + bar
        copied = mark.end() if mark else sentence.end
    return AttributedAnswer(text + written[copied:], tuple(attributed))


def cite_quotes(answer: str, passages: Sequence[str]) -> str:
    """The answer with a citation behind each sentence that cites nothing and is in a passage word for word.
    Embeds nothing."""
    text = ""
    copied = 0
    for _, end, sentence, cited in claims(answer):
        nothing = cited or claims_nothing(sentence, answer[end:])
        at = None if nothing or answer[end - 1] == "|" else find_quoting(sentence, passages)
        if at is not None:
            text += f"{answer[copied:end]} [{at + 1}]"
            copied = end
    return text + answer[copied:]


def _passages_to_cite(
    sentence: CheckedSentence, cited: list[int], passages: Sequence[str], check: SentenceCheck
) -> list[int]:
    """The numbers of the passages to cite."""
    if sentence.verdict is None:
        return cited
    if sentence.passage is None or sentence.verdict != "supported":
        return []
    best = sentence.passage + 1
    if len(cited) < 2 or best not in cited:
        return [best]
    odds = check.odds(sentence.text, [passages[number - 1] for number in cited]).tolist()
    return [number for number, each in zip(cited, odds, strict=True) if verdict_of(each) == sentence.verdict]


def _table_row(text: str, *, cites: bool) -> tuple[str, str]:
    """The text, and the bar that ends it where it is a row of a table: what stands behind the bar is in no
    cell."""
    bar = _LAST_BAR.search(text) if cites else None
    return (text[: bar.start()], bar.group()) if bar else (text, "")


_LAST_BAR = re.compile(r"\s*\|\s*$")
_SENTENCE_END = re.compile(r"[.!?。！？\n]")
