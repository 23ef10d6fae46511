"""Parts of a screen that are drawn again and again while something goes on, and no longer once it is over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState, enqueue_message

from lectern.ui.state import session

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

BELOW = 5  # elements of a whole answer: its text, its verdict, its passages; one more to spare


def growing_place(place: DeltaGenerator | None = None) -> DeltaGenerator:
    """Where an answer grows: in `place`, a container where the whole answer will stand, or at the end of its part of the
    screen. What stood there and below, such as the answer to the question before, would stay until this one is whole: it goes
    at once."""
    # Within another kind of element than a whole answer, so it begins empty.
    place = (place or st.container()).chat_message("assistant")
    for _below in range(BELOW):
        st.empty()
    return place


def draw_anew() -> None:
    """Draw the whole screen anew for what has changed by itself, unless a dialog is open, which would lose what is being typed
    in it. When that is closed, the screen is drawn anew anyway."""
    state = session()
    if not (state.documents.adding or state.answers.form or state.confirm):
        st.rerun()


def be_still() -> None:
    """Have the browser ask no more for the part that is being drawn, until the whole screen is drawn: what it follows is over.

    Without this a tab that is left open would keep the server busy for ever.
    """
    part = ThreadState.get().fragment_id
    if part is not None:
        message = ForwardMsg()
        message.stop_auto_rerun.fragment_ids.append(part)
        enqueue_message(message)
