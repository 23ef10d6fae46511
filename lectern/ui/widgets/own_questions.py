"""A form for three questions of a new question set, each with the document and page of its answer."""

from __future__ import annotations

import time

import streamlit as st

from lectern.ui import resources
from lectern.ui.i18n import _, day_and_time
from lectern.ui.state import session, widget
from ragcore.errors import Problem
from ragcore.evaluation.question_sets import ExpectedSource, Question

ROWS = 3


def own_questions() -> None:
    files = sorted(set(resources.library().files.ready_names().values()))
    for row in range(1, ROWS + 1):
        with st.container(key=f"own_{row}", horizontal=True, vertical_alignment="center", gap="small"):
            st.text_input(
                _("Question {number}").format(number=row),
                key=_key("text", row),
                placeholder=_("Question {number}").format(number=row),
                label_visibility="collapsed",
                persist_state="session",
            )
            st.selectbox(
                _("Document with the answer to question {number}").format(number=row),
                files,
                index=None,
                key=_key("document", row),
                placeholder=_("Document with the answer"),
                label_visibility="collapsed",
                persist_state="session",
                width=250,
            )
            st.text_input(
                _("Page with the answer to question {number}").format(number=row),
                key=_key("page", row),
                placeholder=_("Page"),
                label_visibility="collapsed",
                persist_state="session",
                width=90,
            )
    st.button(_("Use these questions"), key="use_own", type="primary", on_click=_use)


def _use() -> None:
    state = session().evaluate
    questions = [question for row in range(1, ROWS + 1) if (question := _read_row(row))]
    if not questions:
        state.problem = Problem(
            _("You have not typed a question yet."),
            _("Type at least one, and choose the document that has the answer."),
        )
        return
    name = _("My questions, {when}").format(when=day_and_time(time.time()))
    question_set = resources.library().evaluations.add_set(name, questions)
    state.question_set, state.question_page, state.problem, session().panel = question_set.id, 1, None, ""
    state.own_forms += 1


def _key(field: str, row: int) -> str:
    """A new key for each set, because fields in a closed form cannot be emptied."""
    return f"own_{field}_{row}_{session().evaluate.own_forms}"


def _read_row(row: int) -> Question | None:
    """The question of a row; None if it is empty."""
    text = " ".join(str(widget(_key("text", row)) or "").split())
    document, page = widget(_key("document", row)), str(widget(_key("page", row)) or "")
    pages = tuple(part.strip() for part in page.split(",") if part.strip())
    return Question(text, expected=(ExpectedSource(document, pages),) if document else ()) if text else None
