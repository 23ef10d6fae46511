"""The files of the library: a row for each with how far reading it has come."""

from __future__ import annotations

from collections import Counter

import streamlit as st

from lectern.jobs.file_rows import ACTIVE, FileRow, Stage, seconds_left
from lectern.ui import labels, resources
from lectern.ui.i18n import _, ngettext, numeral, said
from lectern.ui.live_fragments import draw_anew
from lectern.ui.places import open_document
from lectern.ui.safetext import label
from lectern.ui.state import event, session
from lectern.ui.widgets.component import component
from ragcore.errors import RagError, UnknownDocumentError

MANY = 8  # rows from which they are counted
SEALED = ("EPUB", "EML", "MHT", "MHTML")  # what no password opens that could be entered here
SHOWN = 200  # rows; as many more each time they are asked for

_FILES = component("files", "<ul></ul>")


def file_rows() -> None:
    """A row per file, moving while something is being read."""
    tally = _tally()
    count = tally.total()
    if count >= MANY:
        failed = resources.library().files.all(Stage.FAILED)
        removable = sum(map(_unreadable, failed))
        told = _counted(tally - Counter(failed=sum(file.passed_over for file in failed)), removable)
        with st.container(key="tally", horizontal=True, vertical_alignment="center", gap="small"):
            st.caption(" · ".join(told), width="content")
            if removable > 1:
                st.button(
                    _("Remove {number} that cannot be read").format(number=numeral(removable)),
                    key="remove_failed",
                    type="tertiary",
                    on_click=_remove_failed,
                )
    st.fragment(_rows, run_every=1.0 if tally["active"] else None)(tally)
    more = min(SHOWN, count - SHOWN - session().documents.more_files)
    if more > 0:
        told_more = ngettext("Show {number} more document", "Show {number} more documents", more).format(number=numeral(more))
        st.button(told_more, key="more_files", type="tertiary", on_click=_show_more)


def _counted(tally: Counter[str], removable: int) -> list[str]:
    """`removable`: the files of those that failed which do not wait for a password."""
    told = [labels.count(tally.total(), "file"), _("{number} ready").format(number=numeral(tally["ready"]))]
    if removable:
        told.append(_("{number} could not be read").format(number=numeral(removable)))
    if waiting := tally["failed"] - removable:
        some = ngettext("{number} waits for a password", "{number} wait for a password", waiting)
        told.append(some.format(number=numeral(waiting)))
    return told


def _tally() -> Counter[str]:
    """How many files are being read, ready, failed, stopped: what the screen says beside the rows follows from it."""
    tally: Counter[str] = Counter()
    for stage, count in resources.library().files.tally().items():
        tally["active" if stage in ACTIVE else stage.value] += count
    return tally


def _rows(drawn: Counter[str]) -> None:
    files = resources.library().files
    shown, active = files.all(limit=SHOWN + session().documents.more_files), files.all(*ACTIVE)
    left = seconds_left(active)
    if len(active) > 1 and left is not None:
        told = [_("{files} to read").format(files=labels.count(len(active), "file")), labels.time_left(left)]
        if now := next((file.name for file in active if file.stage is not Stage.QUEUED), ""):
            told.append(_("now {name}").format(name=label(now)))
        st.caption(" · ".join(told))
    _FILES(key="files", data={"files": [_row(file) for file in shown], "words": _words()}, on_act_change=_act)
    if session().notice or session().address.onward or _tally() != drawn:
        draw_anew()


def _remove_failed() -> None:
    """Take the rows of files that could not be read off the list; those that wait for a password stay."""
    library = resources.library()
    gone = [file for file in library.files.all(Stage.FAILED) if _unreadable(file)]
    for file in gone:
        if file.passages:  # of an earlier version, which still answered
            library.delete_file(file.id)
        else:
            library.files.remove(file.id)
    session().notice = _("{files} removed from the list.").format(files=labels.count(len(gone), "file"))


def _unreadable(file: FileRow) -> bool:
    return not _unlockable(file) and not file.passed_over


def _unlockable(file: FileRow) -> bool:
    return file.problem is not None and file.problem.needs_password and file.kind not in SEALED


def _show_more() -> None:
    session().documents.more_files += SHOWN


def _row(file: FileRow) -> dict[str, object]:
    problem = None
    if file.problem is not None:
        problem = {
            "what": labels.file_problem(file),
            "hint": said(file.problem.hint),
            "needs_password": _unlockable(file),
            "left_out": [f"{said(part.what)} {said(part.hint)}" for part in file.left_out],
            "details": file.problem.details if ": " in file.problem.details else "",  # a bare name says nothing more
        }
    state = file.state
    return {
        "id": file.id,
        "name": file.name,
        "kind": file.kind if len(file.kind) <= 5 else _("FILE"),
        "facts": labels.file_facts(file),
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
        "sure": _("Delete this file, its text and its passages?"),
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
    asked = event("files", "act")
    library, file_id = resources.library(), str(asked.get("id", ""))
    if asked.get("do") == "open":
        open_document(file_id)
    elif asked.get("do") == "stop":
        library.files.queue.stop(file_id)
    elif asked.get("do") == "retry":
        password = asked.get("password")
        library.files.queue.retry(file_id, password if isinstance(password, str) else None)
        library.worker.start()
    elif asked.get("do") == "delete":
        try:
            deleted = library.delete_file(file_id)
        except UnknownDocumentError:
            return  # another tab was quicker
        except RagError as error:
            session().notice = f"{said(error.what)} {said(error.hint)}"
            return
        told = (
            _("{name} was deleted with its {passages}; {size} freed.")
            if deleted.passages
            else _("{name} was deleted; {size} freed.")
        )
        session().notice = told.format(
            name=deleted.name, passages=labels.count(deleted.passages, "passage"), size=labels.size(deleted.bytes_freed)
        )
