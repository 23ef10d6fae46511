"""The pages, and how to go from one to another with what it should show."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import streamlit as st

from ui.state import session

PAGES = Path(__file__).resolve().parents[1] / "pages"
HOME = PAGES / "home.py"
CHAT = PAGES / "chat.py"
QUERY = PAGES / "query.py"
SETTINGS = PAGES / "settings.py"


def go_to_chat(conversation_id: str | None) -> NoReturn:
    """Open a conversation; None begins a new one."""
    state = session()
    if conversation_id != state.conversation:
        state.earlier = 0
    state.conversation, state.passage, state.problem = conversation_id, "", None
    st.switch_page(CHAT, query_params={"c": conversation_id} if conversation_id else None)


def go_to_settings() -> NoReturn:
    st.switch_page(SETTINGS)
