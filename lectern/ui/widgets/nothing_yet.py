"""A screen without documents, with a link to add some."""

from __future__ import annotations

import streamlit as st

from lectern.ui import places
from lectern.ui.i18n import _


def nothing_yet(text: str) -> None:
    st.caption(text)
    st.page_link(places.HOME, label=_("Add documents"), icon=":material/upload_file:")
