"""Documents: drop files in, watch them being read, and ask as soon as the first is ready."""

from __future__ import annotations

import streamlit as st

from lectern.jobs.file_rows import ACTIVE, Stage
from lectern.ui import navigation, resources
from lectern.ui.asking import ask_in_chat
from lectern.ui.i18n import _
from lectern.ui.state import session, widget
from lectern.ui.widgets.files import file_rows
from lectern.ui.widgets.offered_copy import dropped_copies
from lectern.ui.widgets.problem import session_problem
from lectern.ui.widgets.recorded_demo import recorded_question_buttons, recorded_questions
from lectern.ui.widgets.sources import add_documents
from lectern.ui.widgets.status_indicators import status_indicators
from lectern.ui.widgets.suggested_questions import suggested_questions
from ragcore.errors import Problem, RagError

library, state = resources.library(), session()


def add_sample() -> None:
    try:
        library.intake.add_sample()
    except RagError as error:
        state.problem = Problem.of(error)
    library.worker.start()


def ask() -> None:
    state.chat.go_to_chat = ask_in_chat(str(widget("home_ask") or ""), box="home_ask", new=True)


def ask_recorded(question: str) -> None:
    state.chat.go_to_chat = ask_in_chat(question, box="home_ask", new=True)


tally = library.files.tally()
files, ready, reading = tally.total(), tally[Stage.READY], any(tally[stage] for stage in ACTIVE)

if state.chat.go_to_chat:
    state.chat.go_to_chat = False
    navigation.go_to_chat(state.chat.conversation)

with st.container(key="hero"):
    title = (
        _("Your documents")
        if files
        else _("Ask your documents. Nothing\N{NO-BREAK SPACE}leaves this computer.")
    )
    st.title(title, anchor=False)
    if not files:
        st.markdown(_("Drop in files, ask a question, and get an answer that shows the page it came from."))

# Each part has its own container, even if empty, so that a fragment further down never moves into the place
# of another.
with st.container():
    session_problem("home")

with st.container():
    recorded_question_buttons(recorded_questions(chat=True), ask_recorded, key="home")

with st.container():
    # Drawn early, so that the list below does not move when the first file is ready.
    if ready or reading:
        with st.container(key="ask_here"):
            st.chat_input(_("Ask your documents"), key="home_ask", on_submit=ask, disabled=not ready)
        suggested_questions(box="home_ask", new=True)

with st.container():
    add_documents(small=bool(files))
    dropped_copies()

with st.container():
    if not files:
        with st.container(key="try_sample", horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(_("No files handy?"))
            st.button(
                _("Try it with a sample"), icon=":material/auto_stories:", key="sample", on_click=add_sample
            )

with st.container():
    file_rows()

status_indicators()
