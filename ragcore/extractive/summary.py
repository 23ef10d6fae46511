"""Summaries without a model: for each document its name and its best sentences, or the facts about its table.

A good sentence is central in its document (LexRank), has its commonest words and a name, is near the
beginning, and can be understood alone. Of several sentences each is from another stretch of the document.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ragcore.extractive import fixed_replies
from ragcore.extractive.reader import candidates
from ragcore.extractive.sentence_vectors import SentenceVectors
from ragcore.extractive.summary_requests import Length, request_language, requested_length, topic_of
from ragcore.extractive.topic import find_titled
from ragcore.prompts.prompt import Passage
from ragcore.text.keywords import content_words
from ragcore.text.overview_notes import DOCUMENTS_OF_GROUP, GROUP, TABLE, split_notes
from ragcore.text.quotable_sentences import (
    DEPENDS_ON_PREVIOUS,
    Quote,
    distinct,
    document_of,
    join_quotes,
    with_lists,
)
from ragcore.text.salience import centrality, diverse, shares, stretches
from ragcore.text.table_facts import describe, tables_in

MIN_SENTENCES, MAX_SENTENCES = 3, 10  # minimum and maximum sentences in a summary of one document
SENTENCES_OF_FEW, SENTENCES_OF_MANY = 3, 2  # sentences of each document, of up to FEW_DOCUMENTS and of more
FEW_DOCUMENTS = 12  # documents
LENGTHS = range(50, 261)  # characters of a sentence that suits a summary
CHINESE_WIDTH = 3  # characters that one Chinese character counts as
# weights of a name, and of the first place in the document; 1 for the commonest words
NAME_WEIGHT, START_WEIGHT = 0.3, 1.0
HALF_AFTER = 4  # sentences from the beginning, after which START_WEIGHT counts half
WEIGHT_WITH_TOPIC = (
    0.15  # weight of all these in a summary about a topic; closeness to the topic has weight 1
)
MAX_WEIGHED = 400  # sentences that are embedded; in long documents those with the commonest words
WORDS_PER_SENTENCE = 12  # in a usual sentence, to convert a requested number of words
_LEANING = re.compile(
    DEPENDS_ON_PREVIOUS.pattern
    + r"|^(?:but|and|so|or|then|thus|therefore|however|instead|also|for example|for instance"
    r"|yes|no|now|once|later|afterwards|meanwhile|both|others?|another|the (?:same|following|next|other"
    r"|former|latter)|aber|und|also|dann|danach|mais|donc|ensuite|puis|pero|luego)\b"
    r"|^[\d\W]|[\w\d]$|: .*; .*: |[?？؟“”\"«»|:]",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<=[a-z,] )[^\W\d_a-zà-ÿ][\w'’-]+")
_HEADING = re.compile(r"\*\*[^\n]+\*\*(?:\n[^\n]*)?")
_MARKDOWN = re.compile(r"([\\`*\[\]])")
_CHINESE = re.compile(r"[㐀-鿿]")
_WORD = re.compile(r"[㐀-鿿]|[^\W㐀-鿿]+")


class Section(NamedTuple):
    """The sentences of a document or of a group of documents. `heading` is Markdown, or ""."""

    heading: str
    quotes: list[Quote]


def summarize(
    vectors: SentenceVectors, query: str, passages: Sequence[Passage], *, again: bool = False
) -> str:
    """Markdown: a heading and sentences of each document. `again`: the passages are summaries to combine."""
    language = request_language(query)
    sections = _sections_of_summaries(passages) if again else _sections(passages, language)
    sections = _without_repeated([section for section in sections if section.quotes])
    if not sections:
        return fixed_replies.NOTHING_FOUND.get(language, fixed_replies.NOTHING_FOUND["en"])
    length = requested_length(query)
    topic = topic_of(query)
    if find_titled(topic, {document_of(passage.source) for passage in passages}):
        topic = ""
    counts = _counts(sections, length, again=again)
    most = max(MAX_WEIGHED // len(sections), 1)
    lists = length == Length()  # a list may exceed a requested length
    chosen = [
        _choose(section.quotes, count, vectors, topic, most, lists=lists)
        for section, count in zip(sections, counts, strict=True)
    ]
    if length.words is not None:
        chosen = _within(length.words, sections, chosen)
    texts = [
        _text(section, rows, lists=lists) for section, rows in zip(sections, chosen, strict=True) if rows
    ]
    return "\n\n".join(texts)


def _sections(passages: Sequence[Passage], language: str) -> list[Section]:
    """A section for each document, or for each group of documents that a passage represents."""
    headings: dict[str, list[Passage]] = {}
    tables: dict[str, str] = {}
    for passage in passages:
        notes, text = split_notes(passage.text)
        name, below = notes.get(GROUP, document_of(passage.source)), notes.get(DOCUMENTS_OF_GROUP, "")
        heading = "\n".join(filter(None, [heading_of(name), escape_name(below)]))
        headings.setdefault(heading, []).append(replace(passage, text=text))
        if TABLE in notes:
            tables[heading] = notes[TABLE]
    sections = []
    for heading, own in headings.items():
        table, cited = tables.get(heading, ""), own[:1]
        if not table:
            table = " ".join(
                describe(each, language) for each in tables_in("\n".join(passage.text for passage in own))
            )
            cited = [own[0], own[-1]]
        marks = tuple(dict.fromkeys(passage.number for passage in cited if passage.number is not None))
        sections.append(Section(heading, [Quote(table, marks, 0, heading)] if table else candidates(own)))
    return sections


def _sections_of_summaries(passages: Sequence[Passage]) -> list[Section]:
    """The sections of all summaries, one for each heading. A paragraph without a heading is a section."""
    quotes: dict[str, list[Quote]] = {}
    for place, passage in enumerate(passages):
        heading = ""
        for number, block in enumerate(passage.text.strip().split("\n\n")):
            if _HEADING.fullmatch(block):
                heading = block
            else:
                name = heading or f"{place}.{number}"
                # a list is one quote, because only its last item has a citation
                first, *items = block.split("\n")
                introduction = [Quote(first, (), 0, name, introduces=tuple(items))]
                quotes.setdefault(name, []).extend(
                    introduction if items else candidates([Passage(block, source=name)])
                )
    return [Section(name if _HEADING.fullmatch(name) else "", distinct(own)) for name, own in quotes.items()]


def _without_repeated(sections: Sequence[Section]) -> list[Section]:
    """The sections without sentences that several have, such as a disclaimer. A section that has mostly such
    sentences, as a version of another document, is unchanged."""
    counts = Counter(quote.text for section in sections for quote in section.quotes)
    unique = [[quote for quote in section.quotes if counts[quote.text] == 1] for section in sections]
    return [
        section._replace(quotes=own) if 2 * len(own) > len(section.quotes) else section
        for section, own in zip(sections, unique, strict=True)
    ]


def heading_of(name: str) -> str:
    """The heading of the document or group of this name, in Markdown; "" for none.

    >>> print(heading_of("notes [1].txt"))
    **notes \\[1\\].txt**
    """
    return f"**{escape_name(name)}**" if name else ""


def escape_name(name: str) -> str:
    """A name in Markdown: a [1] in the name of a file is no citation."""
    return _MARKDOWN.sub(r"\\\1", name)


def _counts(sections: Sequence[Section], length: Length, *, again: bool) -> list[int]:
    """The number of sentences of each section. A requested number is divided in proportion to their sizes."""
    sizes = [len(section.quotes) for section in sections]
    requested = length.sentences
    if length.words is not None:
        requested = max(length.words // WORDS_PER_SENTENCE, len(sections))
    if requested is not None:
        places = shares(dict(enumerate(sizes)), requested)
        return [places.get(number, 0) for number in range(len(sections))]
    usual = SENTENCES_OF_FEW if len(sections) <= FEW_DOCUMENTS else SENTENCES_OF_MANY
    if len(sections) == 1:
        usual = min(MAX_SENTENCES, max(MIN_SENTENCES, int(sizes[0] / 2 if again else np.log2(sizes[0]))))
    suited = [len(_suitable_rows(section.quotes, lists=True)) for section in sections]
    return [min(usual, count or size) for count, size in zip(suited, sizes, strict=True)]


def _choose(
    quotes: Sequence[Quote], count: int, vectors: SentenceVectors, topic: str, most: int, *, lists: bool
) -> list[int]:
    """The rows of up to `count` sentences, best first. `most`: the number that is embedded."""
    suited = _suitable_rows(quotes, lists=lists)
    rows = np.array(suited if len(suited) >= count else range(len(quotes)))
    weights = _weights([quotes[row] for row in rows])
    weighed = np.sort(np.argsort(-weights, kind="stable")[:most])
    rows, scores = rows[weighed], weights[weighed]
    if count <= 0 or not len(rows):
        return []
    texts = [quotes[row].text for row in rows]
    embedded = vectors.embed(texts)
    scores = scores + centrality(embedded)
    groups = [0] * len(rows)
    places = {0: count}
    if topic:
        scores = WEIGHT_WITH_TOPIC * scores + vectors.closeness(topic, texts)
    else:
        groups = stretches(groups, places)
        places = dict.fromkeys(range(count), 1)
    return [int(rows[at]) for at in diverse(scores, embedded, groups, places)]


def _suitable_rows(quotes: Sequence[Quote], *, lists: bool) -> list[int]:
    """The rows of sentences that can be understood alone: no table rows, list items, headings, questions,
    speech or short sentences, and none that refers to the one before. With `lists`, also introductions of
    short lists, or, if there is nothing else, of any list."""
    suited = [
        row
        for row, quote in enumerate(quotes)
        if (
            lists
            and quote.introduces
            and len(quote.with_list) <= max(LENGTHS)
            and not DEPENDS_ON_PREVIOUS.match(quote.text)
        )
        or (
            quote.bullet is None
            and _width(quote.text) in LENGTHS
            and not (quote.is_row or _LEANING.search(quote.text))
        )
    ]
    return suited or [row for row, quote in enumerate(quotes) if lists and quote.introduces]


def _width(text: str) -> int:
    return len(text) + (CHINESE_WIDTH - 1) * len(_CHINESE.findall(text))


def _weights(quotes: Sequence[Quote]) -> npt.NDArray[np.float64]:
    """(n,), 0 to 2.3: high with the commonest words of the document, with names, and at its beginning."""
    words = [set(content_words(quote.text)) for quote in quotes]
    common = Counter(chain.from_iterable(words))
    weights = np.array([sum(np.log(common[word]) for word in own) / (len(own) + 5) for own in words])
    weights /= max(float(weights.max(initial=0)), 1e-9)
    for row, quote in enumerate(quotes):
        weights[row] += NAME_WEIGHT * (_NAME.search(quote.text) is not None) + START_WEIGHT / (
            1 + row / HALF_AFTER
        )
    return weights


def _within(most: int, sections: Sequence[Section], chosen: Sequence[Sequence[int]]) -> list[list[int]]:
    """The rows that fit into `most` words, at least one: the first row of each section, then the second."""
    fitting: list[list[int]] = [[] for _ in sections]
    free = most
    for turn in range(max(map(len, chosen))):
        for number, rows in enumerate(chosen):
            if turn < len(rows):
                size = len(_WORD.findall(sections[number].quotes[rows[turn]].text))
                if size <= free or free == most:
                    fitting[number].append(rows[turn])
                    free -= size
    return fitting


def _text(section: Section, rows: Sequence[int], *, lists: bool) -> str:
    quotes = section.quotes
    chosen = (
        with_lists(sorted(rows), quotes)
        if lists
        else [replace(quotes[row], introduces=()) for row in sorted(rows)]
    )
    return "\n\n".join(filter(None, [section.heading, join_quotes(chosen)]))
