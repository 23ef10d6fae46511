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
from lectern.ui.live_fragments import rerun_page
from lectern.ui.safetext import label
from lectern.ui.state import fill_widget, session, widget
from lectern.ui.widgets.dropzone import dropzone
from ragcore.errors import RagError

MAX_LINKS = 10


def add_documents(*, small: bool) -> None:
    """The area to drop files, the other sources, and current downloads."""
    st.fragment(_dropzone)(small)
    if session().documents.adding in _dialogs():
        title, draw = _dialogs()[session().documents.adding]
        st.dialog(title, on_dismiss=_close)(draw)()  # in every run, so that typed text stays
    running = resources.current_index().downloads.labels()
    st.fragment(_downloads, run_every=0.7 if running else None)(running)


def _dropzone(small: bool) -> None:
    """The area to drop files. Its events rerun only this fragment, which then reruns the page: a run of the
    whole page right after an upload could drop a click."""
    allowed = allowed_sources()
    more = {}
    if allowed.folders:
        more["folder"] = _("Folder on this server")
    if find_spec("sqlalchemy"):
        more["database"] = _("Database query")
    if allowed.storage:
        more["storage"] = _("Storage address")
    dropzone(
        {"link": _("Paste a link"), "text": _("Paste text")},
        more,
        small=small,
        on_source=_open_dialog,
        on_uploaded=st.rerun,
    )


def _downloads(known: list[str]) -> None:
    running = resources.current_index().downloads.labels()
    if duplicates := resources.current_index().downloads.take_duplicates():
        session().notice = _duplicates_text(duplicates)
    if problems := resources.current_index().downloads.take_problems():
        session().notice = " ".join(
            f"{translate(problem.what)} {translate(problem.hint)}" for problem in problems
        )
    if running != known or duplicates or problems:
        rerun_page()
    for address in running:
        st.text(_("Downloading {address}").format(address=address))


def _duplicates_text(duplicates: Sequence[Added]) -> str:
    names = [labels.duplicate_name(added) for added in duplicates]
    if len(names) > 3:
        return _("{names} and others are already in your library.").format(names=", ".join(names[:3]))
    text = ngettext("{names} is already in your library.", "{names} are already in your library.", len(names))
    return text.format(names=", ".join(names))


def _open_dialog(source: str) -> None:
    session().documents.adding = source
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
    _add_button("link", _add_links)


def _text() -> None:
    st.text_input(_("Name"), key="pasted_title", placeholder=_("Its first words, if you leave this empty"))
    st.text_area(_("Text"), key="pasted", height=260, placeholder=_("Paste or type here"))
    _add_button("text", _add_text)


def _folder() -> None:
    folders = [str(folder) for folder in allowed_sources().folders]
    st.text_input(_("Folder"), key="folder", placeholder=folders[0] if folders else "")
    st.caption(
        _("All documents in this folder and its subfolders are added. Allowed folders: {folders}").format(
            folders=label(", ".join(folders))
        )
    )
    _add_button("folder", _add_folder)


def _database() -> None:
    st.text_input(
        _("Address of the database"), key="database", placeholder="postgresql://name:password@server/database"
    )
    st.text_area(_("Query"), key="database_query", height=120, placeholder="SELECT title, body FROM notes")
    st.text_input(_("Name"), key="database_title", placeholder=_("Its table, if you leave this empty"))
    st.caption(_("Lectern only reads the database. Add the same query again to update its rows."))
    _add_button("database", _add_rows)


def _storage() -> None:
    roots = ", ".join(allowed_sources().storage)
    st.text_input(_("Address of a file or folder"), key="storage", placeholder="s3://bucket/folder")
    st.caption(_("Allowed: {places}").format(places=label(roots)))
    _add_button("storage", _add_storage)


def _add_button(source: str, add: Callable[[], None]) -> None:
    if st.button(
        _("Add to my documents"), type="primary", key=f"keep_{source}", on_click=_close_and_add, args=(add,)
    ):
        st.rerun()


def _close_and_add(add: Callable[[], None]) -> None:
    _close()
    add()


def _add_links() -> None:
    links = [line.strip() for line in _take_field("pasted_link").splitlines() if line.strip()]
    if not links:
        session().notice = _("Nothing was added: there was no link.")
    library, anywhere = resources.library(), allowed_sources().private_network
    for link in links[:MAX_LINKS]:
        library.intake.add_link(link, anywhere=anywhere)
    library.worker.start()
    if len(links) > MAX_LINKS:
        session().notice = _("The first {number} links are being added. Add the others afterwards.").format(
            number=MAX_LINKS
        )


def _add_text() -> None:
    library = resources.library()
    text, title = _take_field("pasted"), _take_field("pasted_title")
    try:
        added_files = library.intake.take([sources.from_text(text, title, library.incoming)])
    except RagError as error:
        session().notice = f"{translate(error.what)} {translate(error.hint)}"
        return
    if duplicates := [added for added in added_files if added.outcome == "duplicate"]:
        session().notice = _duplicates_text(duplicates)
    library.worker.start()


def _add_folder() -> None:
    folder = _take_field("folder")
    _start_download(
        folder, lambda into, allowed, max_mb: sources.from_folder(folder, into, allowed, max_mb=max_mb)
    )


def _add_rows() -> None:
    address, query, title = (
        _take_field("database"),
        _take_field("database_query"),
        _take_field("database_title"),
    )
    place = urlsplit(address)
    # without the password that the address can contain
    name = title or f"{place.hostname or place.scheme}{place.path}"
    query_mb = resources.library().settings.ingest.max_query_mb
    _start_download(
        name,
        lambda into, allowed, max_mb: [
            sources.from_database(address, query, into, allowed, title=title, max_mb=query_mb)
        ],
    )


def _add_storage() -> None:
    address = _take_field("storage")
    _start_download(
        address, lambda into, allowed, max_mb: sources.from_storage(address, into, allowed, max_mb=max_mb)
    )


def _take_field(key: str) -> str:
    """Returns the text of a field and empties it."""
    typed = str(widget(key) or "")
    fill_widget(key, "")
    return typed


def _start_download(name: str, gather: Callable[[Path, AllowedSources, int], Iterable[SourceFile]]) -> None:
    library = resources.library()
    if not name.strip():
        session().notice = _("Nothing was added: the field was empty.")
        return
    allowed, max_mb = allowed_sources(), library.settings.ingest.max_file_mb
    resources.current_index().downloads.start(name.strip(), lambda: gather(library.incoming, allowed, max_mb))


def _dialogs() -> Mapping[str, tuple[str, Callable[[], None]]]:
    return {
        "link": (_("Paste a link"), _link),
        "text": (_("Paste text"), _text),
        "folder": (_("Folder on this server"), _folder),
        "database": (_("Database query"), _database),
        "storage": (_("Storage address"), _storage),
    }
