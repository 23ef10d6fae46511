"""Adding documents from elsewhere: a link, pasted text, a folder of the server, a database, a storage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import streamlit as st

from ragcore.config import AllowedSources, allowed_sources
from ragcore.errors import RagError
from ragcore.ingestion import sources
from ragcore.ingestion.sources import Gathered
from ui import resources
from ui.safetext import label
from ui.state import fill_widget, session, widget
from ui.widgets.dropzone import dropzone

LINES = 10  # links that may be pasted at once


def ways_in(*, small: bool) -> None:
    """The place to drop files, with the other ways to add documents, and what is being fetched."""
    allowed = allowed_sources()
    more = {}
    if allowed.folders:
        more["folder"] = "Folder on this server"
    if find_spec("sqlalchemy"):
        more["database"] = "Database query"
    if allowed.storage:
        more["storage"] = "Storage address"
    state = session()
    state.adding = dropzone({"link": "Paste a link", "text": "Paste text"}, more, small=small) or state.adding
    if state.adding in _DIALOGS:
        _DIALOGS[state.adding]()  # again whenever the screen is drawn anew, so that what was typed stays
    running = resources.fetching().running()
    st.fragment(_fetching, run_every=0.7 if running else None)(running)


def _fetching(known: list[str]) -> None:
    """What is being fetched; the screen is drawn anew when that changes."""
    running = resources.fetching().running()
    if there := resources.fetching().already_there():
        is_are = "is" if len(there) == 1 else "are"
        session().notice = f"{', '.join(there[:3])}{' and others' if len(there) > 3 else ''} {is_are} in your library already."
    if running != known or there:
        st.rerun()
    for each in running:
        st.text(f"Downloading {each}")


def _close() -> None:
    session().adding = ""


@st.dialog("Paste a link", on_dismiss=_close)
def _link() -> None:
    st.text_area(
        "Link",
        key="pasted_link",
        height=90,
        placeholder="https://example.org/page",
        help="A web page, a PDF or another document. Several links: one on each line.",
    )
    _add("link", _keep_link)


@st.dialog("Paste text", on_dismiss=_close)
def _text() -> None:
    st.text_input("Name", key="pasted_title", placeholder="Its first words, if you leave this empty")
    st.text_area("Text", key="pasted", height=260, placeholder="Paste or type here")
    _add("text", _keep_text)


@st.dialog("Folder on this server", on_dismiss=_close)
def _folder() -> None:
    folders = [str(folder) for folder in allowed_sources().folders]
    st.text_input("Folder", key="folder", placeholder=folders[0] if folders else "")
    st.caption("All documents in it and in the folders below are added. These may be read: " + label(", ".join(folders)))
    _add("folder", _keep_folder)


@st.dialog("Database query", on_dismiss=_close)
def _database() -> None:
    st.text_input("Address of the database", key="database", placeholder="postgresql://name:password@server/database")
    st.text_area("Query", key="database_query", height=120, placeholder="SELECT title, body FROM notes")
    st.text_input("Name", key="database_title", placeholder="Its table, if you leave this empty")
    st.caption("The database is only read. Adding the same query again brings its rows up to date.")
    _add("database", _keep_rows)


@st.dialog("Storage address", on_dismiss=_close)
def _storage() -> None:
    roots = ", ".join(allowed_sources().storage)
    st.text_input("Address of a file or folder", key="storage", placeholder="s3://bucket/folder")
    st.caption(f"These may be read: {label(roots)}")
    _add("storage", _keep_stored)


def _add(way: str, keep: Callable[[], None]) -> None:
    if st.button("Add to my documents", type="primary", key=f"keep_{way}", on_click=_kept, args=(keep,)):
        st.rerun()


def _kept(keep: Callable[[], None]) -> None:
    _close()
    keep()


def _keep_link() -> None:
    links = [line.strip() for line in _given("pasted_link").splitlines() if line.strip()]
    if not links:
        session().notice = "Nothing was added: there was no link."
    for link in links[:LINES]:
        _start(link, partial(_linked, link))
    if len(links) > LINES:
        session().notice = f"The first {LINES} links are being added. Add the others afterwards."


def _linked(link: str, into: Path, allowed: AllowedSources, most: int) -> list[Gathered]:
    return [sources.from_link(link, into, allowed, max_mb=most)]


def _keep_text() -> None:
    library = resources.library()
    text, title = _given("pasted"), _given("pasted_title")
    try:
        taken = library.take([sources.from_text(text, title, library.incoming)])
    except RagError as error:
        session().notice = f"{error.what} {error.hint}"
        return
    for added in taken:
        if added.outcome == "duplicate":
            session().notice = f"{added.file.name} is in your library already."
    library.start_worker()


def _keep_folder() -> None:
    folder = _given("folder")
    _start(folder, lambda into, allowed, most: sources.from_folder(folder, into, allowed, max_mb=most))


def _keep_rows() -> None:
    address, query, title = _given("database"), _given("database_query"), _given("database_title")
    place = urlsplit(address)
    shown = title or f"{place.hostname or place.scheme}{place.path}"  # without the password that may be in it
    _start(
        shown,
        lambda into, allowed, most: [sources.from_database(address, query, into, allowed, title=title, max_mb=most)],
    )


def _keep_stored() -> None:
    address = _given("storage")
    _start(address, lambda into, allowed, most: sources.from_storage(address, into, allowed, max_mb=most))


def _given(key: str) -> str:
    """What was typed into a field, which is empty the next time."""
    typed = str(widget(key) or "")
    fill_widget(key, "")
    return typed


def _start(shown: str, gather: Callable[[Path, AllowedSources, int], Iterable[Gathered]]) -> None:
    library = resources.library()
    if not shown.strip():
        session().notice = "Nothing was added: the field was empty."
        return
    allowed, most = allowed_sources(), library.settings.ingest.max_file_mb
    resources.fetching().start(shown.strip(), lambda: gather(library.incoming, allowed, most))


_DIALOGS: Mapping[str, Callable[[], None]] = {
    "link": _link,
    "text": _text,
    "folder": _folder,
    "database": _database,
    "storage": _storage,
}
