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
    state.conversation, state.panel, state.problem = conversation_id, "", None
    st.switch_page(CHAT, query_params={"c": conversation_id} if conversation_id else None)


def go_to_settings() -> NoReturn:
    st.switch_page(SETTINGS)


def from_address(letter: str, current: str | None) -> str | None:
    """What a page should show: what its address says when that is news - a reload, a link, the back button - or `current`."""
    state, given = session(), st.query_params.get(letter)
    if given and given != state.addressed.get(letter):
        state.panel = st.query_params.get("p", "")
        return given
    return current


def to_address(letter: str, current: str | None, panel: str) -> None:
    """Let the address of the page say what it shows, so that a reload shows the same."""
    session().addressed[letter] = current or ""
    wanted = {name: value for name, value in ((letter, current or ""), ("p", panel)) if value}
    if st.query_params.to_dict() != wanted:
        st.query_params.from_dict(wanted)
