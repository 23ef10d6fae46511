"""The progress of reading files: a bar in the sidebar, and a line above the question."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from lectern.jobs.file_rows import ACTIVE
from lectern.ui import labels, resources
from lectern.ui.i18n import _, ngettext, numeral
from lectern.ui.live_fragments import be_still
from lectern.ui.state import session


def reading_bar() -> None:
    st.fragment(_bar, run_every=_pace())()


def move_reading_bar() -> None:
    """Updates the bar: it cannot update itself while the page draws an answer."""
    bar, now = session().reading_bar, _now()
    if bar is None:
        return
    if now is None:
        bar.empty()
    else:
        bar.progress(*now)


def reading_line() -> None:
    st.fragment(_line, run_every=_pace())()


def _pace() -> float | None:
    return 1.0 if resources.library().files.all(*ACTIVE, limit=1) else None


def _bar() -> None:
    now = _now()
    session().reading_bar = st.progress(*now) if now is not None else None
    if now is None:
        be_still()


def _now() -> tuple[float, str] | None:
    """The finished share of the batch, 0 to 1, and its text; None if nothing is read."""
    batch = session().being_read
    active = {file.id: file.fraction for file in resources.library().files.all(*ACTIVE)}
    if not active:
        batch.clear()
        return None
    return share_of(batch, active), _("Reading {documents}").format(documents=labels.count(len(active), "document"))


def share_of(batch: set[str], active: Mapping[str, float]) -> float:
    """The finished share of the batch, 0 to 1, from the progress of its active files. A finished file stays in the batch, so
    that the bar only goes back for new files."""
    batch.update(active)
    return sum(active.get(file_id, 1.0) for file_id in batch) / len(batch)


def _line() -> None:
    active = len(resources.library().files.all(*ACTIVE))
    if not active:
        be_still()
        return
    text = ngettext(
        "{number} document is still being read. Answers use the ones that are ready.",
        "{number} documents are still being read. Answers use the ones that are ready.",
        active,
    )
    st.caption(text.format(number=numeral(active)))
