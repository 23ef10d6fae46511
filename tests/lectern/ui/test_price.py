"""What answering takes is said before: at once, or as soon as it has been worked out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from types import SimpleNamespace
from typing import cast

import pytest
import streamlit as st

from lectern.library import Library
from lectern.schema import Ask, Price
from lectern.settings import AppSettings
from lectern.ui import pricing, resources
from lectern.ui.widgets import price
from ragcore.errors import StoreError
from ragcore.schema import ChatMessage


@pytest.mark.parametrize(
    ("tag", "beginning"),
    [(price.price_tag, "Compact: "), (price.highest_price_tag, "Per question, at most: ")],
)
def test_a_price_that_is_not_known_at_once_is_waited_for(
    tag: Callable[[Ask], None], beginning: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[str] = []
    anew: list[bool] = []
    working: Future[Price] = Future()
    monkeypatch.setattr(st, "caption", drawn.append)
    monkeypatch.setattr(st, "fragment", lambda part, run_every: part)
    monkeypatch.setattr(price, "rerun_page", lambda: anew.append(True))
    monkeypatch.setattr(price, "price_of", lambda ask, history: working)
    monkeypatch.setattr(price, "highest_price", lambda ask: working)
    monkeypatch.setattr(price, "calls_a_model", lambda: True)
    monkeypatch.setattr(resources, "library", lambda: SimpleNamespace(settings=AppSettings()))

    tag(Ask("Why?", None))
    assert drawn == [f"{beginning}:shimmer[working out what it takes…]"]
    assert not anew
    working.set_result(Price(calls=3, prompt_tokens=900, completion_tokens=100))
    price._draw_when_known(working, lambda price: price)
    assert anew
    tag(Ask("Why?", None))
    assert drawn[-1].startswith(f"{beginning}3 calls, about 1,000 tokens")


def test_the_total_price_appears_once_each_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    asks = [Ask("Why?", None), Ask("Why?", None, "refine")]
    prices = {ask: Future[Price]() for ask in asks}
    monkeypatch.setattr(st, "caption", drawn.append)
    monkeypatch.setattr(price, "price_of", prices.__getitem__)
    monkeypatch.setattr(price, "calls_a_model", lambda: True)
    monkeypatch.setattr(resources, "library", lambda: SimpleNamespace(settings=AppSettings()))

    prices[asks[0]].set_result(Price(1, 900, 100, 60.0))
    price.total_tag(asks)
    assert drawn == ["Total: :shimmer[working out what it takes…]"]
    prices[asks[1]].set_result(Price(3, 2900, 100, 120.0))
    price.total_tag(asks)
    assert drawn[-1].replace("\N{NO-BREAK SPACE}", " ") == "Total: 4 calls, about 4,000 tokens, about 3 min"


def test_price_that_could_not_be_estimated_is_estimated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pricing, "basis", lambda library: "the same")
    known = Price(calls=1, prompt_tokens=10, completion_tokens=10)
    results: list[Price | StoreError] = [StoreError("The database is busy."), known]

    def estimate(library: Library, ask: Ask, history: Sequence[ChatMessage]) -> Price:
        result = results.pop(0)
        if isinstance(result, StoreError):
            raise result
        return result

    prices, library = pricing.Prices(), cast(Library, None)
    assert isinstance(prices.get(library, Ask("Why?"), estimate=estimate).exception(10), StoreError)
    for _ in range(2):
        assert prices.get(library, Ask("Why?"), estimate=estimate).result(10) == known
