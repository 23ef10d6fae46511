"""Map: all passages of the open index. Passages with a similar meaning are close together."""

from __future__ import annotations

import streamlit as st

from lectern.ui import navigation
from lectern.ui.i18n import _
from lectern.ui.state import session
from lectern.ui.widgets.passage_map import passage_map
from lectern.ui.widgets.viewer import viewer

state = session()
state.viewer.document = navigation.id_from_address("d", state.viewer.document or None) or ""
navigation.write_address("d", state.viewer.document or None, "")

st.title(_("Map"), anchor=False)
st.markdown(
    _("Each point is a passage. Passages with a similar meaning lie close together; click one to read it.")
)
with st.container():
    passage_map()
if state.viewer.document:
    viewer()
