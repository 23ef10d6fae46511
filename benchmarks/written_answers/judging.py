"""The judges: functions of a row alone (see answers.py), none of which uses the check that the application
itself makes.

A sentence is supported by its source where one sentence of the source has at least SHARE of its content
words, or two neighbours have NEARLY_ALL, with all its numbers, and a "not" where it has one; where the source
has all its names; and where it has the accepted answer, if the sentence states that. docs/quality.md has the
error rate against sentences judged by hand.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from benchmarks.datasets.outcomes import has_must_words
from ragcore.extractive.fixed_replies import is_refusal
from ragcore.text.citations import MARKS, cited_in
from ragcore.text.keywords import content_words, words
from ragcore.text.sentences import sentence_spans, sentences

Row = Mapping[str, Any]

SHARE, NEARLY_ALL = 0.7, 0.85
ECHO_WORDS = 6  # words in a row that an answer shares with the instructions


@dataclass(frozen=True, slots=True)
class Sentence:
    """One that states something. `cited`: the numbers that stand in it or right behind it. `marked`: as weak
    or absent. `absent`: as in none of the documents."""

    text: str
    cited: tuple[int, ...]
    marked: bool
    absent: bool


def normalize(text: str) -> str:
    """As SQuAD's evaluation does: small letters, no punctuation, no articles, one space between words."""
    bare = "".join(char for char in text.lower() if char not in string.punctuation)
    return " ".join(re.sub(r"\b(?:a|an|the)\b", " ", bare).split())


def states(text: str, gold: Sequence[str]) -> bool:
    """Whether it has one of the accepted answers, in whole words."""
    return any(
        f" {accepted} " in f" {normalize(text)} " for answer in gold if (accepted := normalize(answer))
    )


def is_refused(row: Row) -> bool:
    """Whether the person learns that the documents may not answer: no sentence states anything unmarked, or
    Lectern says so."""
    doubted = row.get("outcome", "answer") != "answer"
    return row["state"] == "done" and (doubted or states_nothing(row))


def states_nothing(row: Row) -> bool:
    """Whether it is a fixed reply, or no sentence states anything that is not marked as in none of the
    documents."""
    return is_refusal(row["answer"]) or all(sentence.absent for sentence in statements(row))


def is_right(row: Row) -> bool:
    return (
        row["state"] == "done"
        and not states_nothing(row)
        and states(MARKS.sub("", row["answer"]), row["gold"])
    )


def has_all(row: Row, must: Sequence[Sequence[str]]) -> bool:
    """Whether the answer has a string of each group."""
    return not states_nothing(row) and has_must_words(row["answer"], must)


def statements(row: Row) -> list[Sentence]:
    """The sentences that state something, without refusals and sentences that only point at a source."""
    return [one for one in _sentences(row) if not _states_nothing(one.text)]


def is_supported(sentence: Sentence, row: Row) -> bool:
    """Whether a cited passage supports it."""
    by_number = {each["number"]: each for each in row["passages"]}
    return any(
        supports(by_number[number], sentence.text, row["gold"])
        for number in sentence.cited
        if number in by_number
    )


def supports(passage: Row, sentence: str, gold: Sequence[str]) -> bool:
    """`passage` has a text and a place, which may have its title."""
    whole = f"{passage['place']}\n{passage['text']}"
    names = {name for name in _NAME.findall(sentence) for name in content_words(name)}
    if not names <= {*words(whole), *content_words(whole)} or (
        states(sentence, gold) and not states(whole, gold)
    ):
        return False
    source_sentences = sentences(passage["text"])
    return any(_says(one, sentence, SHARE) for one in source_sentences) or any(
        _says(f"{one} {other}", sentence, NEARLY_ALL) for one, other in pairwise(source_sentences)
    )


def _says(text: str, sentence: str, share: float) -> bool:
    has, words_said = {*words(text), *content_words(text)}, _statement_words(sentence)
    return (
        len(words_said & has) >= share * len(words_said)
        and set(_figures(sentence)) <= set(_figures(text))
        and (_NEGATION.search(sentence) is None or _NEGATION.search(text) is not None)
    )


def echoes(row: Row) -> bool:
    """Whether the answer shows words of the instructions, or a line that begins with one of their labels."""
    sources = " ".join(normalize(each["text"]) for each in row["passages"]) + normalize(row["question"])
    answer = normalize(row["answer"]).split()
    runs = {" ".join(answer[at : at + ECHO_WORDS]) for at in range(len(answer) - ECHO_WORDS + 1)}
    for text in row["instructions"]:
        instructed = f" {normalize(text)} "
        if any(f" {run} " in instructed and run not in sources for run in runs):
            return True
        labels = [line.strip() for line in re.findall(r"[^\n.]+:(?=\s|$)", text)]
        if any(re.search(rf"^\W*{re.escape(label)}", row["answer"], re.MULTILINE) for label in labels):
            return True
    return False


def _sentences(row: Row) -> Iterator[Sentence]:
    """Of the answer; citations alone belong to the sentence before them."""
    answer = row["answer"]
    spans: list[tuple[int, int]] = []
    for start, end in sentence_spans(answer):
        if spans and not re.search(r"\w", MARKS.sub("", answer[start:end])):
            spans[-1] = spans[-1][0], end
        elif leading := MARKS.match(answer, start, end) if spans else None:
            spans[-1] = spans[-1][0], leading.end()
            spans.append((leading.end(), end))
        else:
            spans.append((start, end))
    for start, end in spans:
        text = MARKS.sub("", answer[start:end]).strip()
        if re.search(r"\w", text):
            marked, absent = (
                any(start <= sum(span) // 2 < end for span in row.get(name, ()))
                for name in ("marked", "absent")
            )
            yield Sentence(text, tuple(cited_in(answer[start:end])), marked, absent)


def _states_nothing(text: str) -> bool:
    return (
        is_refusal(text)
        or _FOUND_NOTHING.search(text) is not None
        or text.endswith((":", "?"))
        or (_POINTING.search(text) is not None and all(word.isdigit() for word in _statement_words(text)))
    )


def _statement_words(text: str) -> set[str]:
    """The content words, without those that point at a source."""
    return set(content_words(_POINTING.sub("", text)))


def _figures(text: str) -> list[str]:
    return _FIGURE.findall(re.sub(r"(?<=\d),(?=\d{3}\b)", "", text))


_POINTING = re.compile(
    r"\b(?:according|passages?|statements?|states?|stated|mention(?:s|ed)?|found|find|information"
    r"|sources?|answer|question|documents?|text|"
    r"context|says|lines?|pages?|provided|given|described|indicated|based|reads|response|refers"
    r"|reference|seen|specifically|also|"
    r"therefore|however)\b",
    re.IGNORECASE,
)
_FIGURE = re.compile(r"\d+(?:[.:]\d+)*")
_NAME = re.compile(r"(?<=[\w,;)'’] )[A-Z][\w'’-]+")  # not the first word of a sentence or a quotation
_NEGATION = re.compile(r"\b(?:not|no|never|none|neither|nor|without|cannot)\b|n['’]t\b", re.IGNORECASE)
_SOURCE = r"(?:passages?|documents?|texts?|context|information|sources?|details?)"
_HOLDS = (
    r"(?:find|found|answer\w*|determine|mention\w*|provide\w*|contain\w*|include\w*|specif\w+"
    r"|state[ds]?|say|give|available)"
)
_FOUND_NOTHING = re.compile(
    rf"\b(?:not|no|cannot|unable|n['’]t)\b[^.]*\b(?:{_HOLDS}|information)\b[^.]*\b{_SOURCE}\b"
    rf"|\b{_SOURCE}\b[^.]*\b(?:does|do|did|is|are) ?(?:not|n['’]t)\b[^.]*\b{_HOLDS}\b"
    r"|\bno (?:information|mention|answer)\b|\b(?:could|can) ?(?:not|n['’]t) find\b",
    re.IGNORECASE,
)
