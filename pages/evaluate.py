"""Evaluate: questions with known answers, and how well each setting finds and answers them."""

from __future__ import annotations

import streamlit as st

from lectern.ui import navigation
from lectern.ui.i18n import _
from lectern.ui.state import session
from lectern.ui.widgets.measurements import measurements
from lectern.ui.widgets.problem import Choice, problem
from lectern.ui.widgets.question_sets import question_set

state = session()
state.evaluate.question_set = navigation.id_from_address("s", state.evaluate.question_set)

st.title(_("Evaluate"), anchor=False)
if state.evaluate.problem is not None and problem(
    state.evaluate.problem, [Choice(_("Dismiss"), "dismiss")], key="evaluate"
):
    state.evaluate.problem = None
    st.rerun()

chosen = question_set()
navigation.write_address(
    "s", chosen.id if chosen else None, state.panel if state.panel.startswith("compare.") else ""
)
if chosen is not None:
    measurements(chosen)
