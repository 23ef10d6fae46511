"""Why an answer lacks something: its best missed passage, with an ask that includes it.

The question, and the text that a person expected, are searched once more in the whole library.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lectern.explain.blank_pages import has_words
from lectern.explain.kept_out import explain_kept_out, explain_split
from lectern.explain.missed_cause import Cause, Missed
from lectern.explain.not_in_library import explain_absence
from lectern.explain.repeated_search import MAX_RANK, RepeatedSearch
from lectern.explain.source_view import locate_sentence
from lectern.library import Library
from lectern.schema import Message
from ragcore.extractive.languages.source_mentions import remove_source_mentions
from ragcore.extractive.sentence_support import SUPPORTED, WEAK, SentenceCheck
from ragcore.prompts.prompt import Passage
from ragcore.schema import TextNode
from ragcore.text.keywords import content_words, words
from ragcore.text.sentences import sentences

MAX_COMPARED = 16  # best passages for the expected answer, which are compared with it
MAX_PAIRED = 4  # of these, also compared together with a neighbour
MIN_WORD_SHARE = 0.8  # of the expected words in a passage
SHORT_TEXT_WORDS = 4  # A passage must have all words of an expected text up to this length.
MIN_WORDS = 3  # different ones, in any order
MIN_LOG_ODDS = (SUPPORTED + WEAK) / 2  # that a passage supports the expected answer in other words
MAX_READ = 4  # best missed passages that the quoter reads
# log odds by which a passage that is better than all used ones may be below the threshold of an answer
THRESHOLD_MARGIN = 2.0


def why_missed(
    library: Library, message: Message, expected: str = "", check: SentenceCheck | None = None
) -> Missed:
    """Why this answer lacks `expected`, or else its best missed passage.

    `check` is a sentence check of the library's embedder. ValueError for a message without an ask.
    """
    if message.ask is None:
        raise ValueError("only an answer can lack something")
    search = RepeatedSearch(library, message, message.ask, check or SentenceCheck(library.embedder))
    missed = _explain(search, expected.strip())
    if missed.source is None or not (parts := sentences(missed.source.text)):
        return missed
    best = parts[nearest(parts, f"{missed.searched} {expected}")]
    page_label = locate_sentence(library.store, missed.source, best).page_label
    return replace(missed, source=replace(missed.source, page_label=page_label))


def nearest(parts: Sequence[str], text: str) -> int:
    """The index of the first of these sentences that has most words of the text; 0 without any."""
    own = set(content_words(text))
    return max(range(len(parts)), key=lambda at: len(own & set(content_words(parts[at]))), default=0)


def _explain(search: RepeatedSearch, expected: str) -> Missed:
    if search.ask.chat_mode == "simple":
        return search.report(Cause.NOT_LOOKED, ask=replace(search.ask, chat_mode="condense_plus_context"))
    if not search.ask.has_sources:
        return search.report(Cause.NOT_LOOKED, ask=replace(search.ask, response_mode="compact"))
    return _explain_expected(search, expected) if expected else _explain_next(search)


def _explain_expected(search: RepeatedSearch, expected: str) -> Missed:
    nodes = _find_quoting(search, expected)
    if not nodes and (halves := _find_split(search, expected)):
        return explain_split(search, halves)
    nodes = nodes or _find_saying(search, expected)
    if used := [node for node in nodes if node.id_ in search.used]:
        return search.report_used(used[0])
    if not nodes:
        return explain_absence(search, expected)
    places = {hit.node.id_: place for place, hit in enumerate(search.everywhere)}
    return explain_kept_out(search, min(nodes, key=lambda node: places.get(node.id_, MAX_RANK)), expected)


def _explain_next(search: RepeatedSearch) -> Missed:
    """Why it lacks the missed passage that answers best, if one answers."""
    missed = [(node, search.searched) for node in search.missed(search.searched)[:MAX_READ]]
    if search.condensed:
        question = search.ask.question
        missed += [(node, question) for node in search.missed(question)[:MAX_READ]]
    used = search.library.store.nodes([source.node_id for source in search.message.sources[:MAX_READ]])
    margins = [_measure_answering(search, question, node) for node, question in missed]
    margins_used = [_measure_answering(search, search.searched, node) for node in used]
    best, best_used = max(margins, default=-np.inf), max(margins_used, default=-np.inf)
    # If the best passage of all is missed, that has a cause, whether it answers or not.
    first = next((hit.node for hit in search.everywhere if has_words(hit.node.text)), None)
    first_is_missed = first is not None and first.id_ not in search.used
    if missed and (first_is_missed or best >= 0 or best >= max(best_used, -THRESHOLD_MARGIN)):
        return explain_kept_out(search, missed[margins.index(best)][0])
    if best_used >= 0:
        return search.report_used(used[margins_used.index(best_used)])
    return explain_absence(search)


def _find_quoting(search: RepeatedSearch, expected: str) -> list[TextNode]:
    """The passages that have its words in a row."""
    return [
        hit.node for hit in search.retrieve(expected, count=MAX_COMPARED) if _quotes(hit.node.text, expected)
    ]


def _find_saying(search: RepeatedSearch, expected: str) -> list[TextNode]:
    """The passages that have its words in any order; or else the one that has it in other words."""
    if len(set(content_words(expected))) < MIN_WORDS:
        return []
    nodes = [hit.node for hit in search.retrieve(expected, count=MAX_COMPARED)]
    if saying := [node for node in nodes if _says(node.text, expected)]:
        return saying
    odds = search.check.odds(expected, [node.text for node in nodes])
    return [nodes[int(odds.argmax())]] if odds.max(initial=-np.inf) >= MIN_LOG_ODDS else []


def _find_split(search: RepeatedSearch, expected: str) -> list[TextNode]:
    """Two neighbours that have its words in a row together."""
    for hit in search.retrieve(expected, count=MAX_COMPARED)[:MAX_PAIRED]:
        for id_ in (hit.node.next_id, hit.node.prev_id):
            for other in search.library.store.nodes([id_]) if id_ else ():
                pair = sorted((hit.node, other), key=lambda node: node.start_char_idx or 0)
                if _quotes(" ".join(node.text for node in pair), expected):
                    return pair
    return []


def _measure_answering(search: RepeatedSearch, question: str, node: TextNode) -> float:
    """The log odds above the reader's threshold of an answer."""
    reader = search.check.reader
    reading = reader.read(
        remove_source_mentions(question), [Passage(node.text, 1, str(node.metadata.get("file_name", "")))]
    )
    return float(reading.log_odds.max(initial=-np.inf)) - reader.weights.answer


def _quotes(text: str, expected: str) -> bool:
    return f" {' '.join(words(expected))} " in f" {' '.join(words(text))} "


def _says(text: str, expected: str) -> bool:
    """Whether a sentence and the next have nearly all of its words, or all of few."""
    own = set(content_words(expected) or words(expected))
    stems = [{*content_words(sentence), *words(sentence)} for sentence in sentences(text)]
    most = max((len(own & set().union(*stems[at : at + 2])) for at in range(len(stems))), default=0)
    return most >= (1.0 if len(own) <= SHORT_TEXT_WORDS else MIN_WORD_SHARE) * len(own)
