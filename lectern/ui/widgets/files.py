"""The files of the library, in rows with their progress."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

import streamlit as st

from lectern.jobs.file_rows import ACTIVE, FileRow, Stage, seconds_left
from lectern.ui import labels, resources
from lectern.ui.i18n import _, ngettext, numeral, translate
from lectern.ui.live_fragments import rerun_page
from lectern.ui.navigation import open_document
from lectern.ui.safetext import label
from lectern.ui.state import event, session, widget
from lectern.ui.widgets.component import component
from lectern.ui.widgets.file_order import NEWEST, filter_files, order_names, sort_files
from lectern.ui.widgets.groups import groups_form
from lectern.ui.widgets.search_field import search_field
from lectern.ui.widgets.viewer import close_viewer
from ragcore.errors import RagError, UnknownDocumentError

COUNTED_FROM = 8  # files; a shorter list has no count above it
MAX_UNSORTED = 10  # files; a longer list has a search and a choice of the order
WITHOUT_PASSWORD = ("EPUB", "EML", "MHT", "MHTML")  # kinds of protected files that cannot be unlocked here
BATCH = 200  # rows at first, and with each click on "Show more"

_FILES = component("files", '<label class="all" hidden><input type="checkbox"><span></span></label><ul></ul>')


def file_rows() -> None:
    """A row per file, with a search and a choice of the order above a long list. Updates itself while files
    are read."""
    tally = _tally()
    st.fragment(_draw_list, run_every=1.0 if tally["active"] else None)(tally)


def _order_fields() -> None:
    with st.container(key="file_order", horizontal=True, vertical_alignment="center", gap="small"):
        search_field(
            _("Search documents"), "file_search", placeholder=_("Search by name"), live=True, width=260
        )
        orders = order_names()
        st.selectbox(
            _("Order"),
            list(orders),
            key="file_sort",
            format_func=orders.__getitem__,
            label_visibility="collapsed",
            persist_state="session",
            width=170,
        )


def _listed(search: str, order: str) -> tuple[list[FileRow], int]:
    """The files of the list in the order of the page, and the number of further ones."""
    library, visible = resources.library(), BATCH + session().documents.more_files
    if not search.strip() and order == NEWEST:
        files = library.files.all(limit=visible)
        return files, max(0, library.files.tally().total() - visible)
    files = sort_files(filter_files(library.files.all(), search), order)
    return files[:visible], max(0, len(files) - visible)


def _head(tally: Counter[str], files: Sequence[FileRow], active: Sequence[FileRow]) -> None:
    """The line above the list: counts, reading progress, and the actions for selected files."""
    failed = resources.library().files.all(Stage.FAILED) if tally["failed"] else []
    removable = sum(map(_unreadable, failed))
    facts = _count_facts(tally - Counter(failed=sum(file.passed_over for file in failed)), removable)
    facts = [*(facts if tally.total() >= COUNTED_FROM else facts[: not active]), *_reading_facts(active)]
    ticked = getattr(widget("files"), "chosen", None) or ()
    chosen = [file.id for file in files if file.id in ticked]
    choosing = session().documents.choosing
    with st.container(key="tally", horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(
            _("{number} chosen").format(number=numeral(len(chosen))) if choosing else " · ".join(facts)
        )
        if choosing:
            _selection_actions(chosen)
        elif removable > 1:
            st.button(
                _("Remove {number} that cannot be read").format(number=numeral(removable)),
                key="remove_failed",
                type="tertiary",
                on_click=_remove_failed,
            )
        if choosing or tally.total() > 1:
            st.button(
                _("Done") if choosing else _("Select documents"),
                key="choose_files",
                type="tertiary",
                on_click=_choose,
            )


def _reading_facts(active: Sequence[FileRow]) -> list[str]:
    seconds = seconds_left(active)
    if len(active) < 2 or seconds is None:
        return []
    facts = [_("{files} to read").format(files=labels.count(len(active), "file")), labels.time_left(seconds)]
    now = next((file.name for file in active if file.stage is not Stage.QUEUED), "")
    return [*facts, _("now {name}").format(name=label(now))] if now else facts


def _selection_actions(chosen: Sequence[str]) -> None:
    with st.popover(
        _("Groups"), icon=":material/label:", type="tertiary", key="groups_popover", disabled=not chosen
    ):
        groups_form(chosen)
    with st.popover(
        _("Delete"), icon=":material/delete:", type="tertiary", key="delete_popover", disabled=not chosen
    ):
        st.markdown(deletion_question(len(chosen)))
        st.button(_("Delete"), key="delete_files", type="primary", on_click=_delete_several, args=(chosen,))


def _choose() -> None:
    session().documents.choosing = not session().documents.choosing


def _delete_several(file_ids: Sequence[str]) -> None:
    session().documents.choosing = False
    delete_files(file_ids)


def deletion_question(number: int) -> str:
    return ngettext(
        "Delete this file, its text and its passages? Answers, notes and the results in Evaluate keep "
        "what they quote from it.",
        "Delete these {number} files, their text and their passages? Answers, notes and the results in "
        "Evaluate keep what they quote from them.",
        number,
    ).format(number=numeral(number))


def delete_files(file_ids: Sequence[str]) -> None:
    """A callback. A toast names the deleted files, or says why one was not deleted."""
    library, state, deleted = resources.library(), session(), []
    try:
        for file_id in file_ids:
            with suppress(UnknownDocumentError):  # another tab has deleted it
                deleted.append(library.delete_file(file_id).name)
            if state.viewer.document == file_id:
                close_viewer()
    except RagError as error:
        state.notice = f"{translate(error.what)} {translate(error.hint)}"
    else:
        if len(deleted) == 1:
            state.notice = _("{name} was deleted.").format(name=deleted[0])
        elif deleted:
            text = ngettext("{number} file was deleted.", "{number} files were deleted.", len(deleted))
            state.notice = text.format(number=numeral(len(deleted)))


def _count_facts(tally: Counter[str], removable: int) -> list[str]:
    """`removable` is the number of failed files that do not wait for a password."""
    facts = [labels.count(tally.total(), "file"), _("{number} ready").format(number=numeral(tally["ready"]))]
    if removable:
        facts.append(_("{number} could not be read").format(number=numeral(removable)))
    if waiting := tally["failed"] - removable:
        text = ngettext("{number} waits for a password", "{number} wait for a password", waiting)
        facts.append(text.format(number=numeral(waiting)))
    return facts


def _tally() -> Counter[str]:
    tally: Counter[str] = Counter()
    for stage, count in resources.library().files.tally().items():
        tally["active" if stage in ACTIVE else stage.value] += count
    return tally


def _draw_list(drawn: Counter[str]) -> None:
    library, tally = resources.library(), _tally()
    if tally.total() > MAX_UNSORTED:
        _order_fields()
        files, further = _listed(str(widget("file_search") or ""), widget("file_sort") or NEWEST)
    else:
        files, further = _listed("", NEWEST)
    active = library.files.all(*ACTIVE)
    if tally.total():
        _head(tally, files, active)
    groups = library.groups.all()
    _FILES(
        key="files",
        data={
            "files": [_row(file, [name for name, ids in groups.items() if file.id in ids]) for file in files],
            "choosing": session().documents.choosing,
            "words": _words(),
        },
        on_act_change=_act,
        on_chosen_change=lambda: None,
    )
    if tally.total() and not files:
        st.caption(_("No documents match."))
    if more := min(BATCH, further):
        label_more = ngettext("Show {number} more document", "Show {number} more documents", more).format(
            number=numeral(more)
        )
        st.button(label_more, key="more_files", type="tertiary", on_click=_show_more)
    if session().notice or session().address.next_page or tally != drawn:
        rerun_page()


def _remove_failed() -> None:
    """Removes the rows of unreadable files. Files that wait for a password stay."""
    library = resources.library()
    failed = [file for file in library.files.all(Stage.FAILED) if _unreadable(file)]
    for file in failed:
        if file.passages:  # of an earlier version, which answers still use
            library.delete_file(file.id)
        else:
            library.files.remove(file.id)
    session().notice = _("{files} removed from the list.").format(files=labels.count(len(failed), "file"))


def _unreadable(file: FileRow) -> bool:
    return not _unlockable(file) and not file.passed_over


def _unlockable(file: FileRow) -> bool:
    return file.problem is not None and file.problem.needs_password and file.kind not in WITHOUT_PASSWORD


def _show_more() -> None:
    session().documents.more_files += BATCH


def _row(file: FileRow, groups: Sequence[str]) -> dict[str, object]:
    problem = None
    if file.problem is not None:
        problem = {
            "what": labels.file_problem(file),
            "hint": translate(file.problem.hint),
            "needs_password": _unlockable(file),
            "left_out": [f"{translate(part.what)} {translate(part.hint)}" for part in file.left_out],
            "details": file.problem.details
            if ": " in file.problem.details
            else "",  # not if it is only the name of an error
        }
    state = file.state
    return {
        "id": file.id,
        "name": file.name,
        "parts": labels.name_parts(file.name),
        "kind": file.kind if len(file.kind) <= 5 else _("FILE"),
        "facts": labels.file_facts(file),
        "groups": groups,
        "state": state,
        "open": file.passages > 0,
        "fraction": file.fraction,
        "problem": problem,
        "retry": file.has_source and (state in ("failed", "stopped") or (file.ready and problem is not None)),
    }


def _words() -> dict[str, str]:
    return {
        "list": _("Your documents"),
        "open_of": _("Open {name}"),
        "delete": _("Delete"),
        "delete_of": _("Delete {name}"),
        "sure": deletion_question(1),
        "all": _("All"),
        "choose_of": _("Choose {name}"),
        "keep": _("Keep"),
        "password": _("Password of this file"),
        "password_of": _("Password of {name}"),
        "unlock": _("Unlock"),
        "resume": _("Resume"),
        "resume_of": _("Resume reading {name}"),
        "retry": _("Retry"),
        "retry_of": _("Retry {name}"),
        "details": _("Details"),
        "stop": _("Stop"),
        "stop_of": _("Stop reading {name}"),
    }


def _act() -> None:
    request = event("files", "act")
    library, file_id = resources.library(), str(request.get("id", ""))
    if request.get("do") == "open":
        open_document(file_id)
    elif request.get("do") == "stop":
        library.files.queue.stop(file_id)
    elif request.get("do") == "retry":
        password = request.get("password")
        library.files.queue.retry(file_id, password if isinstance(password, str) else None)
        library.worker.start()
    elif request.get("do") == "delete":
        delete_files([file_id])
