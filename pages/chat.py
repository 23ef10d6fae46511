"""Chat: a conversation with the documents. Its id is in the address for reloads."""

from __future__ import annotations

import streamlit as st

from lectern.jobs.file_rows import ACTIVE, Stage
from lectern.ui import labels, navigation, resources
from lectern.ui.asking import ask_in_chat
from lectern.ui.i18n import _
from lectern.ui.state import fill_menu, session, widget
from lectern.ui.widgets import answer
from lectern.ui.widgets.answer_forms import branch_lines, draw_open_form
from lectern.ui.widgets.chat_options import chosen_mode, mode_menu, scope_menu
from lectern.ui.widgets.model_offer import answer_for_offer, model_offer
from lectern.ui.widgets.panel import opened_panel, side_panel
from lectern.ui.widgets.passage import citation_clicks
from lectern.ui.widgets.problem import problem, session_problem
from lectern.ui.widgets.read_everything import choose_reading, draw_offer, make_offer
from lectern.ui.widgets.reading_progress import reading_line
from lectern.ui.widgets.recorded_demo import recorded_question_buttons, recorded_questions
from lectern.ui.widgets.sentence_support import read_checks
from lectern.ui.widgets.suggested_questions import suggested_questions
from lectern.ui.widgets.thumbs import read_verdicts, verdict_line
from ragcore.errors import Problem

WINDOW = 20  # messages at first

library, runs, state = resources.library(), resources.current_index().runs, session()

asked_for = navigation.id_from_address("c", state.chat.conversation)
conversation = library.conversations.get(asked_for) if asked_for else None
state.chat.conversation = conversation.id if conversation else None
navigation.set_tab_title((conversation.title if conversation else "") or _("Chat"))
opened = opened_panel(state.chat.conversation)
navigation.write_address("c", state.chat.conversation, state.panel if opened else "")


def ask() -> None:
    if not make_offer(str(widget("ask") or ""), chat=True):
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
    last = next(
        (message.ask for message in reversed(messages) if message.ask and message.ask.chat_mode), None
    )
    if last is not None:
        fill_menu("chat_mode", last.chat_mode)
        fill_menu("chat_files", list(last.file_ids or ()))


run = runs.get(conversation.id) if conversation else None
window = WINDOW + state.chat.earlier
messages = library.conversations.messages(conversation.id, last=window) if conversation else []
elsewhere = None if run else answer.find_answer_elsewhere(messages)
answering = run is not None or elsewhere is not None
tally = library.files.tally()
ready, reading = tally[Stage.READY], any(tally[stage] for stage in ACTIVE)
just_talks = chosen_mode() == "simple"

if asked_for and conversation is None:
    problem(
        Problem(_("This conversation no longer exists."), _("It was deleted. Start a new one below.")),
        key="gone",
    )

if not messages and state.problem is None:
    with st.container(key="empty_chat"):
        st.title(labels.chat_modes()["simple"].label if just_talks else _("Ask your documents"), anchor=False)
        if just_talks:
            st.markdown(_("The language model answers from what it knows. Your documents are not searched."))
        elif ready:
            st.markdown(
                _(
                    "Ask a question below. Every answer shows the passages it comes from; click a "
                    "number to see the page."
                )
            )
            suggested_questions(box="ask")
        elif reading:
            st.markdown(_("Your documents are being read. You can ask as soon as the first one is ready."))
            st.page_link(navigation.HOME, label=_("See progress"), icon=":material/upload_file:")
        else:
            st.markdown(
                _(
                    "There is nothing to ask about yet. Add a document; you can ask as soon as it has "
                    "been read."
                )
            )
            st.page_link(navigation.HOME, label=_("Add documents"), icon=":material/upload_file:")

read_verdicts(state.chat.conversation)
read_checks(state.chat.conversation)
if state.chat.conversation:
    branch_lines(state.chat.conversation)
undrawn = (
    library.conversations.size(conversation.id) - len(messages)
    if conversation and len(messages) == window
    else 0
)
if undrawn > 0:
    st.button(
        _("Show earlier messages ({number})").format(number=undrawn),
        key="earlier",
        type="tertiary",
        icon=":material/history:",
        on_click=show_earlier,
    )

streamed = None  # the message that is being written, and its place
offered = None if answering or undrawn > 0 else answer_for_offer(messages)
for message in messages:
    if message.role == "user":
        answer.question(message)
    elif message is elsewhere or (run is not None and message.id == run.message_id):
        streamed = message, st.container()
    else:
        answer.answer(message, last=message is messages[-1])
        verdict_line(message)
        if message is offered:
            model_offer(message)

session_problem("chat")

if not answering:
    before = [message.text for message in messages if message.role == "user"]
    recorded_question_buttons(recorded_questions(before, chat=True), ask_recorded, key="chat")

draw_offer(chat=True)
asked_last = next((message for message in reversed(messages) if message.role == "user"), None)
citation_clicks(
    answering=answering,
    conversation_id=state.chat.conversation or "",
    ended=labels.end_message([message.state for message in messages[-1:]]),
    last=messages[-1].id if messages else "",
    reveal=asked_last.id if asked_last else "",
    asked=asked_last.created if asked_last else 0.0,
)
if opened is not None:
    side_panel(opened)

draw_open_form(messages)
continue_as_asked()
with st.bottom:
    reading_line()
    with st.container(key="composer_options", horizontal=True):
        searches = chosen_mode() != "simple"
        if searches:
            scope_menu(disabled=answering)
        mode_menu(disabled=answering)
        if searches:
            choose_reading("chat_reading", disabled=answering)
    if run is not None:
        st.button(_("Stop"), icon=":material/stop:", key="stop", type="primary", on_click=run.stop)
    elif elsewhere is not None:
        st.button(
            _("Stop"),
            icon=":material/stop:",
            key="stop",
            type="primary",
            on_click=runs.stop,
            args=(elsewhere.id,),
        )
first_words = _("Ask your documents") if searches else _("Ask a question")
st.chat_input(_("Ask a follow-up") if messages else first_words, key="ask", on_submit=ask, disabled=answering)

if streamed is not None:
    if run is not None:
        answer.stream_answer(run, *streamed)
    else:
        answer.follow_answer_elsewhere(*streamed)
    st.rerun()
