"""The pages of the application, and what their addresses say."""

from __future__ import annotations

import time
from typing import NoReturn

import streamlit as st

from lectern.app_files import app_folder
from lectern.indexes import MAIN
from lectern.ui import resources
from lectern.ui.i18n import _
from lectern.ui.state import Cited, open_index, session

PAGES = app_folder() / "pages"
HOME = PAGES / "home.py"
CHAT = PAGES / "chat.py"
QUERY = PAGES / "query.py"
INDEXES = PAGES / "indexes.py"
MAP = PAGES / "map.py"
NOTES = PAGES / "notes.py"
EVALUATE = PAGES / "evaluate.py"
SETTINGS = PAGES / "settings.py"
REPLAY = PAGES / "replay.py"
DOCUMENT = PAGES / "document.py"

ADDRESS_DELAY_SECONDS = 0.5  # during which a click may come from a browser without the newest address


def go_to_chat(conversation_id: str | None, panel: str = "") -> NoReturn:
    """Opens a conversation, and a panel beside it; None starts a new one."""
    state = session()
    if conversation_id != state.chat.conversation:
        state.chat.earlier = 0
    state.chat.conversation, state.panel, state.problem = conversation_id, panel, None
    state.address.changed_at = time.monotonic()
    address = {name: value for name, value in (("c", conversation_id), ("p", panel)) if value}
    st.switch_page(CHAT, query_params={**_index(), **address})


def go_to_settings(page: str = "") -> NoReturn:
    st.switch_page(SETTINGS, query_params={**_index(), **({"s": page} if page else {})})


def switch_to_next_page() -> None:
    """Switches to the page that a callback has chosen. Streamlit does not let a callback switch pages
    itself."""
    state = session()
    targets = {
        "replay": (REPLAY, "r", state.replay.conversation),
        "document": (DOCUMENT, "d", state.documents.opened),
    }
    page, letter, id_ = targets.get(state.address.next_page, (None, "", ""))
    if page is not None and id_:
        state.address.next_page, state.panel, state.problem = "", "", None
        state.address.changed_at = time.monotonic()
        st.switch_page(page, query_params={**_index(), letter: id_})


def open_document(file_id: str, cited: Cited | None = None) -> None:
    """A callback that opens the page of a document, at a passage or its beginning."""
    documents = session().documents
    documents.opened, documents.cited = file_id, cited
    documents.place = (cited.source.start, cited.source.end) if cited else (0, 0)
    session().address.next_page = "document"


def set_tab_title(name: str) -> None:
    st.set_page_config(page_title=f"{name} · Lectern")


def record_page(name: str) -> None:
    """Must run before `id_from_address`, which needs to know whether the page has just been opened."""
    state = session()
    if state.address.page != name:
        state.address.page, state.address.letter = name, ""


def id_from_address(letter: str, current: str | None) -> str | None:
    """The id of what the page shows. `letter` is the name of its parameter in the address.

    It is the id in the address if that is new (a reload, a link, the back button), or else `current`.
    """
    state, named, panel = session(), st.query_params.get(letter), st.query_params.get("p", "")
    if named and (named != state.address.last.get(letter) or state.address.letter != letter):
        state.panel = panel
        return named
    if named and panel != state.address.last["p"] == state.panel:
        state.panel = panel
    # A link between pages has no id. It keeps `current`, while the back button to such an address clears it.
    went_back = not named and state.address.letter == letter and current == state.address.last[letter]
    return (
        None if went_back and time.monotonic() - state.address.changed_at > ADDRESS_DELAY_SECONDS else current
    )


def write_address(letter: str, current: str | None, panel: str) -> None:
    """Writes the id and the side panel into the address, so that a reload shows the same."""
    state = session()
    state.address.letter = letter
    address = {
        **_index(),
        **{name: value for name, value in ((letter, current or ""), ("p", panel)) if value},
    }
    if st.query_params.to_dict() != address:  # the browser does not know it yet
        if state.address.last.get(letter) != (current or ""):
            state.address.changed_at = time.monotonic()
        st.query_params.from_dict(address)
    state.address.last |= {letter: current or "", "p": panel}


def open_index_of_address() -> None:
    """Opens the index in the page's address if that is new (a reload, a link, the back button), and adds the
    open index to the address if there are several indexes. Must be the first step of a run."""
    state, named_id = session(), st.query_params.get("i")
    index_id = named_id if named_id and named_id != state.address.last.get("i") else state.index
    if index_id != MAIN and resources.all_indexes().get(index_id) is None:
        index_id = MAIN
        for letter in ("c", "d", "n", "p", "q", "r", "s"):
            st.query_params.pop(letter, None)
        state.notice = _("This index has been deleted.")
    if index_id != state.index:
        open_index(index_id)
        state = session()
    shown_id = _index().get("i", "")
    state.address.last["i"] = shown_id
    if shown_id and named_id != shown_id:
        st.query_params["i"] = shown_id
    elif named_id and not shown_id:
        del st.query_params["i"]


def _index() -> dict[str, str]:
    """The part of every address that names the index; empty for a single index."""
    return {"i": session().index} if session().index != MAIN or len(resources.all_indexes().all()) > 1 else {}
