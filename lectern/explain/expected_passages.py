"""The passages that have the answer that a person expected, and those that answer the question."""

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

EXPECTED = 16  # best passages for the expected answer, which are compared to it
PAIRED = 4  # of them, that are also compared together with a neighbour
ALL_WORDS = 0.8  # least share of the expected words in a passage
FEW_WORDS = 4  # of which a passage must have all
TELLING = 3  # least number of different words in any order
LIKE = (SUPPORTED + WEAK) / 2  # least log odds that a passage supports the expected answer in other words


def find_quoting(search: RepeatedSearch, expected: str) -> list[TextNode]:
    """The passages that have its words in a row."""
    return [hit.node for hit in search.ranked(expected, count=EXPECTED) if _quotes(hit.node.text, expected)]


def find_saying(search: RepeatedSearch, expected: str) -> list[TextNode]:
    """The passages that have its words in any order; or else the one that has it in other words."""
    if len(set(content_words(expected))) < TELLING:
        return []
    nodes = [hit.node for hit in search.ranked(expected, count=EXPECTED)]
    if saying := [node for node in nodes if _says(node.text, expected)]:
        return saying
    odds = search.check.odds(expected, [node.text for node in nodes])
    return [nodes[int(odds.argmax())]] if odds.max(initial=-np.inf) >= LIKE else []


def find_split(search: RepeatedSearch, expected: str) -> list[TextNode]:
    """Two neighbours that have its words in a row together."""
    for hit in search.ranked(expected, count=EXPECTED)[:PAIRED]:
        for id_ in (hit.node.next_id, hit.node.prev_id):
            for other in search.library.store.nodes([id_]) if id_ else ():
                pair = sorted((hit.node, other), key=lambda node: node.start_char_idx or 0)
                if _quotes(" ".join(node.text for node in pair), expected):
                    return pair
    return []


def find_nearest(search: RepeatedSearch, nodes: Sequence[TextNode]) -> TextNode | None:
    """The one with the sentence that is most likely to answer."""
    quotes = [quote for at, node in enumerate(nodes) for quote in quotes_in(node.text, number=1, passage=at)]
    odds = search.check.reader.log_odds(search.searched, quotes)
    return nodes[quotes[int(odds.argmax())].passage] if quotes else None


def measure_answering(search: RepeatedSearch, question: str, node: TextNode) -> float:
    """The log odds above the reader's threshold of an answer."""
    reader = search.check.reader
    reading = reader.read(about(question), [Passage(node.text, 1, str(node.metadata.get("file_name", "")))])
    return float(reading.log_odds.max(initial=-np.inf)) - reader.weights.answer


def _quotes(text: str, expected: str) -> bool:
    return f" {' '.join(words(expected))} " in f" {' '.join(words(text))} "


def _says(text: str, expected: str) -> bool:
    """Whether a sentence and the next have nearly all of its words, or all of few."""
    own = set(content_words(expected) or words(expected))
    stems = [{*content_words(sentence), *words(sentence)} for sentence in sentences(text)]
    most = max((len(own & set().union(*stems[at : at + 2])) for at in range(len(stems))), default=0)
    return most >= (1.0 if len(own) <= FEW_WORDS else ALL_WORDS) * len(own)
