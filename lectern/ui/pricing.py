"""Estimates the price of questions in the background and caches it. A high price needs the person's
consent."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import TypeAlias

import streamlit as st

from lectern.library import Library
from lectern.runs.cost_estimate import (
    at_most,
    at_once,
    basis,
    calls_at_full_speed,
    is_over,
    price,
    together_at_once,
)
from lectern.runs.recorded_demo import recorded_price
from lectern.schema import Ask, Price
from lectern.ui import resources
from lectern.ui.state import Confirm, session
from ragcore.errors import RagError
from ragcore.extractive.quoter import Quoter
from ragcore.schema import ChatMessage

CACHE_SIZE = 200  # prices
SAMPLE_QUESTION = " ".join(["word"] * 12)  # for the estimate before a question is typed

Estimate: TypeAlias = Callable[[Library, Ask, Sequence[ChatMessage]], Price]


class Prices:
    """Estimates each price once per state of the library, in its own thread. Safe to share between
    threads."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="price")
        self._lock = threading.Lock()
        self._known: OrderedDict[Hashable, Future[Price]] = OrderedDict()

    def get(
        self, library: Library, ask: Ask, history: Sequence[ChatMessage] = (), estimate: Estimate = price
    ) -> Future[Price]:
        """A future with the price, or with the RagError that answering would raise."""
        messages = tuple((message.role, message.content) for message in history)
        key = (estimate, ask, messages, basis(library))
        with self._lock:
            known = self._known.get(key)
            if known is None or (known.done() and known.exception() is not None):
                self._known[key] = self._pool.submit(estimate, library, ask, tuple(history))
                while len(self._known) > CACHE_SIZE:
                    self._known.popitem(last=False)
            return self._known[key]


@st.cache_resource(show_spinner=False)
def prices() -> Prices:
    return Prices()


def calls_a_model() -> bool:
    """Whether answers call a language model, or replay such an answer. If not, calls and tokens mean
    nothing."""
    library = resources.library()
    return library.settings.stage or not isinstance(library.writer(), Quoter)


def price_of(ask: Ask, history: Sequence[ChatMessage] = ()) -> Future[Price]:
    """The price of an answer in the open index, estimated once per state of the library."""
    library = resources.library()
    recorded = recorded_price(library, ask, history)
    if recorded is not None:
        known: Future[Price] = Future()
        known.set_result(recorded)
        return known
    return prices().get(library, ask, history)


def highest_price(ask: Ask) -> Future[Price]:
    """The highest price of a first question in this mode, before it is typed."""
    return prices().get(resources.library(), replace(ask, question=SAMPLE_QUESTION), estimate=at_most)


def run_within_limits(
    asks: Sequence[Ask],
    run: Callable[[Sequence[Price | None]], None],
    *,
    history: Sequence[ChatMessage] = (),
    cancelled: Callable[[], None] | None = None,
) -> None:
    """A callback that runs `run`. If the total price is above the limits of the settings, it first opens a
    dialog.

    `run` gets the price of each answer when all run together, or None if unknown, for `runs().start(...,
    expected=price)`.
    """
    library, settings = resources.library(), resources.library().settings.price
    if not (settings.ask_above_calls or settings.ask_above_tokens):
        run(_known(asks, history))
        return
    try:
        if not calls_a_model():
            run(_known(asks, history))
            return
        # If even long passages are within the limits, skip the search and do not wait for the embedder.
        reads_top_k = all(ask.node_ids is None and ask.reading == "best" for ask in asks)
        if reads_top_k and not is_over(
            total_price([at_most(library, ask, history) for ask in asks]), settings
        ):
            run(_known(asks, history))
            return
        prices = [price_of(ask, history).result() for ask in asks]
    except RagError:
        run([None] * len(asks))  # starting reports the error
        return
    run_with_consent(total_price(prices), len(asks), lambda: run(at_once(prices, _full_speed())), cancelled)


def run_with_consent(
    price: Price, answers: int, run: Callable[[], None], cancelled: Callable[[], None] | None = None
) -> None:
    """A callback that runs `run`. If this price is above the limits of the settings, it first opens a dialog.
    Quotes call no model, so they need no consent."""
    if calls_a_model() and is_over(price, resources.library().settings.price):
        session().confirm = Confirm(price, answers, run, cancelled)
    else:
        run()


def total_price(prices: Sequence[Price]) -> Price:
    """The total price of answers that start at the same time."""
    return together_at_once(prices, _full_speed())


def _full_speed() -> int:
    return calls_at_full_speed(resources.library().settings.llm)


def _known(asks: Sequence[Ask], history: Sequence[ChatMessage]) -> Sequence[Price | None]:
    """The prices that are known by now, which the screen shows."""
    prices = [price_of(ask, history) for ask in asks]
    known = [price.result() for price in prices if price.done() and price.exception() is None]
    return at_once(known, _full_speed()) if len(known) == len(asks) else [None] * len(asks)
