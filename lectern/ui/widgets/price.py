"""The price of an answer: a line before the question, and the dialog for a high one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial

import streamlit as st

from lectern.schema import Ask, Price
from lectern.ui import labels, resources
from lectern.ui.i18n import _, ngettext, translate
from lectern.ui.live_fragments import rerun_page
from lectern.ui.pricing import calls_a_model, highest_price, price_of, total_price
from lectern.ui.safetext import label
from lectern.ui.state import Confirm, session
from ragcore.errors import RagError
from ragcore.schema import ChatMessage

WAIT_SECONDS = 0.08  # a slower price appears later
POLL_SECONDS = 0.4  # between two checks of a price in progress


def price_tag(
    ask: Ask, history: Sequence[ChatMessage] = (), *, mode_label: Callable[[str], str] = labels.mode_label
) -> None:
    """One line such as "Refine: 14 calls, about 9,200 tokens, about 40 s", or only the time. Until it is
    known, the line says so."""
    if not ask.question.strip():
        st.caption(_("Type a question to see what it takes to answer it."))
        return
    line = partial(_("{mode}: {price}").format, mode=label(mode_label(ask.mode)))
    try:
        _tag(price_of(ask, history), line)
    except RagError as error:
        st.caption(label(translate(error.what)))


def total_tag(asks: Sequence[Ask]) -> None:
    """The total price of answers that start at the same time, below the lines of the answers."""
    prices = [price_of(ask) for ask in asks]
    if any(price.done() and price.exception() is not None for price in prices):
        return  # the lines of the answers show the error
    known = [price.result() for price in prices if price.done()]
    text = f":shimmer[{_('working out what it takes…')}]"
    if len(known) == len(prices):
        text = _price_text(total_price(known))
    st.caption(_("Total: {price}").format(price=text))


def highest_price_tag(ask: Ask) -> None:
    """The highest price per question of a mode, before a question is typed."""
    with suppress(RagError):  # asking reports the error
        if calls_a_model():
            _tag(highest_price(ask), _("Per question, at most: {price}").format)


def _tag(price: Future[Price], line: Callable[..., str]) -> None:
    """Draws `line` with the price as soon as it is known. RagError if it cannot be estimated."""
    try:
        result = price.result(timeout=WAIT_SECONDS)
    except TimeoutError:
        st.fragment(_draw_when_known, run_every=POLL_SECONDS)(price, line)
    else:
        st.caption(line(price=_price_text(result)))


def _price_text(price: Price) -> str:
    return label(labels.price(price, resources.library().settings.price.currency, model=calls_a_model()))


def _draw_when_known(price: Future[Price], line: Callable[..., str]) -> None:
    if price.done():
        rerun_page()
    st.caption(line(price=f":shimmer[{_('working out what it takes…')}]"))


def confirmation() -> None:
    """The dialog for an action above the limits of the settings."""
    confirm = session().confirm
    if confirm is not None:
        st.dialog(_("This is above your limits"), on_dismiss=_cancel)(_confirm)(confirm)


def _confirm(confirm: Confirm) -> None:
    price = labels.price(confirm.price, resources.library().settings.price.currency)
    answers = ngettext("Answering takes {price}.", "The {number} answers take {price}.", confirm.answers)
    with st.container(key="confirm_price"):
        st.markdown(label(answers.format(number=confirm.answers, price=price)))
        st.caption(
            _("Lectern asks first because of the limits in Settings. You can stop an answer at any time.")
        )
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
