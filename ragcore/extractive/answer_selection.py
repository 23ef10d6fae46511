"""Which sentences an answer quotes, and in which order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ragcore.extractive.answer_ranking import held, idf_shares, is_heading
from ragcore.questions.answer_types import FACTS, asks_whether, expected_kind, fits_kind, words_for_it
from ragcore.questions.definitions import asked_what_it_is, says_what_it_is
from ragcore.text.keywords import content_words
from ragcore.text.quotable_sentences import LEANS, Quote

if TYPE_CHECKING:
    import numpy.typing as npt

MAX_SENTENCES = 3
BEHIND_FACT = 3.0  # log odds that a further sentence may lie behind the best: less when a name, date or number, or yes or no,
BEHIND = 6.0  # is asked for, more when something is to be explained
BARE = 3  # words of a question that has no others, and wants as little: "Office hours?"
BRINGS = 2.0  # log odds that it gains by holding what the quoted ones lack of the question's words
HOLDS = 2.0  # log odds that a sentence gains by holding a price, or telling what to do, where that is asked for
_WHICH = re.compile(r"\W*(?:(?:in|on|at) )?(?:which|what|welche[mnrs]?|quel(?:le)?s?|qu[eé]|cuál) (?P<what>\w+)", re.IGNORECASE)


def choose(query: str, odds: npt.NDArray[np.float64], quotes: Sequence[Quote], *, surely: bool = True) -> list[int]:
    """The rows to quote: the best by its log odds, the list with which it goes on, what is nearly as good, what it leans on;
    beside a sentence no heading, and beside a fact that is asked for nothing that holds neither such a fact nor a word of the
    question; beside a price none but prices, and beside a telephone number or an address none of someone else. What is in
    another document must be as good as beside a fact, or hold a word that is lacking. `surely`: this is an answer; of what only
    comes near one, yes or no and a question of few words bring as much as others.

    The passage with the best comes first; within a passage they stay in reading order, but what the thing is of which that is
    asked, or a fact or yes or no that is asked for, in a sentence that leans on none, comes before what is said around it.
    """
    kind = expected_kind(query)
    if kind in ("advice", "price"):
        odds = odds + HOLDS * np.array([fits_kind(kind, quote.text, query) for quote in quotes])
    best = int(odds.argmax())
    wants_fact = kind in FACTS
    tells_at_once = wants_fact or asks_whether(query) or len(content_words(query)) == len(query.split()) <= BARE
    lowest = odds[best] - (BEHIND_FACT if wants_fact or (surely and tells_at_once) else BEHIND)
    elsewhere = np.array([quote.document != quotes[best].document for quote in quotes])
    shares = held(query, quotes)
    taken: list[int] = [best]
    if not is_heading(quotes[best]):
        odds = np.where([is_heading(quote) for quote in quotes], -np.inf, odds)
    odds = np.where([quote.goes_on_as_list for quote in quotes], -np.inf, odds)  # says nothing without what it goes on from
    if called := words_for_it(query):
        of_whom = idf_shares(query.replace(called, " "), [quote.text for quote in quotes]).sum(axis=1)
        odds = np.where(of_whom, odds, -np.inf) if of_whom.any() else odds
    elif wants_fact:
        asked = idf_shares(query, [quote.text for quote in quotes]).sum(axis=1)
        fits = [fits_kind(kind, quote.text, query) for quote in quotes]
        odds = np.where(fits if kind == "price" and fits[best] else np.logical_or(asked, fits), odds, -np.inf)
    if quotes[best].is_row:
        odds = np.where(_weaker_rows(best, shares > 0, quotes), -np.inf, odds)
    while len(taken) < min(MAX_SENTENCES, len(quotes)):
        lacking = np.where(shares[taken].any(axis=0), 0.0, shares)  # (n, words)
        weighed = odds + BRINGS * lacking.sum(axis=1)
        weighed[taken] = -np.inf
        weighed[elsewhere & (weighed < odds[best] - BEHIND_FACT) & ~lacking.any(axis=1)] = -np.inf
        if weighed.max() < lowest:
            break
        taken.append(int(weighed.argmax()))
    listed = best + 1
    if listed < len(quotes) and listed not in taken and _neighbours(quotes, best, listed) and quotes[listed].goes_on_as_list:
        taken = [best, listed, *taken[1:]][:MAX_SENTENCES]
    leans = best > 0 and _neighbours(quotes, best - 1, best) and LEANS.match(quotes[best].text) is not None
    if leans and best - 1 not in taken:
        taken = [*taken[: MAX_SENTENCES - 1], best - 1]
    passages = list(dict.fromkeys(quotes[row].passage for row in taken))  # taken from the best down
    thing = asked_what_it_is(query)
    tells = best if tells_at_once and not leans else None
    first = next((row for row in taken if says_what_it_is(thing, quotes[row].text)), tells)
    return sorted(taken, key=lambda row: (row != first, passages.index(quotes[row].passage), row))


def below_heading(query: str, quote: Quote) -> list[Quote]:
    """The quote, below the heading above it where that alone holds the date that is asked for, or says which: "Version 2.3"
    where a version is."""
    told = expected_kind(query) == "date" and fits_kind("date", quote.lead, query) and not fits_kind("date", quote.text, query)
    which = set(content_words(found["what"])) if (found := _WHICH.match(query)) else set()
    if told or (which & set(content_words(quote.lead))) - set(content_words(quote.text)):
        return [replace(quote, text=quote.lead, lead="", bullet=None, introduces=()), quote]
    return [quote]


def _weaker_rows(best: int, holds: npt.NDArray[np.bool_], quotes: Sequence[Quote]) -> npt.NDArray[np.bool_]:
    """(n,): whether it is a row as the best one is, with fewer of the question's words and none that the best lacks. `holds`:
    (n, words)."""
    none_new = ~(holds & ~holds[best]).any(axis=1)
    fewer = holds.sum(axis=1) < holds[best].sum()
    weaker: npt.NDArray[np.bool_] = none_new & fewer & np.array([quote.is_row for quote in quotes])
    return weaker


def _neighbours(quotes: Sequence[Quote], one: int, other: int) -> bool:
    return abs(one - other) == 1 and quotes[one].passage == quotes[other].passage
