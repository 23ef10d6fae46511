"""Settings for token prices and for limits of an answer. A change is saved at once."""

from __future__ import annotations

import streamlit as st

from lectern.ui import labels, resources
from lectern.ui.i18n import _
from lectern.ui.widgets.settings_field import saved_field


def limits_of_answers() -> None:
    price = resources.library().settings.price
    st.markdown(
        _(
            "Before each answer you see what it takes: how often the model is asked (calls), how much "
            "it reads and writes (tokens), and about how long. Above these limits, Lectern asks first."
        )
    )
    with st.container(horizontal=True):
        _number(
            "ask_above_calls",
            labels.with_field_name(_("Ask first above this many requests"), _("calls")),
            price.ask_above_calls,
            10,
            _("0 never asks."),
        )
        _number(
            "ask_above_tokens",
            labels.with_field_name(_("Ask first above this much text"), _("tokens")),
            price.ask_above_tokens,
            10_000,
            _("A token is about ¾ of a word; what is sent and what is written both count. 0 never asks."),
        )


def token_prices() -> None:
    price = resources.library().settings.price
    st.markdown(_("For a model that costs money; see the price list of its provider. 0 means it is free."))
    with st.container(horizontal=True):
        unit = _("a million tokens")
        sent = labels.with_field_name(_("Price of what is sent"), unit)
        written = labels.with_field_name(_("Price of what is written"), unit)
        _number("prompt_million", sent, price.prompt_million, 0.1)
        _number("completion_million", written, price.completion_million, 0.1)
        st.text_input(
            _("Currency sign"), max_chars=5, width=130, **saved_field("price", "currency", prefix="price")
        )


def _number(field: str, name: str, value: int | float, step: int | float, meaning: str | None = None) -> None:
    kind = type(value)  # Streamlit wants the same type for all numbers
    saved = saved_field("price", field, prefix="price")
    st.number_input(name, min_value=kind(0), step=kind(step), help=meaning, width=220, **saved)
