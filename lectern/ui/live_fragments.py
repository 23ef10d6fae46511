"""Parts of a screen that update themselves while something is in progress."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState, enqueue_message

from lectern.ui.state import session

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

BELOW = 5  # elements of a complete answer: text, verdict, passages; one spare


def growing_place(place: DeltaGenerator | None = None) -> DeltaGenerator:
    """The place of a growing answer: in `place`, where the complete answer will be, or at the end of the fragment. It clears
    the old elements there and below, which would otherwise stay until the answer is complete."""
    # A different kind of element than a complete answer, so it begins empty.
    place = (place or st.container()).chat_message("assistant")
    for _below in range(BELOW):
        st.empty()
    return place


def draw_anew() -> None:
    """Reruns the whole page after a change. An open dialog would lose its text, so the page then waits until it is closed."""
    state = session()
    if not (state.documents.adding or state.answers.form or state.confirm):
        st.rerun()


def be_still() -> None:
    """Stops the timer of the current fragment until the next run of the whole page.

    Without this an idle tab would load the server forever.
    """
    part = ThreadState.get().fragment_id
    if part is not None:
        message = ForwardMsg()
        message.stop_auto_rerun.fragment_ids.append(part)
        enqueue_message(message)
