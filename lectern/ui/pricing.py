"""What asks would take, worked out beside the screens and remembered; and a person who is asked first where it is much."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import TypeAlias

import streamlit as st

from lectern.library import Library
from lectern.runs.cost_estimate import at_most, at_once, basis, calls_at_full_speed, is_over, price, together_at_once
from lectern.runs.recorded_demo import recorded_price
from lectern.schema import Ask, Price
from lectern.ui import resources
from lectern.ui.state import Confirm, session
from ragcore.errors import RagError
from ragcore.schema import ChatMessage

CACHE_SIZE = 200  # prices
A_QUESTION = " ".join(["word"] * 12)  # in the place of one that is not typed yet

Work: TypeAlias = Callable[[Library, Ask, Sequence[ChatMessage]], Price]


class Prices:
    """Each ask's price is worked out once for each state of its library, in a thread of its own. Threads may share it."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="price")
        self._lock = threading.Lock()
        self._known: OrderedDict[Hashable, Future[Price]] = OrderedDict()

    def of(self, library: Library, ask: Ask, history: Sequence[ChatMessage] = (), work: Work = price) -> Future[Price]:
        """Its result is the price, or the RagError that answering would end in."""
        said = tuple((message.role, message.content) for message in history)
        key = (work, ask, said, basis(library))
        with self._lock:
            if key not in self._known:
                self._known[key] = self._pool.submit(work, library, ask, tuple(history))
                while len(self._known) > CACHE_SIZE:
                    self._known.popitem(last=False)
            return self._known[key]


@st.cache_resource(show_spinner=False)
def prices() -> Prices:
    return Prices()


def calls_a_model() -> bool:
    """Whether an answer may call a language model, or plays a recording of one that did: else calls and tokens say nothing."""
    library = resources.library()
    return library.settings.stage or not library.llm().metadata.is_extractive


def price_of(ask: Ask, history: Sequence[ChatMessage] = ()) -> Future[Price]:
    """What answering in the open index would take, once it is worked out; asking again costs nothing."""
    library = resources.library()
    played = recorded_price(library, ask, history)
    if played is not None:
        known: Future[Price] = Future()
        known.set_result(played)
        return known
    return prices().of(library, ask, history)


def most_of(ask: Ask) -> Future[Price]:
    """At most what a first question in this way takes, before it is typed."""
    return prices().of(resources.library(), replace(ask, question=A_QUESTION), work=at_most)


def run_within_limits(
    asks: Sequence[Ask],
    run: Callable[[Sequence[Price | None]], None],
    *,
    history: Sequence[ChatMessage] = (),
    cancelled: Callable[[], None] | None = None,
) -> None:
    """`run`, at once where what the asks take together is within the limits of the settings; else once the person has said
    so in the dialog that the frame draws. `run` gets what each ask takes beside the others, None where that was not known, for
    `runs().start(..., expected=price)`. For callbacks.
    """
    library, settings = resources.library(), resources.library().settings.price
    if not (settings.ask_above_calls or settings.ask_above_tokens):
        run(_known(asks, history))
        return
    try:
        # Passages need not be looked for, and the embedder not be waited for, where even long ones would be within the limits.
        if not any(map(_names_passages, asks)) and not is_over(
            all_at_once([at_most(library, ask, history) for ask in asks]), settings
        ):
            run(_known(asks, history))
            return
        prices = [price_of(ask, history).result() for ask in asks]
    except RagError:
        run([None] * len(asks))  # which says what is wrong
        return
    agree_first(all_at_once(prices), len(asks), lambda: run(at_once(prices, _full_speed())), cancelled)


def agree_first(price: Price, answers: int, run: Callable[[], None], cancelled: Callable[[], None] | None = None) -> None:
    """`run`, at once where so many answers, which take this together, are within the limits; else once the person has said
    so. For callbacks."""
    if is_over(price, resources.library().settings.price):
        session().confirm = Confirm(price, answers, run, cancelled)
    else:
        run()


def all_at_once(prices: Sequence[Price]) -> Price:
    """What answers take together that are begun at the same time."""
    return together_at_once(prices, _full_speed())


def _full_speed() -> int:
    return calls_at_full_speed(resources.library().settings.llm)


def _known(asks: Sequence[Ask], history: Sequence[ChatMessage]) -> Sequence[Price | None]:
    """What has been worked out by now, and so was shown."""
    prices = [price_of(ask, history) for ask in asks]
    known = [price.result() for price in prices if price.done() and price.exception() is None]
    return at_once(known, _full_speed()) if len(known) == len(asks) else [None] * len(asks)


def _names_passages(ask: Ask) -> bool:
    """Whether the number of its passages is another than `top_k`."""
    return ask.node_ids is not None or ask.reading != "best"
