"""A screen without documents, with a link to add some."""

from __future__ import annotations

import streamlit as st

from lectern.ui import navigation
from lectern.ui.i18n import _


def empty_state(text: str) -> None:
    st.caption(text)
    st.page_link(navigation.HOME, label=_("Add documents"), icon=":material/upload_file:")
