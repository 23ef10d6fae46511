"""The documents of the open index as a table with search, filters and sorting, one page of rows at a time."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from lectern.jobs.file_rows import ACTIVE, FileRow
from lectern.ui import labels, resources
from lectern.ui.i18n import _, day_and_time, numeral, translate
from lectern.ui.navigation import open_document
from lectern.ui.server.security import page_ticket
from lectern.ui.state import event, fill_widget, session, widget
from lectern.ui.widgets.component import component
from lectern.ui.widgets.empty_state import empty_state
from lectern.ui.widgets.file_order import NEWEST, filter_files, name_key, order_names
from lectern.ui.widgets.files import delete_files, deletion_question
from lectern.ui.widgets.search_field import search_field
from ragcore.errors import Problem, RagError

ROWS = 50  # per page

_TABLE = component("documents", '<div class="root"></div>')


def documents() -> None:
    busy = bool(resources.library().files.all(*ACTIVE, limit=1))
    st.fragment(_documents, run_every=1.0 if busy else None)(busy)


def _documents(was_busy: bool) -> None:
    files = resources.library().files.all()
    busy = any(file.active for file in files)
    if busy != was_busy or session().notice or session().viewer.redraw:
        session().viewer.redraw = False
        st.rerun()
    if not files:
        empty_state(_("No documents yet."))
        return
    matching = _filter_and_sort(files)
    pages = max(1, -(-len(matching) // ROWS))
    page = min(max(session().indexes.document_page, 1), pages)
    _filters(files)
    rows = matching[(page - 1) * ROWS : page * ROWS]
    _TABLE(
        key="document_table",
        data={
            "rows": [_row(file) for file in rows],
            "sort": session().indexes.document_sort,
            "ticket": page_ticket(),
            "address": "/api/upload",
            "words": _words(),
        },
        on_act_change=_act,
    )
    if not matching:
        st.caption(_("No documents match."))
    if pages > 1:
        _page_buttons(page, pages, len(rows), len(matching))


def _filters(files: Sequence[FileRow]) -> None:
    with st.container(key="document_filters", horizontal=True, vertical_alignment="bottom"):
        name = _("Search by name")
        search_field(
            _("Search documents"), "document_search", placeholder=name, width=260, on_change=_first_page
        )
        st.selectbox(
            _("Status"),
            list(_states()),
            key="document_state",
            format_func=lambda state: _states()[state],
            label_visibility="collapsed",
            on_change=_first_page,
            width=170,
        )
        kinds = sorted({file.kind for file in files})
        if widget("document_kind") not in ["", *kinds]:
            fill_widget("document_kind", "")
        st.selectbox(
            _("Type"),
            ["", *kinds],
            key="document_kind",
            format_func=lambda kind: kind or _("All types"),
            label_visibility="collapsed",
            on_change=_first_page,
            width=140,
        )
        orders = _orders()
        fill_widget("document_order", session().indexes.document_sort)
        st.selectbox(
            _("Order"),
            list(orders),
            key="document_order",
            format_func=lambda order: orders[order],
            label_visibility="collapsed",
            on_change=lambda: _sort(str(widget("document_order"))),
            width=170,
        )


def _orders() -> dict[str, str]:
    """The values of `document_sort` to choose from, with the current one. A phone has not all columns, whose
    names sort, too."""
    names = order_names()
    orders = {"-added": NEWEST, "added": "oldest", "name": "name", "-size": "largest"}
    sort = session().indexes.document_sort
    arrow = "↓" if sort.startswith("-") else "↑"
    of_column = {sort: f"{_words()[sort.removeprefix('-')]} {arrow}"}
    return of_column | {value: names[order] for value, order in orders.items()}


def _sort(sort: str) -> None:
    session().indexes.document_sort = sort
    _first_page()


def _page_buttons(page: int, pages: int, rows: int, matching: int) -> None:
    with st.container(key="document_pages", horizontal=True, vertical_alignment="center"):
        first = (page - 1) * ROWS + 1
        st.caption(
            _("{first} to {last} of {all}").format(
                first=numeral(first), last=numeral(first + rows - 1), all=numeral(matching)
            ),
            width="content",
        )
        st.button(
            _("Previous"),
            key="documents_back",
            type="tertiary",
            on_click=_go_to_page,
            args=(page - 1,),
            disabled=page == 1,
        )
        st.button(
            _("Next"),
            key="documents_on",
            type="tertiary",
            on_click=_go_to_page,
            args=(page + 1,),
            disabled=page == pages,
        )


def _states() -> dict[str, str]:
    return {
        "": _("All statuses"),
        "ready": _("Ready"),
        "active": _("Being read"),
        "failed": _("Could not be read"),
        "passed": _("Skipped"),
        "stopped": _("Stopped"),
    }


def _filter_and_sort(files: Sequence[FileRow]) -> list[FileRow]:
    """The files that match the fields, in the order of the table."""
    named = filter_files(files, str(widget("document_search") or ""))
    state, kind = widget("document_state") or "", widget("document_kind") or ""
    matching = [file for file in named if state in ("", file.state) and kind in ("", file.kind)]
    sort = session().indexes.document_sort
    keys = {
        "name": name_key,
        "state": lambda file: file.state,
        "passages": lambda file: file.passages,
        "size": lambda file: file.size,
        "added": lambda file: file.added,
    }
    return sorted(matching, key=keys[sort.removeprefix("-")], reverse=sort.startswith("-"))


def _row(file: FileRow) -> dict[str, object]:
    return {
        "id": file.id,
        "name": file.name,
        "state": file.state,
        "status": labels.file_problem(file) or labels.stages()[file.stage],
        "left_out": [f"{translate(part.what)} {translate(part.hint)}" for part in file.left_out],
        "passages": numeral(file.passages) if file.passages else "",
        "size": labels.size(file.size) if file.size else "",
        "added": day_and_time(file.added),
        "open": file.passages > 0,
        "again": bool(file.path) and not file.active,
    }


def _words() -> dict[str, str]:
    return {
        "name": _("Name"),
        "state": _("Status"),
        "passages": _("Passages"),
        "size": _("Size"),
        "added": _("Added"),
        "open": _("Show passages from {name}"),
        "document": _("Open the document"),
        "more": _("More about {name}"),
        "again": _("Read again"),
        "replace": _("Replace with a newer version"),
        "delete": _("Delete"),
        "sure": deletion_question(1),
        "keep": _("Keep"),
        "details": _("Details"),
        "sending": _("Uploading…"),
        "lost": _("The upload failed. Try again."),
    }


def _first_page() -> None:
    session().indexes.document_page = 1


def _go_to_page(page: int) -> None:
    session().indexes.document_page = page


def _act() -> None:
    request = event("document_table", "act")
    library, state, do, id_ = resources.library(), session(), request.get("do"), str(request.get("id", ""))
    try:
        if do == "sort" and id_ in ("name", "state", "passages", "size", "added"):
            _sort(f"-{id_}" if state.indexes.document_sort == id_ else id_)
        elif do == "open":
            state.viewer.document, state.viewer.start, state.viewer.match_start, state.viewer.passage = (
                id_,
                0,
                -1,
                "",
            )
            state.viewer.redraw = True
        elif do == "document":
            open_document(id_)
            state.viewer.redraw = True
        elif do == "again":
            library.files.queue.read_again(id_)
            library.worker.start()
        elif do == "replaced":
            state.notice = _("{name} will be replaced as soon as the new version has been read.").format(
                name=str(request.get("name", ""))
            )
        elif do == "delete":
            delete_files([id_])
    except RagError as error:
        state.problem, state.viewer.redraw = Problem.of(error), True  # another part of the page shows it
