"""Dialogs to add documents: a link, pasted text, a folder of the server, a database, a storage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import streamlit as st

from lectern.jobs import sources
from lectern.jobs.files import Added
from lectern.jobs.sources import SourceFile
from lectern.settings import AllowedSources, allowed_sources
from lectern.ui import labels, resources
from lectern.ui.i18n import _, ngettext, translate
from lectern.ui.live_fragments import draw_anew
from lectern.ui.safetext import label
from lectern.ui.state import fill_widget, session, widget
from lectern.ui.widgets.dropzone import dropzone
from ragcore.errors import RagError

LINES = 10  # links at most


def ways_in(*, small: bool) -> None:
    """The area to drop files, the other sources, and current downloads."""
    st.fragment(_zone)(small)
    if session().documents.adding in _dialogs():
        title, draw = _dialogs()[session().documents.adding]
        st.dialog(title, on_dismiss=_close)(draw)()  # in every run, so that typed text stays
    running = resources.current_index().fetching.running()
    st.fragment(_downloads, run_every=0.7 if running else None)(running)


def _zone(small: bool) -> None:
    """The area to drop files. Its events rerun only this fragment, which then reruns the page: a run of the whole page right
    after an upload could drop a click."""
    allowed = allowed_sources()
    more = {}
    if allowed.folders:
        more["folder"] = _("Folder on this server")
    if find_spec("sqlalchemy"):
        more["database"] = _("Database query")
    if allowed.storage:
        more["storage"] = _("Storage address")
    dropzone({"link": _("Paste a link"), "text": _("Paste text")}, more, small=small, on_way=_open, on_landed=st.rerun)


def _downloads(known: list[str]) -> None:
    running = resources.current_index().fetching.running()
    if there := resources.current_index().fetching.already_there():
        session().notice = _already(there)
    if problems := resources.current_index().fetching.problems():
        session().notice = " ".join(f"{translate(problem.what)} {translate(problem.hint)}" for problem in problems)
    if running != known or there or problems:
        draw_anew()
    for each in running:
        st.text(_("Downloading {address}").format(address=each))


def _already(there: Sequence[Added]) -> str:
    names = [labels.duplicate_name(added) for added in there]
    if len(names) > 3:
        return _("{names} and others are already in your library.").format(names=", ".join(names[:3]))
    text = ngettext("{names} is already in your library.", "{names} are already in your library.", len(names))
    return text.format(names=", ".join(names))


def _open(way: str) -> None:
    session().documents.adding = way
    st.rerun()


def _close() -> None:
    session().documents.adding = ""


def _link() -> None:
    st.text_area(
        _("Link"),
        key="pasted_link",
        height=90,
        placeholder="https://example.org/page",
        help=_("A web page, a PDF or another document. Several links: one per line."),
    )
    _add("link", _keep_link)


def _text() -> None:
    st.text_input(_("Name"), key="pasted_title", placeholder=_("Its first words, if you leave this empty"))
    st.text_area(_("Text"), key="pasted", height=260, placeholder=_("Paste or type here"))
    _add("text", _keep_text)


def _folder() -> None:
    folders = [str(folder) for folder in allowed_sources().folders]
    st.text_input(_("Folder"), key="folder", placeholder=folders[0] if folders else "")
    st.caption(
        _("All documents in this folder and its subfolders are added. Allowed folders: {folders}").format(
            folders=label(", ".join(folders))
        )
    )
    _add("folder", _keep_folder)


def _database() -> None:
    st.text_input(_("Address of the database"), key="database", placeholder="postgresql://name:password@server/database")
    st.text_area(_("Query"), key="database_query", height=120, placeholder="SELECT title, body FROM notes")
    st.text_input(_("Name"), key="database_title", placeholder=_("Its table, if you leave this empty"))
    st.caption(_("Lectern only reads the database. Add the same query again to update its rows."))
    _add("database", _keep_rows)


def _storage() -> None:
    roots = ", ".join(allowed_sources().storage)
    st.text_input(_("Address of a file or folder"), key="storage", placeholder="s3://bucket/folder")
    st.caption(_("Allowed: {places}").format(places=label(roots)))
    _add("storage", _keep_stored)


def _add(way: str, keep: Callable[[], None]) -> None:
    if st.button(_("Add to my documents"), type="primary", key=f"keep_{way}", on_click=_close_and_add, args=(keep,)):
        st.rerun()


def _close_and_add(keep: Callable[[], None]) -> None:
    _close()
    keep()


def _keep_link() -> None:
    links = [line.strip() for line in _take_field("pasted_link").splitlines() if line.strip()]
    if not links:
        session().notice = _("Nothing was added: there was no link.")
    library, anywhere = resources.library(), allowed_sources().private_network
    for link in links[:LINES]:
        library.intake.add_link(link, anywhere=anywhere)
    library.worker.start()
    if len(links) > LINES:
        session().notice = _("The first {number} links are being added. Add the others afterwards.").format(number=LINES)


def _keep_text() -> None:
    library = resources.library()
    text, title = _take_field("pasted"), _take_field("pasted_title")
    try:
        added_files = library.intake.take([sources.from_text(text, title, library.incoming)])
    except RagError as error:
        session().notice = f"{translate(error.what)} {translate(error.hint)}"
        return
    if there := [added for added in added_files if added.outcome == "duplicate"]:
        session().notice = _already(there)
    library.worker.start()


def _keep_folder() -> None:
    folder = _take_field("folder")
    _start(folder, lambda into, allowed, most: sources.from_folder(folder, into, allowed, max_mb=most))


def _keep_rows() -> None:
    address, query, title = _take_field("database"), _take_field("database_query"), _take_field("database_title")
    place = urlsplit(address)
    name = title or f"{place.hostname or place.scheme}{place.path}"  # without the password that the address can contain
    _start(
        name,
        lambda into, allowed, most: [sources.from_database(address, query, into, allowed, title=title, max_mb=most)],
    )


def _keep_stored() -> None:
    address = _take_field("storage")
    _start(address, lambda into, allowed, most: sources.from_storage(address, into, allowed, max_mb=most))


def _take_field(key: str) -> str:
    """The text of a field, which is emptied."""
    typed = str(widget(key) or "")
    fill_widget(key, "")
    return typed


def _start(name: str, gather: Callable[[Path, AllowedSources, int], Iterable[SourceFile]]) -> None:
    library = resources.library()
    if not name.strip():
        session().notice = _("Nothing was added: the field was empty.")
        return
    allowed, most = allowed_sources(), library.settings.ingest.max_file_mb
    resources.current_index().fetching.start(name.strip(), lambda: gather(library.incoming, allowed, most))


def _dialogs() -> Mapping[str, tuple[str, Callable[[], None]]]:
    return {
        "link": (_("Paste a link"), _link),
        "text": (_("Paste text"), _text),
        "folder": (_("Folder on this server"), _folder),
        "database": (_("Database query"), _database),
        "storage": (_("Storage address"), _storage),
    }
