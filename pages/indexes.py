"""Indexes: one per collection of documents, with its content and its passages."""

from __future__ import annotations

import streamlit as st

from lectern.ui import navigation
from lectern.ui.i18n import _
from lectern.ui.state import session
from lectern.ui.widgets.documents import documents
from lectern.ui.widgets.figures import figures, rebuild
from lectern.ui.widgets.indexes import index_actions, index_list
from lectern.ui.widgets.viewer import viewer

state = session()
state.viewer.document = navigation.id_from_address("d", state.viewer.document or None) or ""
navigation.write_address("d", state.viewer.document or None, "")

st.title(_("Indexes"), anchor=False)
# Each part has its own container, even if empty, so that a fragment never moves into the place of another.
with st.container():
    index_list()
with st.container():
    figures()
with st.container():
    index_actions()

PARTS = {"documents": _("Documents"), "rebuild": _("Rebuild")}
part = st.segmented_control(
    _("Show"),
    list(PARTS),
    key="index_part",
    format_func=PARTS.__getitem__,
    default="documents",
    label_visibility="collapsed",
    required=True,
)
with st.container():
    if state.viewer.document and part != "rebuild":
        viewer()
with st.container():
    if part == "documents" and not state.viewer.document:
        documents()
with st.container():
    if part == "rebuild":
        rebuild()
