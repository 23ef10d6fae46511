"""Checks without a language model which sentences of an answer its passages support.

A sentence is compared with each passage by their common words, numbers and names, by what stands in one
sentence with these, by negations, and by the cosine to the nearest sentence of the passage. Each feature has
a fitted weight. A sentence that is in a passage word for word, with the same negation, is supported in any
case. Each clause with a number or a name may be in another sentence of the passage. A number that a table has
only in rows about something else is not in the passage.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ragcore.embeddings.base import Embedder
from ragcore.extractive.fixed_replies import is_refusal
from ragcore.extractive.reader import Reader
from ragcore.extractive.verbatim_match import (
    Figure,
    figures_in,
    is_negated,
    missing_figures,
    normalize,
    readings_in,
    stem_text,
)
from ragcore.text.citations import MARKS, cited_in
from ragcore.text.keywords import content_words, words
from ragcore.text.quotable_sentences import quotes_in
from ragcore.text.quotable_units import LISTED, is_row
from ragcore.text.sentences import sentence_spans

Verdict: TypeAlias = Literal["supported", "weak", "absent"]


@dataclass(frozen=True, slots=True)
class CheckedSentence:
    """A sentence of an answer, `answer[start:end]`, and the passage that supports it best.

    `passage` counts from 0, and `evidence` is its nearest sentence. `verdict` is None for a heading, a
    question or a refusal. `miscited`: it cites passages that support it less than `passage`.
    """

    start: int
    end: int
    text: str
    verdict: Verdict | None = None
    passage: int | None = None
    evidence: str = ""
    odds: float = 0.0
    miscited: bool = False


FEATURES = (
    "coverage",  # share of the sentence's words in the whole passage
    "cosine",  # to the nearest sentence of the passage; 0 for unrelated texts
    # 1 if a number of the sentence, with its signs, is not in the passage, or only in rows about others
    "missing_numbers",
    "missing_names",  # share of its names that are not in the passage
    "denies",  # 1 if either the sentence or the nearest one has a "not", but not both
    # share of the words of a clause in one sentence of the passage, or in one that has each of its numbers
    # and names; the least of its clauses
    "context",
)
WEIGHTS = (1.871, 0.536, -3.251, -1.242, -4.957, 4.282)
BIAS = -3.254
SUPPORTED, WEAK = -0.17, -2.45
"""Thresholds of the log odds, from which a sentence is supported, or weakly supported. The weights are a
logistic regression and the thresholds are two quantiles, fitted by `python -m benchmarks.sentence_check
--fit`, which prints all four; see docs/quality.md."""

QUOTED_LOG_ODDS = 20.0  # log odds of a sentence that is in the passage word for word
MAX_SENTENCES = 400  # of all passages of an answer; those with most of its words are compared
MAX_HEADING_CHARS = 80  # characters


@dataclass(frozen=True, slots=True)
class _Passage:
    """A passage, prepared for comparison."""

    sentences: list[str]
    words: list[frozenset[str]]  # of each sentence
    contexts: list[frozenset[str]]  # of each sentence, the words of it and of the heading above it
    figures: list[list[Figure]]  # of each sentence
    rows: list[str]  # of each sentence, from `stem_text`
    row: str  # of the whole passage
    all_figures: list[Figure]
    table: list[_Row]
    figures_in_prose: list[Figure]  # outside of the table


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of a table."""

    cells: frozenset[str]  # words that are not in the names of the columns
    figures: list[Figure]


class _Clause(NamedTuple):
    """A part of a sentence."""

    words: set[str]
    figures: list[Figure]
    names: set[str]

    @property
    def is_whole(self) -> bool:
        """Whether it claims something by itself."""
        return len(self.words) > 1 and bool(self.figures or self.names)

    def join(self, other: _Clause) -> _Clause:
        return _Clause(self.words | other.words, self.figures + other.figures, self.names | other.names)


class SentenceCheck:
    """Checks answers. Threads may share it. A `reader` saves time, because its vectors are in memory.

    >>> from ragcore.embeddings import HuggingFaceEmbedding
    >>> check = SentenceCheck(HuggingFaceEmbedding())
    >>> sentences = check.check("It is 9 m high.", ["The tower is 9 m high. It is red."])
    >>> [sentence.verdict for sentence in sentences]
    ['supported']
    """

    def __init__(self, embedder: Embedder, reader: Reader | None = None) -> None:
        self.reader = reader or Reader(embedder)

    def check(self, answer: str, passages: Sequence[str]) -> list[CheckedSentence]:
        """Each sentence of the answer in order; [n] in it cites `passages[n - 1]`. Without passages every
        claim is absent."""
        sentences: list[tuple[CheckedSentence, Sequence[int], bool]] = []
        for start, end, text, cited in claims(answer):
            after = "" if LISTED.match(answer, start) else answer[end:]  # a list item is not a heading
            sentences.append((CheckedSentence(start, end, text), cited, not claims_nothing(text, after)))
        known = self._read(passages, [sentence.text for sentence, _, is_claim in sentences if is_claim])
        return [
            self._judge(sentence, cited, known) if is_claim else sentence
            for sentence, cited, is_claim in sentences
        ]

    def odds(self, claim: str, passages: Sequence[str]) -> npt.NDArray[np.float64]:
        """(n,): the log odds that each passage supports it."""
        return np.array([self._odds(claim, passage)[0] for passage in self._read(passages, [claim])])

    def measure(self, claim: str, passage: str) -> npt.NDArray[np.float64]:
        """(len(FEATURES),)"""
        return self._measure(claim, *self._read([passage], [claim]))[0]

    def _judge(
        self, sentence: CheckedSentence, cited: Sequence[int], known: Sequence[_Passage]
    ) -> CheckedSentence:
        if not known:
            return replace(sentence, verdict="absent")
        odds = [self._odds(sentence.text, passage) for passage in known]
        best = max(range(len(known)), key=lambda at: odds[at][0])
        verdict = verdict_of(odds[best][0])
        # Among passages with the same verdict, a cited one.
        as_good = [
            number - 1
            for number in cited
            if 0 < number <= len(known) and verdict_of(odds[number - 1][0]) == verdict
        ]
        best = max(as_good, key=lambda at: odds[at][0], default=best)
        miscited = bool(cited) and not as_good and verdict != "absent"
        return replace(
            sentence,
            verdict=verdict,
            passage=best,
            evidence=odds[best][1],
            odds=odds[best][0],
            miscited=miscited,
        )

    def _odds(self, claim: str, passage: _Passage) -> tuple[float, str]:
        """The log odds, and the nearest sentence of the passage."""
        if quoted := _find_quoted(claim, passage):
            return QUOTED_LOG_ODDS, quoted
        measured, nearest = self._measure(claim, passage)
        return float(measured @ np.asarray(WEIGHTS) + BIAS), nearest

    def _measure(self, claim: str, passage: _Passage) -> tuple[npt.NDArray[np.float64], str]:
        one = normalize(claim)
        own = content_words(one) or words(one)
        if not passage.sentences or not own:
            return np.array([0.0, 0, 1, 1, 0, 0]), ""
        unique = set(own)
        shared = [len(unique & words) / len(unique) for words in passage.words]
        cosines = self.reader.vectors.similarity(claim, passage.sentences)
        nearest = passage.sentences[int(np.argmax(cosines + shared))]
        everything = frozenset().union(*passage.words)
        figures, names = (
            figures_in(claim),
            {word for name in _NAME.findall(one) for word in content_words(name)},
        )
        denies = is_negated(claim) != is_negated(nearest)
        # A negation belongs to one clause, but it is unknown to which.
        clauses = [_Clause(unique, figures, names)] if denies else _clauses(one, names)
        measured = (
            len(unique & everything) / len(unique),
            cosines.max(),
            bool(missing_figures(figures, passage.all_figures))
            or any(_contradicts_table(clause, passage) for clause in clauses),
            len(names - everything) / len(names) if names else 0.0,
            denies,
            min(_context_share(*clause, passage) for clause in clauses),
        )
        return np.array(measured, dtype=np.float64), nearest

    def _read(self, passages: Sequence[str], statements: Sequence[str]) -> list[_Passage]:
        """The passages. Their sentences and the statements are embedded here, in one call."""
        relevant = frozenset(word for text in statements for word in content_words(text))
        known = [_read(text, relevant, MAX_SENTENCES // len(passages) or 1) for text in passages]
        sentences = [sentence for passage in known for sentence in passage.sentences]
        if sentences and statements:
            self.reader.vectors.embed([*sentences, *statements])
        return known


def _context_share(
    own: set[str], figures: Sequence[Figure], names: Collection[str], passage: _Passage
) -> float:
    """The least of the shares of each number and name: the largest share of the other words in one sentence
    that has it, with the heading above. Without numbers and names, the largest share of all words. A word
    counts by its idf in the passage."""
    counts = {word: sum(word in words for words in passage.contexts) for word in own}
    idf = {word: math.log((len(passage.contexts) + 1) / (count + 0.5)) for word, count in counts.items()}

    def largest(sought: set[str], have_it: Sequence[bool]) -> float:
        whole = sum(idf[word] for word in sought)
        parts = (sum(idf[word] for word in sought & words) for words in compress(passage.contexts, have_it))
        return max((part / whole if whole else 1.0 for part in parts), default=0.0)

    shares = [largest(own - {name}, [name in words for words in passage.words]) for name in names]
    for figure in figures:
        have_it = [any(map(figure.agrees, known)) for known in passage.figures]
        shares.append(largest(own - {figure.number, *content_words(figure.written)}, have_it))
    return min(shares) if shares else largest(own, [True] * len(passage.contexts))


def _clauses(normalized: str, names: Collection[str]) -> list[_Clause]:
    """The coordinated clauses of a sentence. One without a number or a name is joined with its neighbour."""
    clauses: list[_Clause] = []
    for part in [normalized] if is_row(normalized) else _CLAUSE.split(normalized):
        own = set(content_words(part) or words(part))
        clause = _Clause(own, figures_in(part), own.intersection(names))
        if clauses and not (clause.is_whole and clauses[-1].is_whole):
            clause = clauses.pop().join(clause)
        clauses.append(clause)
    return clauses


def _contradicts_table(clause: _Clause, passage: _Passage) -> bool:
    """Whether a number of the clause is only in rows of the passage's tables that are about something else.

    The words of a clause that are in cells tell which rows it is about. Such a row has all of them, or if
    none does, one of them.
    """
    in_cells = frozenset().union(*(row.cells for row in passage.table))
    subject = {word for word in clause.words & in_cells if word.isalpha()}
    if not subject:
        return False
    about = [row for row in passage.table if subject <= row.cells]
    about = about or [row for row in passage.table if not subject.isdisjoint(row.cells)]
    possible = [figure for row in about for figure in row.figures]
    return bool(missing_figures(clause.figures, [*possible, *passage.figures_in_prose]))


def find_quoting(claim: str, passages: Sequence[str]) -> int | None:
    """The index of the first passage that has the sentence word for word, with the same negation. Embeds
    nothing."""
    relevant = frozenset(content_words(claim))
    return next(
        (at for at, text in enumerate(passages) if _find_quoted(claim, _read(text, relevant, MAX_SENTENCES))),
        None,
    )


def _find_quoted(claim: str, passage: _Passage) -> str:
    """The sentence of the passage that has the claim word for word, with the same negation; "" without
    one."""
    row = stem_text(claim)
    quoting = [sentence for sentence, own in zip(passage.sentences, passage.rows, strict=True) if row in own]
    agreeing = [sentence for sentence in quoting if is_negated(sentence) == is_negated(claim)]
    return (agreeing or [claim])[0] if agreeing or (not quoting and row in passage.row) else ""


def verdict_of(odds: float) -> Verdict:
    return "supported" if odds >= SUPPORTED else "weak" if odds >= WEAK else "absent"


def claims(answer: str) -> Iterator[tuple[int, int, str, tuple[int, ...]]]:
    """(start, end, sentence without citations, numbers that it cites) of every sentence with a letter or a
    digit.

    A citation ends a sentence, and belongs to the text before it.
    """
    begin = 0
    for match in [*MARKS.finditer(answer), None]:
        end = match.start() if match else len(answer)
        cited = tuple(dict.fromkeys(cited_in(match.group()))) if match else ()
        spans = [(begin + start, begin + stop) for start, stop in _spans(answer[begin:end])]
        spans = [(start, stop) for start, stop in spans if any(char.isalnum() for char in answer[start:stop])]
        for start, stop in spans:
            text = answer[start:stop]
            first, last = start + len(text) - len(text.lstrip()), start + len(text.rstrip())
            yield first, last, plain(text), cited if (start, stop) == spans[-1] else ()
        begin = match.end() if match else end


def claims_nothing(text: str, after: str) -> bool:
    """Whether a sentence is a heading, a question, an announcement, a pointer to a passage, or a refusal.

    `after` is the text after it in the answer.
    """
    if is_refusal(text) or text.endswith((":", "：")) or _QUESTION.search(text):
        return True
    if points_at_passage(text) or _says_not_found(text):
        return True
    return (
        len(text) <= MAX_HEADING_CHARS
        and not _ENDS.search(text)
        and re.match(r"[^\S\n]*\n", after) is not None
    )


def points_at_passage(text: str) -> bool:
    """Whether the text only refers to a source: "According to", "See passage"."""
    names_it = _SOURCE.search(text) or _SAYS.search(text) or not _ENDS.search(text)
    return bool(names_it) and not content_words(_SOURCE.sub(" ", _SAYS.sub(" ", text)))


def _says_not_found(text: str) -> bool:
    """ "The passages do not mention it", "I could not find it", "There is no information about it"."""
    is_about_search = _SAYS.search(text) and (_SOURCE.search(text) or _FIRST_PERSON.match(text))
    return bool(_NOTHING.search(text) or (is_about_search and is_negated(text)))


def _read(text: str, relevant: frozenset[str], most: int) -> _Passage:
    """The passage with at most `most` of its sentences, those with most of the relevant words."""
    text = MARKS.sub("", text)
    sentences = [line for start, end in sentence_spans(text) if (line := plain(text[start:end]))]
    # Quotes from tables and lists differ from the text, and are sentences, too.
    quotes = quotes_in(text, number=1)
    table = [quote.text for quote in quotes if is_row(quote.text)]
    columns = _stems(" ".join(name for row in table for name in _COLUMN.findall(row)))
    prose = "\n".join(line for line in text.splitlines() if not is_row(line.strip()))
    headings = {plain(quote.text): _stems(quote.lead) for quote in quotes if quote.lead}
    sentences = list(dict.fromkeys([*sentences, *(quote.text for quote in quotes)]))
    stems = list(map(_stems, sentences))
    rows = sorted(sorted(range(len(stems)), key=lambda at: -len(relevant & stems[at]))[:most])
    sentences = [sentences[row] for row in rows]
    words_of = [stems[row] for row in rows]
    return _Passage(
        sentences,
        words_of,
        [
            own | headings.get(sentence, frozenset())
            for own, sentence in zip(words_of, sentences, strict=True)
        ],
        list(map(readings_in, sentences)),
        list(map(stem_text, sentences)),
        stem_text(text),
        readings_in(text),
        [_Row(_stems(row) - columns, readings_in(row)) for row in table],
        readings_in(prose) if table else [],
    )


def _stems(sentence: str) -> frozenset[str]:
    normal = normalize(sentence)
    return frozenset((*content_words(normal), *words(normal), *words(sentence)))


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Sentences; a line in bold is one."""
    for start, end in sentence_spans(text):
        head = _BOLD_LINE.match(text, start, end)
        if head:
            yield start, head.end()
        yield head.end() if head else start, end


def plain(text: str) -> str:
    """The text in one line, without Markdown and citations."""
    return _MARKUP.sub("", " ".join(MARKS.sub("", text).split())).strip()


_MARKUP = re.compile(r"^(?:[-*•–>|]+\s+|#{1,6}\s+|\d{1,2}[.)]\s+|Response \d+:\s*)+|\*\*|__|`")
_BOLD_LINE = re.compile(r"\s*\*\*[^*\n]+\*\*[^\S\n]*(?=\n)")
_ENDS = re.compile(r"[.!?…。！？؟।:;,][\"'”’»)\]*\s]*$")
_QUESTION = re.compile(r"[?？؟;][\"'”’»)\]*]*$")
_COLUMN = re.compile(r"(?:^|[;|])([^;|:]+):(?= )")
_CONJUNCTION = r"(?:and|but|while|whereas|und|aber|während|et|mais|tandis que|y|pero|mientras)"
# A pronoun or a verb, which begin no further item of a list.
_NEW_SUBJECT = (
    r"(?:it|they|you|we|he|she|I|is|are|was|were|will|can|may|must|has|have|had"
    r"|es|sie|er|wir|ihr|ich|man|ist|sind|wird|werden|wurden?|hat|haben|kann|muss|darf"
    r"|ils?|elles?|on|vous|nous|est|sont|sera|seront|ont|peut|doit"
    r"|se|son|está|será|serán|ha|han|puede|debe"
    r"|the \w+ (?:is|are|was|were|will|has|had))\b"
)
_CLAUSE = re.compile(
    rf"\s*;\s+|,\s+(?:{_CONJUNCTION}|which|who|wobei)\s+"
    rf"|\s+{_CONJUNCTION}\s+(?={_NEW_SUBJECT}|[^\W\dA-ZÀ-Þ][^,;]*\d)"
)
_NAME = re.compile(r"(?<=[^.!?\s\"“] )[^\W\d_a-zà-ÿ][\w'’-]+")

# How answers name the passages and describe their content, in English, German, French, Spanish and Chinese.
_SOURCE = re.compile(
    r"\b(?:passage|document|context|text|source|dokument|quelle|kontext|pasaje|documento"
    r"|fuente)(?:[eo]?[ns]?|es)\b|[文档来源段落文本]{2}",
    re.IGNORECASE,
)
_SAYS = re.compile(
    r"\b(?:answer|f(?:i|ou)nd|say|said|state|mention|provid|contain|inclu|given?\b|descri|specif|tell"
    r"|know|determin|accord|based?\b|see\b"
    r"|information|detail|antwort|ge?f[iu]nd|steh|sag|nenn|erwähn|enthält|enthalten|beschrieb|weiß"
    r"|siehe|laut|gemäß|angabe"
    r"|réponse|trouv|mentionn|disent|contien|indiqu|sais|voir|selon|respuesta|enc(?:o|ue)ntr|mencion"
    r"|dice|sé\b|véase|según|acuerdo)\w*|根据|答案|提到|提及|找到|包含|说明|信息",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"\W*(?:(?:I|we|ich|wir|je|nous)\b|no (?:he|hemos|encontr|sé))", re.IGNORECASE)
_NOTHING = re.compile(
    r"\b(?:no|not enough|insufficient|keine?|aucune?|ninguna) (?:\w+ )?(?:information\w*|mention"
    r"|angaben|información)\b|(?:未|没有)(?:找到|提到|提及|相关)",
    re.IGNORECASE,
)
