"""Two forms about an answer: to edit its question in a branch, and to answer it in another mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import streamlit as st

from lectern.runs.answer_runs import QUESTION_CHARS
from lectern.schema import Ask, Message
from lectern.ui import labels, resources
from lectern.ui.asking import answer_again, ask_in_branch, mode_problem
from lectern.ui.i18n import _
from lectern.ui.navigation import go_to_chat
from lectern.ui.safetext import label
from lectern.ui.state import fill_widget, session, widget
from ragcore.response_synthesizers.response_mode import ResponseMode


def response_modes() -> list[str]:
    """Those that read the passages."""
    return [name for name in labels.response_modes() if ResponseMode(name).reads_passages]


def is_chat(message: Message) -> bool:
    return message.ask is not None and message.ask.chat_mode is not None


def open_edit(message: Message) -> None:
    if message.ask is not None:
        fill_widget("edited_question", message.ask.question)
        session().answers.form = f"edit.{message.id}"


def open_mode_form(message: Message) -> None:
    if message.ask is not None:
        fill_widget("other_chat_mode", message.ask.chat_mode)
        mode, modes = message.ask.response_mode, response_modes()
        fill_widget("other_response_mode", mode if mode in modes else modes[0])
        session().answers.form = f"ways.{message.id}"


def draw_open_form(messages: list[Message]) -> None:
    """The open form, if it is about one of these answers."""
    kind, _dot, message_id = session().answers.form.partition(".")
    message = next((each for each in messages if each.id == message_id), None)
    if message is None or message.ask is None or kind not in _TITLES:
        return
    draw = _edit_form if kind == "edit" else _mode_form
    st.dialog(_TITLES[kind](), on_dismiss=_close)(draw)(message, message.ask, message is messages[-1])


def _edit_form(message: Message, ask: Ask, last: bool) -> None:
    with st.form("edit_question", border=False):
        st.text_area(
            _("Question"),
            key="edited_question",
            height=110,
            max_chars=QUESTION_CHARS,
            label_visibility="collapsed",
        )
        st.caption(
            _(
                "The answer opens in a new conversation, which keeps everything said up to this point. "
                "This one stays as it is."
            )
        )
        if st.form_submit_button(
            _("Ask"), key="ask_edited", type="primary", on_click=_ask_edited, args=(message, ask)
        ):
            st.rerun()


def _ask_edited(message: Message, ask: Ask) -> None:
    _close()
    ask_in_branch(message.id, replace(ask, question=str(widget("edited_question") or "").strip()))


def _mode_form(message: Message, ask: Ask, last: bool) -> None:
    mode = str(
        st.selectbox(
            _("Chat mode"),
            list(labels.chat_modes()),
            key="other_chat_mode",
            format_func=lambda name: labels.chat_modes()[name].label,
        )
    )
    st.caption(labels.caption(mode))
    if mode != "simple":
        response = str(
            st.selectbox(
                _("How to read the passages"),
                response_modes(),
                key="other_response_mode",
                format_func=lambda name: labels.plain_response_modes()[name].label,
            )
        )
        st.caption(labels.caption(response))
    problem = mode_problem(mode)
    if problem:
        st.warning(label(problem))
    with st.container(key="other_ways", horizontal=True, gap="small"):
        if last:
            here = _("Replace this answer")
            if st.button(
                here,
                key="ways_here",
                type="primary",
                disabled=bool(problem),
                on_click=_again,
                args=(message, ask),
            ):
                st.rerun()
        there = _("Answer in a new conversation")
        if st.button(
            there,
            key="ways_there",
            type="secondary" if last else "primary",
            disabled=bool(problem),
            on_click=_ask_in_branch,
            args=(message, ask),
        ):
            st.rerun()
    if not last:
        st.caption(_("Later messages build on this answer, so it stays as it is."))


def _again(message: Message, ask: Ask) -> None:
    _close()
    answer_again(message.id, ask=_ask_from_form(ask))


def _ask_in_branch(message: Message, ask: Ask) -> None:
    _close()
    ask_in_branch(message.id, _ask_from_form(ask))


def _ask_from_form(ask: Ask) -> Ask:
    mode = str(widget("other_chat_mode") or ask.chat_mode)
    return replace(ask, chat_mode=mode, response_mode=str(widget("other_response_mode") or ask.response_mode))


def _close() -> None:
    session().answers.form = ""


def branch_lines(conversation_id: str) -> None:
    """Links to the conversation that this one branched from, and to its own branches."""
    conversations = resources.library().conversations
    if (origin := conversations.origin(conversation_id)) is not None:
        _branch_link(_("A branch of “{title}”"), origin.title, origin.id)
    for branch in conversations.branches(conversation_id)[-3:]:
        _branch_link(_("Continued differently in “{title}”"), branch.title, branch.id)


def _branch_link(sentence: str, title: str, conversation_id: str) -> None:
    text = sentence.format(title=label(title))
    if st.button(text, key=f"branch_{conversation_id}", type="tertiary", icon=":material/call_split:"):
        go_to_chat(conversation_id)


_TITLES: Mapping[str, Callable[[], str]] = {
    "edit": lambda: _("Edit the question"),
    "ways": lambda: _("Another kind of answer"),
}
