"""Attribution: every sentence of a written answer gets the passage that supports it, or is known to have none.

A language model cites as it likes: not at all, in its own form, or the wrong passage. So citations are checked after the answer
is written, by the sentence check, which needs no language model. The task is that of Rashkin et al. 2021 (Measuring attribution
in natural language generation models, https://arxiv.org/abs/2112.12870).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ragcore.extractive.sentence_support import CheckedSentence, SentenceCheck, points_at_passage, verdict_of
from ragcore.text.citations import MARKS, cited_in, standard_citations


@dataclass(frozen=True, slots=True)
class AttributedAnswer:
    """`text` with its citations put right; `sentences` are its sentences in order, each as `text[start:end]` without its
    citations. One whose verdict is "absent" is in none of the passages, and cites none."""

    text: str
    sentences: tuple[CheckedSentence, ...]


def attribute(answer: str, passages: Sequence[str], check: SentenceCheck) -> AttributedAnswer:
    """The answer with a citation behind each sentence that a passage supports; [n] cites `passages[n - 1]`.

    A citation that the model wrote stays where its passage supports the sentence. In its place, and where the model cited
    nothing, comes the passage that supports the sentence best. A citation of a passage that does not support it goes.
    """
    written = standard_citations(answer, len(passages))
    sentences = check.check(written, passages)
    marks = [MARKS.match(written, sentence.end) for sentence in sentences]
    cited = [list(dict.fromkeys(cited_in(mark.group()))) if mark else [] for mark in marks]
    shown = [_supporting(*each, passages, check) for each in zip(sentences, cited, strict=True)]
    for at, (sentence, following) in enumerate(pairwise(sentences)):
        # "According to [1], the sky is blue." cites before it states.
        if (
            cited[at]
            and points_at_passage(sentence.text)
            and not _SENTENCE_END.search(written, sentence.start, following.start)
        ):
            shown[at : at + 2] = shown[at + 1] or cited[at], []
    text = ""
    copied = 0
    attributed: list[CheckedSentence] = []
    for sentence, mark, numbers in zip(sentences, marks, shown, strict=True):
        text += written[copied : sentence.start]
        start = len(text)
        said, bar = _table_row(written[sentence.start : sentence.end], cites=bool(numbers))
        text += said
        attributed.append(replace(sentence, start=start, end=len(text), miscited=False))
        text += " " * bool(numbers) + "".join(f"[{number}]" for number in numbers) + bar
        copied = mark.end() if mark else sentence.end
    return AttributedAnswer(text + written[copied:], tuple(attributed))


def _supporting(sentence: CheckedSentence, cited: list[int], passages: Sequence[str], check: SentenceCheck) -> list[int]:
    """The numbers of the passages to cite."""
    if sentence.verdict is None:
        return cited
    if sentence.verdict == "absent" or sentence.passage is None:
        return []
    best = sentence.passage + 1
    if len(cited) < 2 or best not in cited:
        return [best]
    odds = check.odds(sentence.text, [passages[number - 1] for number in cited]).tolist()
    return [number for number, each in zip(cited, odds, strict=True) if verdict_of(each) == sentence.verdict]


def _table_row(text: str, *, cites: bool) -> tuple[str, str]:
    """The text, and the bar that ends it where it is a row of a table: what stands behind the bar is in no cell."""
    bar = _LAST_BAR.search(text) if cites else None
    return (text[: bar.start()], bar.group()) if bar else (text, "")


_LAST_BAR = re.compile(r"\s*\|\s*$")
_SENTENCE_END = re.compile(r"[.!?。！？\n]")
