"""Why a passage is not among those of an answer, and the change of the ask that brings it in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lectern.explain.missed_cause import Cause, Missed
from lectern.explain.repeated_search import MAX_RANK, RepeatedSearch, place_among
from lectern.schema import Ask
from ragcore.schema import NodeWithScore, TextNode
from ragcore.text.key_phrases import keywords
from ragcore.text.language import language_of

QUESTION_KEYWORDS = 4  # of a passage, added to a question that must retrieve it


def explain_kept_out(search: RepeatedSearch, node: TextNode, expected: str = "") -> Missed:
    """The first cause that applies. `expected`: the text that a person expected in the answer, or ""."""
    ask, how = search.ask, search.ask.retrieval
    if ask.file_ids is not None and node.ref_doc_id not in ask.file_ids:
        return _bring_in(search, node, Cause.FILTERED, replace(ask, file_ids=None), search.everywhere)
    within, reach = search.within, search.reach()
    rank, score = place_among(node, within)
    if how.cutoff is not None and score < how.cutoff and (rank or MAX_RANK) <= reach:
        return search.report(Cause.CUT_OFF, node, rank, ask=replace(ask, retrieval=replace(how, cutoff=None)))
    if rank is not None and rank <= reach and (how.reranker or how.diverse):
        in_order = replace(ask, retrieval=replace(how, reranker="", diverse=False))
        return _bring_in(search, node, Cause.REORDERED, in_order, within)
    own_words = expected or ", ".join(keywords(node.text, QUESTION_KEYWORDS))
    with_words = replace(ask, question=f"{ask.question} ({own_words})")  # retrieves the passage in any case
    if search.took_central():
        return _bring_in(search, node, Cause.SUMMARY, with_words, within)
    in_top_k = rank is not None and rank <= ask.top_k
    with_weaker = _let_in(search, node, ask, search.searched) if in_top_k else ask
    if in_top_k and with_weaker == ask:
        return search.report(Cause.ADDED_SINCE, node, rank, ask=ask)
    if search.condensed and ask.chat_mode is not None:
        exact, _ = place_among(node, search.retrieve(ask.question, ask.file_ids))
        if exact is not None and exact <= ask.top_k:
            uncondensed = _let_in(search, node, replace(ask, chat_mode="context"), ask.question)
            return search.report(Cause.CONDENSED, node, rank, ask=uncondensed)
    spoken = (language_of(ask.question), language_of(node.text))
    if all(spoken) and spoken[0] != spoken[1]:
        return replace(_bring_in(search, node, Cause.LANGUAGE, with_words, within), languages=spoken)
    if in_top_k:
        return search.report(Cause.WEAKER, node, rank, ask=with_weaker)
    if rank is not None:
        return _bring_in(search, node, Cause.TOP_K, ask, within)
    return _bring_in(search, node, Cause.FAR, with_words, within)


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


def _bring_in(
    search: RepeatedSearch, node: TextNode, cause: Cause, ask: Ask, within: Sequence[NodeWithScore]
) -> Missed:
    """With a top_k that includes the passage; without an ask if none does."""
    rank, _ = place_among(node, within)
    same = (ask.question, ask.file_ids) == (search.ask.question, search.ask.file_ids)
    need, score = place_among(node, within if same else search.retrieve(ask.question, ask.file_ids))
    if need is None:
        return search.report(cause, node, rank)
    if ask.retrieval.cutoff is not None and score < ask.retrieval.cutoff:
        ask = replace(ask, retrieval=replace(ask.retrieval, cutoff=None))
    enough = min(need + max(need // 5, 1), MAX_RANK)  # ranks change a little with the number of passages
    ask = replace(ask, top_k=max(ask.top_k, enough))
    return search.report(
        cause, node, rank, ask=_let_in(search, node, ask, search.searched if same else ask.question)
    )


def _let_in(search: RepeatedSearch, node: TextNode, ask: Ask, question: str) -> Ask:
    """With weaker matches, if the passage is one of them. `question`: as it is searched."""
    how = ask.retrieval
    if how.weaker or how.reranker or how.diverse:
        return ask
    hits = search.retrieve(question, ask.file_ids, ask.top_k, weaker=False)
    if any(hit.node.id_ == node.id_ for hit in hits):
        return ask
    return replace(ask, retrieval=replace(how, weaker=True))
