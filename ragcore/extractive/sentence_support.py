"""Which sentences of an answer its passages bear out, with no language model: supported, weak, or not in the passages.

A sentence is held against each passage by the words, pairs of words, numbers and names that it shares with it, by whether one
of the two denies what the other says, and by closeness of meaning to the nearest sentence there. One fitted weight for each,
in every script alike. What stands in a passage word for word, in a sentence that denies as much, is supported whatever the
weights say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from ragcore.extractive.evidence import Evidence
from ragcore.extractive.verbatim_match import Figure, denies, figures, in_a_row, one_notation, readings, unsaid
from ragcore.questions.fixed_replies import is_refusal
from ragcore.text.citations import MARKS, cited_in
from ragcore.text.keywords import content_words, words
from ragcore.text.quotable_sentences import LISTED, quotes_in
from ragcore.text.sentences import sentence_spans

Verdict: TypeAlias = Literal["supported", "weak", "absent"]


@dataclass(frozen=True, slots=True)
class CheckedSentence:
    """A sentence of an answer, `answer[start:end]`, with what the passages say of it.

    `passage` counts from 0 and holds `evidence`, the sentence nearest to it there. `verdict` is None for what claims nothing: a
    heading, a question, "I found nothing". `miscited`: it cites passages, and they bear it out less than `passage` does.
    """

    start: int
    end: int
    text: str
    verdict: Verdict | None = None
    passage: int | None = None
    evidence: str = ""
    odds: float = 0.0
    miscited: bool = False


if TYPE_CHECKING:
    import numpy.typing as npt

    from ragcore.embeddings.base import Embedder

FEATURES = (
    "coverage",  # share of the sentence's words in the whole passage
    "pairs",  # share of its pairs of neighbouring words that are within a sentence of the passage
    "cosine",  # to the nearest sentence of the passage, counted from that of texts that have nothing to do with each other
    "missing_numbers",  # 1 where a number of the sentence, with its signs, is not in the passage
    "missing_names",  # share of its names that are not in the passage
    "denies",  # 1 where either the sentence or the nearest one says "not", and the other does not
)
WEIGHTS = (1.438, 2.287, 2.639, -6.081, -6.913, -4.379)
BIAS = -3.515
SUPPORTED, WEAK = 1.97, -2.36
"""Log odds of being said in the passage: from SUPPORTED on it is supported, from WEAK on weak. A logistic regression and two
quantiles, fitted by `python -m benchmarks.sentence_check --fit`, which prints all four; see docs/quality.md."""

QUOTED = 20.0  # log odds of what stands there word for word
MOST_SENTENCES = 400  # of passages that are embedded for one answer; of more, those with most of its words


@dataclass(frozen=True, slots=True)
class _Passage:
    """As it is compared: its sentences, with their words, and all of it as one row of words."""

    sentences: list[str]
    said: list[frozenset[str]]
    row: str
    numbers: tuple[Figure, ...]
    quotes: frozenset[str]


class SentenceCheck:
    """Safe to share between threads."""

    def __init__(self, embedder: Embedder) -> None:
        self.evidence = Evidence(embedder)

    def check(self, answer: str, passages: Sequence[str]) -> list[CheckedSentence]:
        """Each sentence of the answer in order; [n] in it cites `passages[n - 1]`. Without passages every claim is absent."""
        found = list(claims(answer))
        known = [_read(text) for text in passages]
        judged = [
            row for row, (start, end, text, _) in enumerate(found) if not claims_nothing(text, _after(answer, start, end))
        ]
        known = self._within_reach(known, [found[row][2] for row in judged])
        checked = [CheckedSentence(start, end, text) for start, end, text, _ in found]
        for row in judged:
            start, end, text, cited = found[row]
            checked[row] = self._judged(start, end, text, cited, known)
        return checked

    def odds(self, claim: str, passages: Sequence[str]) -> npt.NDArray[np.float64]:
        """(n,): the log odds of each passage saying it."""
        known = self._within_reach([_read(text) for text in passages], [claim])
        return np.array([self._odds(claim, passage)[0] for passage in known])

    def measure(self, claim: str, passage: str) -> npt.NDArray[np.float64]:
        """(len(FEATURES),)"""
        return self._measure(claim, _read(passage))[0]

    def _judged(self, start: int, end: int, text: str, cited: Sequence[int], known: Sequence[_Passage]) -> CheckedSentence:
        pairs = [self._odds(text, passage) for passage in known]
        if not pairs:
            return CheckedSentence(start, end, text, "absent")
        odds = [each[0] for each in pairs]
        # Of two that say it the one that is cited.
        best = max(range(len(odds)), key=lambda place: (odds[place], place + 1 in cited))
        verdict = verdict_of(odds[best])
        held = max((odds[number - 1] for number in cited if 0 < number <= len(odds)), default=None)
        if held is not None and _ORDER.index(verdict_of(held)) <= _ORDER.index(verdict):
            best = max((number - 1 for number in cited if 0 < number <= len(odds)), key=lambda place: odds[place])
            return CheckedSentence(start, end, text, verdict, best, pairs[best][1], odds[best])
        miscited = bool(cited) and verdict != "absent"
        return CheckedSentence(start, end, text, verdict, best, pairs[best][1], odds[best], miscited)

    def _odds(self, claim: str, passage: _Passage) -> tuple[float, str]:
        """The log odds, and the sentence of the passage that is nearest."""
        row = in_a_row(claim)
        if claim in passage.quotes or (row.strip() and row in passage.row):
            holding = [sentence for sentence in passage.sentences if row in in_a_row(sentence)]
            alike = [sentence for sentence in holding if denies(sentence) == denies(claim)]
            if alike or not holding:
                return QUOTED, next(iter(alike), claim)
        measured, nearest = self._measure(claim, passage)
        return float(measured @ np.asarray(WEIGHTS) + BIAS), nearest

    def _measure(self, claim: str, passage: _Passage) -> tuple[npt.NDArray[np.float64], str]:
        one = one_notation(claim)
        meant = content_words(one) or words(one)
        if not passage.sentences or not meant:
            return np.array([0.0, 0, 0, 1, 1, 0]), ""
        wanted = set(meant)
        shared = [len(wanted & said) / len(wanted) for said in passage.said]
        cosines = self.evidence.alike(claim, passage.sentences)
        best = int(np.argmax(cosines + shared))
        pairs = {(one, other) for one, other in pairwise(meant) if one != other}
        together = sum(any(one in said and other in said for said in passage.said) for one, other in pairs)
        everything = frozenset().union(*passage.said)
        names = {word for name in _NAME.findall(claim) for word in content_words(name)}
        measured = (
            len(wanted & everything) / len(wanted),
            together / len(pairs) if pairs else max(shared),
            cosines.max(),
            bool(unsaid(figures(claim), passage.numbers)),
            len(names - everything) / len(names) if names else 0.0,
            denies(claim) != denies(passage.sentences[best]),
        )
        return np.array(measured, dtype=np.float64), passage.sentences[best]

    def _within_reach(self, known: list[_Passage], said: Sequence[str]) -> list[_Passage]:
        """The passages, of so many sentences that embedding them takes a moment. They are embedded here, all at once."""
        everything = [sentence for passage in known for sentence in passage.sentences]
        if len(everything) > MOST_SENTENCES:
            wanted = {word for claim in said for word in content_words(claim)}
            rated = sorted((-len(wanted & said), at) for at, said in enumerate(one for each in known for one in each.said))
            kept = {at for _, at in rated[:MOST_SENTENCES]}
            known = list(_thinned(known, kept))
            everything = [sentence for passage in known for sentence in passage.sentences]
        if everything and said:
            self.evidence.embed([*everything, *said])
        return known


def verdict_of(odds: float) -> Verdict:
    return "supported" if odds >= SUPPORTED else "weak" if odds >= WEAK else "absent"


def claims(answer: str) -> Iterator[tuple[int, int, str, tuple[int, ...]]]:
    """(start, end, the sentence without its citations, the numbers it cites), in order, for every stretch that says something.

    A citation ends a sentence: what stands before it is what it is for.
    """
    begin = 0
    for match in [*MARKS.finditer(answer), None]:
        end = match.start() if match else len(answer)
        cited = tuple(dict.fromkeys(cited_in(match.group()))) if match else ()
        spans = [(begin + start, begin + stop) for start, stop in _spans(answer[begin:end])]
        spans = [(start, stop) for start, stop in spans if any(char.isalnum() for char in answer[start:stop])]
        for place, (start, stop) in enumerate(spans):
            text = answer[start:stop]
            first, last = start + len(text) - len(text.lstrip()), start + len(text.rstrip())
            yield first, last, plain(text), cited if place == len(spans) - 1 else ()
        begin = match.end() if match else end


def claims_nothing(text: str, after: str) -> bool:
    """A heading, a question, a line that only announces what follows or points at a passage, or words for having found nothing.

    `text` is one sentence; `after` is what follows it in the answer.
    """
    if is_refusal(text) or _NOTHING.search(text) or _QUESTION.search(text) or points_at_passage(text):
        return True
    if text.endswith((":", "：")):
        return True
    return len(text) <= LONGEST_HEADING and not _ENDS.search(text) and re.match(r"[^\S\n]*\n", after) is not None


def _after(answer: str, start: int, end: int) -> str:
    """What follows a sentence; nothing after an item of a list, which is no heading of what stands below it."""
    return "" if LISTED.match(answer, start) else answer[end:]


def points_at_passage(text: str) -> bool:
    """Whether it only says where something stands: "According to", "This can be found in passage"."""
    return _POINTS.fullmatch(text) is not None


def _read(text: str) -> _Passage:
    text = MARKS.sub("", text)
    sentences = [line for start, end in sentence_spans(text) if (line := plain(text[start:end]))]
    quotes = [quote.text for quote in quotes_in(text, number=1)]
    # What is quoted from tables and lists reads unlike the text: it is a sentence of its own.
    sentences += [quote for quote in quotes if quote not in sentences]
    said = [frozenset((*content_words(one), *words(one), *words(said))) for said in sentences for one in [one_notation(said)]]
    return _Passage(sentences, said, in_a_row(text), tuple(readings(text)), frozenset(quotes))


def _thinned(known: Sequence[_Passage], kept: set[int]) -> Iterator[_Passage]:
    first = 0
    for passage in known:
        rows = [at for at in range(len(passage.sentences)) if first + at in kept]
        first += len(passage.sentences)
        sentences, said = [passage.sentences[at] for at in rows], [passage.said[at] for at in rows]
        yield _Passage(sentences, said, passage.row, passage.numbers, passage.quotes)


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Sentences; a line in bold stands by itself."""
    for start, end in sentence_spans(text):
        head = _BOLD_LINE.match(text, start, end)
        if head:
            yield start, head.end()
        yield head.end() if head else start, end


def plain(text: str) -> str:
    """In one line, without marks of Markdown and citations."""
    return _MARKUP.sub("", " ".join(MARKS.sub("", text).split())).strip()


_ORDER: tuple[Verdict, ...] = ("supported", "weak", "absent")
LONGEST_HEADING = 80  # characters
_MARKUP = re.compile(r"^(?:[-*•–>|]+\s+|#{1,6}\s+|\d{1,2}[.)]\s+|Response \d+:\s*)+|\*\*|__|`")
_BOLD_LINE = re.compile(r"\s*\*\*[^*\n]+\*\*[^\S\n]*(?=\n)")
_ENDS = re.compile(r"[.!?…。！？؟।:;,][\"'”’»)\]*\s]*$")
_QUESTION = re.compile(r"[?？؟;][\"'”’»)\]*]*$")
_NAME = re.compile(r"(?<=[^.!?\s\"“] )[^\W\d_a-zà-ÿ][\w'’-]+")
_NOTHING = re.compile(
    r"\b(?:could not|couldn['’]t|cannot|can['’]t|did not|didn['’]t|was unable to|am unable to) (?:find|answer|determine)\b"
    r"|\b(?:I|we) found nothing\b|\b(?:I|we) (?:do not|don['’]t) know\b"
    r"|\b(?:passages?|documents?|context|text|sources?)\b[^.]{0,40}\b(?:do(?:es)? not|doesn['’]t|don['’]t) "
    r"(?:say|contain|mention|provide|state|include|specify|answer|tell)\b"
    r"|\b(?:no|not enough|insufficient) (?:information|mention)\b|not (?:mentioned|stated|specified|found) in the"
    r"|\b(?:not|n['’]t)\b[^.]{0,40}\b(?:in|by|from) (?:the|these|your|any of the) (?:given |provided )?"
    r"(?:passages?|documents?|context|text|sources?)\b"
    r"|\b(?:keine (?:Informationen|Angaben)|konnte (?:ich )?nichts? finden|nicht gefunden)\b"
    r"|\b(?:je n['’]ai (?:rien|pas) trouvé|aucune information|no (?:encontré|he encontrado|se menciona))\b"
    r"|未找到|没有找到|没有提到|未提及|没有相关",
    re.IGNORECASE,
)
_POINTS = re.compile(
    r"(?:\W*\b(?:(?:the|this|that|it|these|answer|information|details?|statement|can|be|is|are|was|has been|found|see|also"
    r"|given|stated|mentioned|described|provided|as|according|based|on|to|in|from|by|for|of|more|passages?|sources?|documents?|context"
    r"|text|references?)"
    r"|(?:die|das|dies|der|den|antwort|angaben?|information|steht|stehen|findet|finden|sich|siehe|auch|wie|beschrieben|erwähnt"
    r"|laut|gemäß|nach|in|im|aus|passagen?|quellen?|dokumente?|text)"
    r"|(?:la|le|les|l|cette|ces|réponse|information|informations|se|trouve|trouvent|voir|aussi|comme|indiqué|mentionné|selon|d"
    r"|après|dans|de|passages?|sources?|documents?|texte)"
    r"|(?:la|el|los|las|esta|esto|respuesta|información|se|encuentra|encuentran|ver|véase|como|indica|menciona|según|de|acuerdo|con"
    r"|en|pasajes?|fuentes?|documentos?|texto))\b)+\W*"
    r"|(?:[根据见参来源段落答案在中可以找到此信息的文档]|\W)+",
    re.IGNORECASE,
)
