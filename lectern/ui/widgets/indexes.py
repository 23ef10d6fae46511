"""The list of indexes, a new one, and the actions for the open one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from lectern.export.backup import Copied
from lectern.indexes import MAIN, NAME_CHARS, Index
from lectern.ui import labels, resources
from lectern.ui.i18n import _
from lectern.ui.offered_copies import OfferedCopy, copy_summary
from lectern.ui.safetext import label
from lectern.ui.server.security import page_ticket
from lectern.ui.state import event, open_index, session, widget
from lectern.ui.widgets.component import component
from lectern.ui.widgets.library_copy import library_copy
from lectern.ui.widgets.offered_copy import offered_copy
from lectern.ui.widgets.problem import problem
from ragcore.errors import Problem, RagError

_IMPORT = component(
    "import_index",
    '<div class="copy"><button type="button" class="plain"></button><input type="file" '
    'accept=".lectern" hidden>'
    '<span role="status"></span></div>',
)


def index_list() -> None:
    indexes, state = resources.all_indexes(), session()
    if state.problem is not None:
        problem(state.problem, key="indexes")
    if indexes.one_only:
        st.markdown(
            _("This library is a database on a server, which holds a single index. Its details are below.")
        )
        return
    all_ = indexes.all()
    st.markdown(
        _("An index has its own documents, passages and conversations. Settings and keys are shared.")
    )
    with st.container(key="shelf", horizontal=True, gap="small"):
        for index in all_:
            is_open = index.id == state.index
            st.button(
                label(labels.index_name(index.name)),
                key=f"open_{index.id}",
                icon=":material/check_circle:" if is_open else ":material/shelves:",
                on_click=open_index,
                args=(index.id,),
                disabled=is_open and len(all_) == 1,
                help=_("This one is open") if is_open else _("Open this index"),
            )
        _new_index_form()
    _draw_offer()
    _draw_creation()


def _new_index_form() -> None:
    """A new key closes the form after each index: Streamlit ignores a close request for a form that was
    opened in the same run. No `on_change`: it would also run for a click on a link, and lead back to this
    page."""
    number = session().indexes.forms
    key = f"new_index_name_{number}"
    with st.popover(_("New index"), icon=":material/add:", type="tertiary", key=f"make_index_{number}"):
        st.text_input(_("Name"), key=key, max_chars=NAME_CHARS, placeholder=_("For example: Contracts"))
        st.button(_("Create"), key="create_index", type="primary", on_click=_create, args=(key,))
        st.caption(_("Or start from an exported copy:"))
        st.fragment(_import)()


def _draw_offer() -> None:
    offered = resources.open_indexes().offers.get(session().indexes.offer)
    if offered is not None:
        offered_copy(offered, _("Create an index from it"), _create_from)


def _create_from(offered: OfferedCopy, prompts: bool) -> None:
    indexes = resources.all_indexes()
    name = indexes.free_name(Path(offered.name).stem)

    def create(on_progress: Callable[[float], None]) -> tuple[Index, Copied]:
        try:
            return indexes.take_in(
                offered.path, name, called=offered.name, prompts=prompts, on_progress=on_progress
            )
        finally:
            offered.path.unlink(missing_ok=True)

    session().indexes.creation = resources.open_indexes().creations.start(name, create)


def _draw_creation() -> None:
    if session().indexes.creation:
        with st.container(key="making"):
            st.fragment(_progress, run_every=0.5)()


def _progress() -> None:
    state, creations = session(), resources.open_indexes().creations
    creation = creations.get(state.indexes.creation)
    if creation is not None and not creation.ended:
        st.progress(creation.fraction, _("Creating {name}").format(name=label(creation.name)))
        st.button(
            _("Stop"),
            key="stop_making",
            icon=":material/stop:",
            type="tertiary",
            on_click=creations.stop,
            args=(creation.id,),
        )
        return
    creations.forget(state.indexes.creation)
    state.indexes.creation = ""
    if creation is not None and creation.index is not None:
        open_index(creation.index.id)
        summary = f"{copy_summary(creation.copied)} " if creation.copied else ""
        session().notice = summary + _("{name} has been created and is open.").format(
            name=creation.index.name
        )
    elif creation is not None:
        state.problem = creation.problem
    st.rerun()


def index_actions() -> None:
    index = resources.all_indexes().get(session().index)
    if index is None or resources.all_indexes().one_only:
        return
    with st.container(key="index_actions", horizontal=True, gap="small", vertical_alignment="center"):
        _rename_form(index)
        st.button(
            _("Duplicate"),
            key="duplicate_index",
            icon=":material/content_copy:",
            type="tertiary",
            on_click=_duplicate,
            disabled=bool(session().indexes.creation),
            help=_("A second index with the same documents and conversations, for trying other settings."),
        )
        with st.popover(_("Export"), icon=":material/download:", type="tertiary", key="export_popover"):
            st.markdown(
                _(
                    "All documents, passages and conversations of this index in one file. Keys are not "
                    "included."
                )
            )
            library_copy()
        if index.id == MAIN:
            return  # the first index has the settings that all share
        with st.popover(_("Delete"), icon=":material/delete:", type="tertiary", key="delete_popover"):
            sure = _(
                "Delete **{name}** with all its documents, conversations, notes and evaluations? This cannot "
                "be undone."
            )
            st.markdown(sure.format(name=label(index.name)))
            st.button(_("Delete this index"), key="delete_index", type="primary", on_click=_delete)


def _rename_form(index: Index) -> None:
    """Fills the field before the popover opens, because a later value would overwrite what is typed at once.
    Closes like `_new_index_form`."""
    number = session().indexes.forms
    key = f"index_name_{number}"
    with st.popover(_("Rename"), icon=":material/edit:", type="tertiary", key=f"rename_popover_{number}"):
        st.text_input(_("Name"), labels.index_name(index.name), key=key, max_chars=NAME_CHARS)
        st.button(_("Save"), key="rename_index", type="primary", on_click=_rename, args=(key,))


def _create(key: str) -> None:
    _report_problem(lambda: open_index(resources.all_indexes().create(str(widget(key) or "")).id))


def _rename(key: str) -> None:
    def rename() -> None:
        resources.all_indexes().rename(session().index, str(widget(key) or ""))
        session().indexes.forms += 1

    _report_problem(rename)


def _duplicate() -> None:
    indexes, id_, library = resources.all_indexes(), session().index, resources.library()
    index = indexes.get(id_)
    name = indexes.free_name(_("Copy of {name}").format(name=labels.index_name(index.name) if index else ""))
    session().problem = None
    session().indexes.creation = resources.open_indexes().creations.start(
        name, lambda on_progress: (indexes.duplicate(id_, library, name, on_progress), None)
    )


def _delete() -> None:
    def delete() -> None:
        id_ = session().index
        index = resources.all_indexes().get(id_)
        freed = resources.open_indexes().delete(id_)
        open_index(MAIN)
        name = index.name if index else ""
        session().notice = _("{name} was deleted; {size} freed.").format(name=name, size=labels.size(freed))

    _report_problem(delete)


def _report_problem(act: Callable[[], None]) -> None:
    session().problem = None
    try:
        act()
    except RagError as error:
        session().problem = Problem.of(error)


def _import() -> None:
    """A fragment: a run of the whole page after the upload could drop a click."""
    _IMPORT(
        key="import_index",
        data={
            "address": "/api/index",
            "ticket": page_ticket(),
            "words": {
                "choose": _("Import a copy"),
                "sending": _("Uploading the copy: {percent}%. Stay on this page until it is done."),
                "lost": _("The copy could not be uploaded: the connection was lost. Try again."),
            },
        },
        on_sent_change=_start_import,
    )


def _start_import() -> None:
    if sent := event("import_index", "sent"):
        session().problem = None
        session().indexes.offer = str(sent.get("id", ""))
        session().indexes.forms += 1
        st.rerun()
