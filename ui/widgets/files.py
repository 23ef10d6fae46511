"""The files of the library: a row for each with how far reading it has come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import streamlit as st

from ragcore.errors import RagError, UnknownDocumentError
from ragcore.ingestion.files import FileRow, Stage, seconds_left
from ui import resources, words
from ui.i18n import _, numeral, said
from ui.safetext import label
from ui.state import event, session
from ui.widgets.component import component

MANY = 8  # rows from which they are counted
UNLOCKED = ("PDF", "ZIP", "DOCX", "DOCM", "PPTX", "PPTM", "XLSX", "XLSM", "ODT", "ODS", "ODP")  # open with a password
SHOWN = 200  # rows; a longer list is drawn when asked for

_FILES = component("files", "<ul></ul>")


def file_rows() -> None:
    """A row per file, moving while something is being read."""
    files = resources.library().files.all()
    tally = _tally(files)
    busy, ready = any(file.active for file in files), sum(file.ready for file in files)
    failed = sum(file.stage is Stage.FAILED for file in files)
    removable = sum(file.stage is Stage.FAILED and not _unlockable(file) for file in files)
    if len(files) >= MANY:
        with st.container(key="tally", horizontal=True, vertical_alignment="center", gap="small"):
            told = [words.count(len(files), "file"), _("{number} ready").format(number=numeral(ready))]
            if failed:
                told.append(_("{number} could not be read").format(number=numeral(failed)))
            st.caption(" · ".join(told), width="content")
            if removable > 1:
                st.button(
                    _("Remove {number} that cannot be read").format(number=numeral(removable)),
                    key="remove_failed",
                    type="tertiary",
                    on_click=_remove_failed,
                )
    st.fragment(_rows, run_every=1.0 if busy else None)(tally)
    if len(files) > SHOWN and not session().all_files:
        all_files = _("Show all {number} documents").format(number=numeral(len(files)))
        st.button(all_files, key="all_files", type="tertiary", on_click=_show_all)


def _tally(files: Sequence[FileRow]) -> Counter[str]:
    """How many files are being read, ready, failed, stopped: what the screen says beside the rows follows from it."""
    return Counter("active" if file.active else file.stage.value for file in files)


def _rows(drawn: Counter[str]) -> None:
    files = resources.library().files.all()
    shown = files if session().all_files else files[:SHOWN]
    active = sum(file.active for file in files)
    left = seconds_left(files)
    if active > 1 and left is not None:
        told = [_("{files} to read").format(files=words.count(active, "file")), words.time_left(left)]
        if now := next((file.name for file in files if file.active and file.stage is not Stage.QUEUED), ""):
            told.append(_("now {name}").format(name=label(now)))
        st.caption(" · ".join(told))
    _FILES(key="files", data={"files": [_row(file) for file in shown], "words": _words()}, on_act_change=_act)
    if session().notice or _tally(files) != drawn:
        st.rerun()


def _remove_failed() -> None:
    """Take the rows of files that could not be read off the list; those that wait for a password stay."""
    library = resources.library()
    gone = [file for file in library.files.all() if file.stage is Stage.FAILED and not _unlockable(file)]
    for file in gone:
        if file.passages:  # of an earlier version, which still answered
            library.delete_file(file.id)
        else:
            library.files.remove(file.id)
    session().notice = _("{files} removed from the list.").format(files=words.count(len(gone), "file"))


def _unlockable(file: FileRow) -> bool:
    return file.problem is not None and file.problem.needs_password and file.kind in UNLOCKED


def _show_all() -> None:
    session().all_files = True


def _row(file: FileRow) -> dict[str, object]:
    problem = None
    if file.problem is not None:
        problem = {
            "what": said(file.problem.what),
            "hint": said(file.problem.hint),
            "needs_password": _unlockable(file),
            "details": file.problem.details if ": " in file.problem.details else "",  # a bare name says nothing more
        }
    state = "active" if file.active else file.stage.value
    return {
        "id": file.id,
        "name": file.name,
        "kind": file.kind if len(file.kind) <= 5 else _("FILE"),
        "facts": words.file_facts(file),
        "state": state,
        "fraction": file.fraction,
        "problem": problem,
        "retry": bool(file.path) and state in ("failed", "stopped"),
    }


def _words() -> dict[str, str]:
    return {
        "list": _("Your documents"),
        "delete": _("Delete"),
        "delete_of": _("Delete {name}"),
        "sure": _("Delete this file, its text and its passages?"),
        "keep": _("Keep"),
        "password": _("Password of this file"),
        "password_of": _("Password of {name}"),
        "unlock": _("Unlock"),
        "resume": _("Resume"),
        "retry": _("Retry"),
        "retry_of": _("Retry {name}"),
        "details": _("Details"),
        "stop": _("Stop"),
        "stop_of": _("Stop reading {name}"),
    }


def _act() -> None:
    asked = event("files", "act")
    if not isinstance(asked, dict):
        return
    library, file_id = resources.library(), str(asked.get("id", ""))
    if asked.get("do") == "stop":
        library.files.stop(file_id)
    elif asked.get("do") == "retry":
        password = asked.get("password")
        library.files.retry(file_id, password if isinstance(password, str) else None)
        library.start_worker()
    elif asked.get("do") == "delete":
        try:
            deleted = library.delete_file(file_id)
        except UnknownDocumentError:
            return  # another tab was quicker
        except RagError as error:
            session().notice = f"{said(error.what)} {said(error.hint)}"
            return
        told = (
            _("{name} is deleted. {passages} and {size} freed.") if deleted.passages else _("{name} is deleted. {size} freed.")
        )
        session().notice = told.format(
            name=deleted.name, passages=words.count(deleted.passages, "passage"), size=words.size(deleted.bytes_freed)
        )
