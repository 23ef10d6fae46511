"""Feedback on an answer: a thumb, and a few words."""

from __future__ import annotations

import streamlit as st

from lectern.db.feedback import WORD_CHARS, Verdict
from lectern.schema import Message
from lectern.ui import resources
from lectern.ui.i18n import _
from lectern.ui.safetext import label
from lectern.ui.state import session, widget
from ragcore.errors import Problem, RagError


def read_verdicts(conversation_id: str | None) -> None:
    """Reads the feedback once per run, before the answers are drawn."""
    session().answers.verdicts = resources.library().feedback.of(conversation_id) if conversation_id else {}


def is_judged(message: Message, good: bool) -> bool:
    verdict = session().answers.verdicts.get(message.id)
    return verdict is not None and verdict.good is good


def judge(message: Message, good: bool) -> None:
    """A second click on the same thumb removes it."""
    state, feedback = session(), resources.library().feedback
    if is_judged(message, good):
        try:
            feedback.take_back(message.id)
        except RagError as error:
            state.problem = Problem.of(error)
        state.answers.explaining = ""
        return
    _give(message.id, Verdict(good))
    state.answers.explaining = message.id


def verdict_line(message: Message) -> None:
    """The words of the feedback, or the field for them right after a new thumb."""
    state = session()
    verdict = state.answers.verdicts.get(message.id)
    if verdict is None:
        return
    if state.answers.explaining == message.id:
        key = f"verdict_word_{message.id}"
        with st.container(key=f"verdict_{message.id}"):
            st.text_input(
                _("What was good?") if verdict.good else _("What was wrong?"),
                key=key,
                max_chars=WORD_CHARS,
                placeholder=_("Say why, if you like, then press Enter"),
                on_change=_save_explanation,
                args=(message.id, verdict.good, key),
            )
    elif verdict.word:
        with st.container(key=f"verdict_{message.id}"):
            st.caption(
                f"{_('You said') if verdict.good else _('You said it was wrong')}: {label(verdict.word)}"
            )


def _save_explanation(message_id: str, good: bool, key: str) -> None:
    session().answers.explaining = ""
    _give(message_id, Verdict(good, str(widget(key) or "")))


def _give(message_id: str, verdict: Verdict) -> None:
    try:
        resources.library().feedback.give(message_id, verdict)
    except RagError as error:
        session().problem = Problem.of(error)
