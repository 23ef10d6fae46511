"""Why an answer lacks something: the best passage that it was not made from, where that stands, and the setting that kept it
out, with the same question asked in such a way that it comes in.

The question is looked up once more in the whole library; what a person says they expected is looked up as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lectern.explain.expected_passages import find_quoting, find_saying, find_split, measure_answering
from lectern.explain.kept_out import explain_kept_out, explain_split
from lectern.explain.missed_cause import Cause, Missed
from lectern.explain.not_in_library import explain_absence
from lectern.explain.repeated_search import MOST_PASSAGES, RepeatedSearch
from lectern.explain.source_view import locate_sentence
from lectern.library import Library
from lectern.schema import Message
from ragcore.extractive.sentence_support import SentenceCheck
from ragcore.text.keywords import content_words
from ragcore.text.sentences import sentences

TRIED = 4  # of the best missed passages, whether they answer the question
EASED = 2.0  # log odds below what it takes to answer at which a passage that beats all that were looked at still counts


def why_missed(library: Library, message: Message, expected: str = "", check: SentenceCheck | None = None) -> Missed:
    """Why this answer lacks `expected`, or, without that, the passage that would have been next.

    `check` is the sentence check of the library's embedder, kept by who asks often. ValueError for a message without an ask.
    """
    if message.ask is None:
        raise ValueError("only an answer can lack something")
    search = RepeatedSearch(library, message, message.ask, check or SentenceCheck(library.embedder))
    missed = _explain(search, expected.strip())
    if missed.source is None or not (said := sentences(missed.source.text)):
        return missed
    wanted = locate_sentence(library.store, missed.source, said[nearest(said, f"{missed.searched} {expected}")])
    return replace(missed, source=replace(missed.source, page_label=wanted.page_label))


def nearest(said: Sequence[str], wanted: str) -> int:
    """Which of these sentences has most of the wanted words; the first of several, and of none."""
    meant = set(content_words(wanted))
    return max(range(len(said)), key=lambda at: len(meant & set(content_words(said[at]))), default=0)


def _explain(search: RepeatedSearch, expected: str) -> Missed:
    if search.ask.chat_mode == "simple":
        return search.report(Cause.NOT_LOOKED, ask=replace(search.ask, chat_mode="condense_plus_context"))
    if search.ask.response_mode == "generation":
        return search.report(Cause.NOT_LOOKED, ask=replace(search.ask, response_mode="compact"))
    return _explain_expected(search, expected) if expected else _explain_next(search)


def _explain_expected(search: RepeatedSearch, expected: str) -> Missed:
    held = find_quoting(search, expected)
    if not held and (halves := find_split(search, expected)):
        return explain_split(search, halves)
    held = held or find_saying(search, expected)
    if used := [node for node in held if node.id_ in search.used]:
        return search.report_used(used[0])
    if not held:
        return explain_absence(search, expected)
    places = {hit.node.id_: place for place, hit in enumerate(search.everywhere)}
    return explain_kept_out(search, min(held, key=lambda node: places.get(node.id_, MOST_PASSAGES)), expected)


def _explain_next(search: RepeatedSearch) -> Missed:
    """Why it lacks the missed passage that answers best, if one does."""
    everywhere = search.everywhere
    missed = [(hit.node, search.searched) for hit in everywhere if hit.node.id_ not in search.used][:TRIED]
    if search.condensed:
        question = search.ask.question
        missed += [(hit.node, question) for hit in search.ranked(question) if hit.node.id_ not in search.used][:TRIED]
    used = search.library.store.nodes([source.node_id for source in search.message.sources[:TRIED]])
    margins = [measure_answering(search, question, node) for node, question in missed]
    margins_used = [measure_answering(search, search.searched, node) for node in used]
    best, best_used = max(margins, default=-np.inf), max(margins_used, default=-np.inf)
    # The very best was not looked at: whether it answers or not, something has kept it out.
    first_is_missed = bool(everywhere) and everywhere[0].node.id_ not in search.used
    if missed and (first_is_missed or best >= 0 or best >= max(best_used, -EASED)):
        return explain_kept_out(search, missed[margins.index(best)][0])
    if best_used >= 0:
        return search.report_used(used[margins_used.index(best_used)])
    return explain_absence(search)
