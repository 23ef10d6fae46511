"""Which passages say what a person expected of an answer, and which would answer the question."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lectern.explain.repeated_search import RepeatedSearch
from ragcore.extractive.languages.source_mentions import about
from ragcore.extractive.sentence_support import SUPPORTED, WEAK
from ragcore.prompts.prompt import Passage
from ragcore.schema import TextNode
from ragcore.text.keywords import content_words, words
from ragcore.text.quotable_sentences import quotes_in
from ragcore.text.sentences import sentences

EXPECTED = 16  # passages that are held against what was expected
PAIRED = 4  # of them, whether they say it together with a neighbour
ALL_WORDS = 0.8  # share of the expected words that a passage must have, of few all
FEW_WORDS = 4
TELLING = 3  # different words; fewer, scattered over a passage, say nothing
LIKE = (SUPPORTED + WEAK) / 2  # log odds of saying the same in other words


def find_quoting(search: RepeatedSearch, expected: str) -> list[TextNode]:
    """The passages that have its words one after another."""
    return [hit.node for hit in search.ranked(expected, count=EXPECTED) if _quotes(hit.node.text, expected)]


def find_saying(search: RepeatedSearch, expected: str) -> list[TextNode]:
    """The passages that have its words in any order; where none has, the one that says it in other words."""
    if len(set(content_words(expected))) < TELLING:
        return []
    hits = [hit.node for hit in search.ranked(expected, count=EXPECTED)]
    if held := [node for node in hits if _says(node.text, expected)]:
        return held
    odds = search.check.odds(expected, [node.text for node in hits])
    return [hits[int(odds.argmax())]] if odds.max(initial=-np.inf) >= LIKE else []


def find_split(search: RepeatedSearch, expected: str) -> list[TextNode]:
    """Two passages in a row that say it together."""
    for hit in search.ranked(expected, count=EXPECTED)[:PAIRED]:
        for id_ in (hit.node.next_id, hit.node.prev_id):
            for other in search.library.store.nodes([id_]) if id_ else ():
                pair = sorted((hit.node, other), key=lambda node: node.start_char_idx or 0)
                if _quotes(" ".join(node.text for node in pair), expected):
                    return pair
    return []


def find_nearest(search: RepeatedSearch, nodes: Sequence[TextNode]) -> TextNode | None:
    """The one with the sentence that is the likeliest of all to be the answer."""
    quotes = [quote for at, node in enumerate(nodes) for quote in quotes_in(node.text, number=1, passage=at)]
    odds = search.check.reader.log_odds(search.searched, quotes)
    return nodes[quotes[int(odds.argmax())].passage] if quotes else None


def measure_answering(search: RepeatedSearch, question: str, node: TextNode) -> float:
    """How far above the reader's threshold of an answer."""
    reader = search.check.reader
    reading = reader.read(about(question), [Passage(node.text, 1, str(node.metadata.get("file_name", "")))])
    return float(reading.log_odds.max(initial=-np.inf)) - reader.weights.answer


def _quotes(text: str, expected: str) -> bool:
    """The words of what was expected, one after another."""
    return f" {' '.join(words(expected))} " in f" {' '.join(words(text))} "


def _says(text: str, expected: str) -> bool:
    """Nearly all of its words, of few all, in a sentence and the next."""
    meant = set(content_words(expected) or words(expected))
    said = [{*content_words(sentence), *words(sentence)} for sentence in sentences(text)]
    most = max((len(meant & set().union(*said[at : at + 2])) for at in range(len(said))), default=0)
    return most >= (1.0 if len(meant) <= FEW_WORDS else ALL_WORDS) * len(meant)
