"""Parts of a screen that update themselves while something is in progress."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState, enqueue_message

from lectern.ui.state import session

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

MAX_ELEMENTS = 5  # of a complete answer: text, verdict, passages; one spare


def answer_placeholder(place: DeltaGenerator | None = None) -> DeltaGenerator:
    """An empty chat message for a streamed answer, in `place` or at the end of the fragment.

    Empties the elements of the previous run there and below, which would stay until the answer is complete.
    """
    # Streamlit empties it, because a complete answer has another kind of element here.
    place = (place or st.container()).chat_message("assistant")
    for _element in range(MAX_ELEMENTS):
        st.empty()
    return place


def dialog_is_open() -> bool:
    """Whether a rerun of the whole page would lose the text in a dialog."""
    state = session()
    return bool(state.documents.adding or state.answers.form or state.confirm)


def rerun_page() -> None:
    """Reruns the whole page, but not while a dialog is open."""
    if not dialog_is_open():
        st.rerun()


def stop_auto_rerun() -> None:
    """Stops the timer (`run_every`) of the current fragment until the next run of the whole page, so that an
    idle tab costs nothing."""
    fragment_id = ThreadState.get().fragment_id
    if fragment_id is not None:
        message = ForwardMsg()
        message.stop_auto_rerun.fragment_ids.append(fragment_id)
        enqueue_message(message)
