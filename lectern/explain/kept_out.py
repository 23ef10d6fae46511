"""Why a passage is not among those of an answer, and the change of the ask that brings it in.

Each cause has a function, which gives None if it does not apply. The first one that applies is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from lectern.explain.missed_cause import Cause, Missed
from lectern.explain.repeated_search import MOST_PASSAGES, RepeatedSearch, place_among
from lectern.schema import Ask
from ragcore.schema import NodeWithScore, TextNode
from ragcore.text.key_phrases import keywords
from ragcore.text.language import language_of

QUESTION_KEYWORDS = 4  # of a passage, added to a question that must retrieve it


def explain_kept_out(search: RepeatedSearch, node: TextNode, expected: str = "") -> Missed:
    """`expected`: the text that a person expected in the answer, or ""."""
    passage = _MissedPassage(search, node, expected)
    return next(missed for cause in _CAUSES if (missed := cause(passage)) is not None)


def explain_split(search: RepeatedSearch, halves: Sequence[TextNode]) -> Missed:
    """Why an answer lacks a text that begins in one passage and ends in the next."""
    if all(node.id_ in search.used for node in halves):
        return search.report_used(halves[0])
    missing = next(node for node in halves if node.id_ not in search.used)
    if search.ask.file_ids is not None and missing.ref_doc_id not in search.ask.file_ids:
        return explain_kept_out(search, missing)
    ranks = [place_among(node, search.within)[0] for node in halves]
    rank = place_among(missing, search.within)[0]
    if None in ranks:
        return search.report(Cause.SPLIT, missing, rank)
    lower = max(halves, key=lambda node: place_among(node, search.within)[0] or 0)
    both = _bring_in(search, lower, Cause.SPLIT, search.ask, search.within)
    return replace(both, source=search.source_of(missing), rank=rank)


@dataclass
class _MissedPassage:
    """A passage that the answer does not use."""

    search: RepeatedSearch
    node: TextNode
    expected: str

    @cached_property
    def place(self) -> tuple[int | None, float]:
        """Its rank, 1 for the best, in the selected documents, and its score."""
        return place_among(self.node, self.search.within)

    @property
    def in_reach(self) -> bool:
        """Whether the search passed it to the later steps."""
        rank, _ = self.place
        return rank is not None and rank <= self.search.reach()

    @property
    def in_top_k(self) -> bool:
        rank, _ = self.place
        return rank is not None and rank <= self.search.ask.top_k

    @cached_property
    def with_weaker(self) -> Ask:
        return _let_in(self.search, self.node, self.search.ask, self.search.searched)

    def with_its_words(self) -> Ask:
        """The question with words of the passage, which retrieve it in any case."""
        ask, own = self.search.ask, self.expected or ", ".join(keywords(self.node.text, QUESTION_KEYWORDS))
        return replace(ask, question=f"{ask.question} ({own})")

    def report(self, cause: Cause, ask: Ask) -> Missed:
        return self.search.report(cause, self.node, self.place[0], ask=ask)

    def bring_in(self, cause: Cause, ask: Ask) -> Missed:
        return _bring_in(self.search, self.node, cause, ask, self.search.within)


def _filtered(one: _MissedPassage) -> Missed | None:
    search, ask = one.search, one.search.ask
    if ask.file_ids is None or one.node.ref_doc_id in ask.file_ids:
        return None
    return _bring_in(search, one.node, Cause.FILTERED, replace(ask, file_ids=None), search.everywhere)


def _cut_off(one: _MissedPassage) -> Missed | None:
    how, (rank, score) = one.search.ask.retrieval, one.place
    if how.cutoff is None or score >= how.cutoff or (rank or MOST_PASSAGES) > one.search.reach():
        return None
    return one.report(Cause.CUT_OFF, replace(one.search.ask, retrieval=replace(how, cutoff=None)))


def _reordered(one: _MissedPassage) -> Missed | None:
    how = one.search.ask.retrieval
    if not one.in_reach or not (how.reranker or how.diverse):
        return None
    return one.bring_in(Cause.REORDERED, replace(one.search.ask, retrieval=replace(how, reranker="", diverse=False)))


def _summary(one: _MissedPassage) -> Missed | None:
    return one.bring_in(Cause.SUMMARY, one.with_its_words()) if one.search.took_central() else None


def _added_since(one: _MissedPassage) -> Missed | None:
    ask = one.search.ask
    return one.report(Cause.ADDED_SINCE, ask) if one.in_top_k and one.with_weaker == ask else None


def _condensed(one: _MissedPassage) -> Missed | None:
    search, ask = one.search, one.search.ask
    if not search.condensed or ask.chat_mode is None:
        return None
    exact, _ = place_among(one.node, search.ranked(ask.question, ask.file_ids))
    if exact is None or exact > ask.top_k:
        return None
    return one.report(Cause.CONDENSED, _let_in(search, one.node, replace(ask, chat_mode="context"), ask.question))


def _language(one: _MissedPassage) -> Missed | None:
    spoken = (language_of(one.search.ask.question), language_of(one.node.text))
    if not all(spoken) or spoken[0] == spoken[1]:
        return None
    return replace(one.bring_in(Cause.LANGUAGE, one.with_its_words()), languages=spoken)


def _weaker(one: _MissedPassage) -> Missed | None:
    return one.report(Cause.WEAKER, one.with_weaker) if one.in_top_k else None


def _below_top_k(one: _MissedPassage) -> Missed | None:
    return one.bring_in(Cause.TOP_K, one.search.ask) if one.place[0] is not None else None


def _far(one: _MissedPassage) -> Missed | None:
    return one.bring_in(Cause.FAR, one.with_its_words())


_CAUSES: tuple[Callable[[_MissedPassage], Missed | None], ...] = (
    _filtered,
    _cut_off,
    _reordered,
    _summary,
    _added_since,
    _condensed,
    _language,
    _weaker,
    _below_top_k,
    _far,
)


def _bring_in(search: RepeatedSearch, node: TextNode, cause: Cause, ask: Ask, within: Sequence[NodeWithScore]) -> Missed:
    """With a top_k that includes the passage; without an ask if none does."""
    rank, _ = place_among(node, within)
    same = (ask.question, ask.file_ids) == (search.ask.question, search.ask.file_ids)
    need, score = place_among(node, within if same else search.ranked(ask.question, ask.file_ids))
    if need is None:
        return search.report(cause, node, rank)
    if ask.retrieval.cutoff is not None and score < ask.retrieval.cutoff:
        ask = replace(ask, retrieval=replace(ask.retrieval, cutoff=None))
    enough = min(need + max(need // 5, 1), MOST_PASSAGES)  # ranks change a little with the number of passages
    ask = replace(ask, top_k=max(ask.top_k, enough))
    return search.report(cause, node, rank, ask=_let_in(search, node, ask, search.searched if same else ask.question))


def _let_in(search: RepeatedSearch, node: TextNode, ask: Ask, question: str) -> Ask:
    """With weaker matches, if the passage is one of them. `question`: as it is searched."""
    how = ask.retrieval
    if how.weaker or how.reranker or how.diverse:
        return ask
    hits = search.ranked(question, ask.file_ids, ask.top_k, weaker=False)
    if any(hit.node.id_ == node.id_ for hit in hits):
        return ask
    return replace(ask, retrieval=replace(how, weaker=True))
