"""Chat: a conversation with the documents. Its id is in the address for reloads."""

from __future__ import annotations

import streamlit as st

from lectern.jobs.file_rows import ACTIVE, Stage
from lectern.ui import labels, places, resources
from lectern.ui.asking import ask_in_chat
from lectern.ui.i18n import _
from lectern.ui.state import fill_menu, session, widget
from lectern.ui.widgets import answer
from lectern.ui.widgets.ask_otherwise import branch_lines, opened_form
from lectern.ui.widgets.chat_options import mode_menu, scope_menu
from lectern.ui.widgets.model_offer import model_offer, offered_below
from lectern.ui.widgets.panel import opened_panel, side_panel
from lectern.ui.widgets.passage import citation_clicks
from lectern.ui.widgets.problem import problem, session_problem
from lectern.ui.widgets.read_everything import choose_reading, offer_here, offer_instead
from lectern.ui.widgets.reading import reading_line
from lectern.ui.widgets.recorded_demo import offer, recorded_questions
from lectern.ui.widgets.sentence_support import read_checks
from lectern.ui.widgets.suggested import suggested_questions
from lectern.ui.widgets.thumbs import read_verdicts, verdict_line
from ragcore.errors import Problem

WINDOW = 20  # messages at first

library, runs, state = resources.library(), resources.current_index().runs, session()

asked_for = places.from_address("c", state.chat.conversation)
conversation = library.conversations.get(asked_for) if asked_for else None
state.chat.conversation = conversation.id if conversation else None
places.title_tab((conversation.title if conversation else "") or _("Chat"))
opened = opened_panel(state.chat.conversation)
places.to_address("c", state.chat.conversation, state.panel if opened else "")


def ask() -> None:
    if not offer_instead(str(widget("ask") or ""), chat=True):
        ask_in_chat(str(widget("ask") or ""), box="ask")


def ask_recorded(question: str) -> None:
    ask_in_chat(question, box="ask")


def show_earlier() -> None:
    state.chat.earlier += WINDOW


def continue_as_asked() -> None:
    """An opened conversation continues with the mode and documents of its last question."""
    if state.chat.conversation == state.chat.options_of:
        return
    state.chat.options_of = state.chat.conversation
    last = next((message.ask for message in reversed(messages) if message.ask and message.ask.chat_mode), None)
    if last is not None:
        fill_menu("chat_mode", last.chat_mode)
        fill_menu("chat_files", list(last.file_ids or ()))


run = runs.get(conversation.id) if conversation else None
window = WINDOW + state.chat.earlier
messages = library.conversations.messages(conversation.id, last=window) if conversation else []
elsewhere = None if run else answer.written_elsewhere(messages)
answering = run is not None or elsewhere is not None
tally = library.files.tally()
ready, reading = tally[Stage.READY], any(tally[stage] for stage in ACTIVE)

if asked_for and conversation is None:
    problem(Problem(_("This conversation no longer exists."), _("It was deleted. Start a new one below.")), key="gone")

if not messages and state.problem is None:
    with st.container(key="empty_chat"):
        st.title(_("Ask your documents"), anchor=False)
        if ready:
            st.markdown(
                _("Ask a question below. Every answer shows the passages it comes from; click a number to see the page.")
            )
            suggested_questions(box="ask")
        elif reading:
            st.markdown(_("Your documents are being read. You can ask as soon as the first one is ready."))
            st.page_link(places.HOME, label=_("See progress"), icon=":material/upload_file:")
        else:
            st.markdown(_("There is nothing to ask about yet. Add a document; you can ask as soon as it has been read."))
            st.page_link(places.HOME, label=_("Add documents"), icon=":material/upload_file:")

read_verdicts(state.chat.conversation)
read_checks(state.chat.conversation)
if state.chat.conversation:
    branch_lines(state.chat.conversation)
undrawn = library.conversations.size(conversation.id) - len(messages) if conversation and len(messages) == window else 0
if undrawn > 0:
    st.button(
        _("Show earlier messages ({number})").format(number=undrawn),
        key="earlier",
        type="tertiary",
        icon=":material/history:",
        on_click=show_earlier,
    )

growing = None  # the growing message, and its place
offered = None if answering else offered_below(messages)
for message in messages:
    if message.role == "user":
        answer.question(message)
    elif message is elsewhere or (run is not None and message.id == run.message_id):
        growing = message, st.container()
    else:
        answer.answer(message, last=message is messages[-1])
        verdict_line(message)
        if message is offered:
            model_offer(message)

session_problem("chat")

if not answering:
    before = [message.text for message in messages if message.role == "user"]
    offer(recorded_questions(before, chat=True), ask_recorded, key="chat")

offer_here(chat=True)
citation_clicks(
    answering=answering,
    of=state.chat.conversation or "",
    ended=labels.end_message([message.state for message in messages[-1:]]),
    last=messages[-1].id if messages else "",
    reveal=next((message.id for message in reversed(messages) if message.role == "user"), ""),
)
if opened is not None:
    side_panel(opened)

opened_form(messages)
continue_as_asked()
with st.bottom:
    reading_line()
    with st.container(key="composer_options", horizontal=True):
        scope_menu(disabled=answering)
        mode_menu(disabled=answering)
        choose_reading("chat_reading", disabled=answering)
    if run is not None:
        st.button(_("Stop"), icon=":material/stop:", key="stop", type="primary", on_click=run.stop)
    elif elsewhere is not None:
        st.button(_("Stop"), icon=":material/stop:", key="stop", type="primary", on_click=runs.stop, args=(elsewhere.id,))
st.chat_input(_("Ask your documents") if not messages else _("Ask a follow-up"), key="ask", on_submit=ask, disabled=answering)

if growing is not None:
    if run is not None:
        answer.growing_answer(run, *growing)
    else:
        answer.answer_elsewhere(*growing)
    st.rerun()
