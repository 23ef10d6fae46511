"""Suggested first questions from the documents. They take a few seconds to generate; a line reserves their
place."""

from __future__ import annotations

import streamlit as st

from lectern.ask.suggested_questions import summary_request_in
from lectern.jobs.file_rows import ACTIVE, Stage
from lectern.ui import resources
from lectern.ui.asking import ask_in_chat
from lectern.ui.i18n import _, language
from lectern.ui.live_fragments import stop_auto_rerun
from lectern.ui.navigation import go_to_chat
from lectern.ui.safetext import label
from lectern.ui.state import menu_value, session

POLL_SECONDS = 1.0  # between two checks while they are generated


def suggested_questions(*, box: str, new: bool = False) -> None:
    """For a library with documents, even before the first is ready. `box` and `new` are those of
    `ask_in_chat`."""
    pending = resources.library().suggestions.get().pending
    st.fragment(_draw_questions, run_every=POLL_SECONDS if pending else None)(box, new)


def _draw_questions(box: str, new: bool) -> None:
    # No rerun of the whole page here: while files become ready one by one, it would never finish.
    library = resources.library()
    ready = library.files.tally()[Stage.READY]
    suggestions = library.suggestions.get(() if new else tuple(menu_value("chat_files") or ()))
    if not suggestions.pending and not library.files.all(*ACTIVE, limit=1):
        stop_auto_rerun()
    # One container of one fragment in all states: a container of another would move the list below for a
    # moment.
    with st.container(
        key="suggested" if suggestions.questions or suggestions.pending or not ready else "none_suggested"
    ):
        if not ready:
            st.caption(_("Your documents are being read. You can ask as soon as the first one is ready."))
        elif suggestions.questions:
            st.caption(_("From your documents:"))
        elif suggestions.pending:
            st.caption(f":shimmer[{_('Looking for questions your documents can answer…')}]")
        for number, suggested in enumerate(suggestions.questions):
            question = summary_request_in(language(), suggested)
            if st.button(
                label(question), key=f"suggested_{number}", type="tertiary", icon=":material/arrow_outward:"
            ):
                if ask_in_chat(question, box=box, new=new):
                    go_to_chat(session().chat.conversation)
                st.rerun()
