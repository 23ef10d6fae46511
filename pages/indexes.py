"""Indexes: one for each pile of documents, with what is in it and how it is cut into passages."""

from __future__ import annotations

import streamlit as st

from ui.i18n import _
from ui.widgets.shelf import index_actions, shelf

st.title(_("Indexes"), anchor=False)
shelf()
index_actions()
