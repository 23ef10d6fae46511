"""The progress of reading files: a bar in the sidebar, and a line above the question."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from lectern.jobs.file_rows import ACTIVE
from lectern.ui import labels, resources
from lectern.ui.i18n import _, ngettext, numeral
from lectern.ui.live_fragments import stop_auto_rerun
from lectern.ui.state import session


def reading_bar() -> None:
    st.fragment(_bar, run_every=_interval())()


def move_reading_bar() -> None:
    """Updates the bar while the page draws an answer, because its fragment does not run then."""
    bar, progress = session().reading_bar, _progress()
    if bar is None:
        return
    if progress is None:
        bar.empty()
    else:
        bar.progress(*progress)


def reading_line() -> None:
    st.fragment(_line, run_every=_interval())()


def _interval() -> float | None:
    return 1.0 if resources.library().files.all(*ACTIVE, limit=1) else None


def _bar() -> None:
    progress = _progress()
    session().reading_bar = st.progress(*progress) if progress is not None else None
    if progress is None:
        stop_auto_rerun()


def _progress() -> tuple[float, str] | None:
    """The finished share of the batch, 0 to 1, and its text; None if nothing is read."""
    batch = session().being_read
    active = {file.id: file.fraction for file in resources.library().files.all(*ACTIVE)}
    if not active:
        batch.clear()
        return None
    return share_of(batch, active), _("Reading {documents}").format(
        documents=labels.count(len(active), "document")
    )


def share_of(batch: set[str], active: Mapping[str, float]) -> float:
    """The finished share of the batch, 0 to 1, from the progress of its active files. A finished file stays
    in the batch, so that the bar only goes back for new files."""
    batch.update(active)
    return sum(active.get(file_id, 1.0) for file_id in batch) / len(batch)


def _line() -> None:
    active = len(resources.library().files.all(*ACTIVE))
    if not active:
        stop_auto_rerun()
        return
    text = ngettext(
        "{number} document is still being read. Answers use the ones that are ready.",
        "{number} documents are still being read. Answers use the ones that are ready.",
        active,
    )
    st.caption(text.format(number=numeral(active)))
