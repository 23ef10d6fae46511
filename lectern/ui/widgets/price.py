"""The price of an answer: a line before it is asked for, and the question whether to go on where it is high."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial

import streamlit as st

from lectern.schema import Ask, Price
from lectern.ui import labels, resources
from lectern.ui.i18n import _, ngettext, translate
from lectern.ui.live_fragments import draw_anew
from lectern.ui.pricing import all_at_once, calls_a_model, most_of, price_of
from lectern.ui.safetext import label
from lectern.ui.state import Confirm, session
from ragcore.errors import RagError
from ragcore.schema import ChatMessage

WAIT = 0.08  # seconds; a price that takes longer is drawn when it is there
LOOK = 0.4  # seconds between two looks at one that is being worked out


def price_tag(ask: Ask, history: Sequence[ChatMessage] = ()) -> None:
    """One line: "Refine: 14 calls, about 9,200 tokens, about 40 s", or its time alone. Quick in every run of the
    script; always one line high."""
    if not ask.question.strip():
        st.caption(_("Type a question to see what it takes to answer it."))
        return
    line = partial(_("{mode}: {price}").format, mode=label(labels.mode_label(ask.mode)))
    try:
        _tag(price_of(ask, history), line)
    except RagError as error:
        st.caption(label(translate(error.what)))


def total_tag(asks: Sequence[Ask]) -> None:
    """A line below the tags of several asks that are answered at the same time: what they take together."""
    prices = [price_of(ask) for ask in asks]
    if any(price.done() and price.exception() is not None for price in prices):
        return  # their own tags say what is wrong
    known = [price.result() for price in prices if price.done()]
    text = f":shimmer[{_('working out what it takes…')}]"  # their own tags look whether it is there
    if len(known) == len(prices):
        text = _price_text(all_at_once(known))
    st.caption(_("Total: {price}").format(price=text))


def most_tag(ask: Ask) -> None:
    """A line for a way of answering of which no question is typed yet."""
    with suppress(RagError):  # asking says what is wrong
        if calls_a_model():
            _tag(most_of(ask), _("Per question, at most: {price}").format)


def _tag(price: Future[Price], line: Callable[..., str]) -> None:
    """`line` with the price, once there is one. RagError where there can be none."""
    try:
        result = price.result(timeout=WAIT)
    except TimeoutError:
        st.fragment(_draw_when_known, run_every=LOOK)(price, line)
    else:
        st.caption(line(price=_price_text(result)))


def _price_text(price: Price) -> str:
    return label(labels.price(price, resources.library().settings.price.currency, model=calls_a_model()))


def _draw_when_known(price: Future[Price], line: Callable[..., str]) -> None:
    if price.done():
        draw_anew()
    st.caption(line(price=f":shimmer[{_('working out what it takes…')}]"))


def confirmation() -> None:
    """Ask whether to go on, where something that was asked for takes more than the limits of the settings."""
    confirm = session().confirm
    if confirm is not None:
        st.dialog(_("This is above your limits"), on_dismiss=_cancel)(_confirm)(confirm)


def _confirm(confirm: Confirm) -> None:
    price = labels.price(confirm.price, resources.library().settings.price.currency)
    answers = ngettext("Answering takes {price}.", "The {number} answers take {price}.", confirm.answers)
    with st.container(key="confirm_price"):
        st.markdown(label(answers.format(number=confirm.answers, price=price)))
        st.caption(_("Lectern asks first because of the limits in Settings. You can stop an answer at any time."))
        with st.container(horizontal=True, gap="small"):
            if st.button(_("Run anyway"), key="confirm_run", type="primary"):
                session().confirm = None
                confirm.run()
                st.rerun()
            if st.button(_("Cancel"), key="confirm_cancel"):
                _cancel()
                st.rerun()


def _cancel() -> None:
    confirm, session().confirm = session().confirm, None
    if confirm is not None and confirm.cancelled is not None:
        confirm.cancelled()
