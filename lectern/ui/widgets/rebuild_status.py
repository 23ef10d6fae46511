"""The rebuild of the index after a change of settings: an offer with its cost, and the progress."""

from __future__ import annotations

import streamlit as st

from lectern.jobs.index_versions import IndexVersion
from lectern.ui import labels, resources
from lectern.ui.i18n import _, translate
from lectern.ui.live_fragments import rerun_page
from lectern.ui.safetext import label
from lectern.ui.state import session
from lectern.ui.widgets.problem import problem


def rebuild_status() -> None:
    """An offer if the index was built with other settings, or a bar during the rebuild."""
    coming = resources.library().store.versions.next_version()
    state = coming.state if coming else ""
    st.fragment(_draw_status, run_every=1.0 if state == "building" else None)(state)


def _draw_status(drawn: str) -> None:
    """`drawn` is the state at the last run of the page. A new state reruns the page, which starts or stops
    the timer."""
    library = resources.library()
    coming = library.store.versions.next_version()
    if (coming.state if coming else "") != drawn:
        if coming is None and not library.rebuilds.plan().changes:
            session().notice = _("The index has been rebuilt: all documents use the new passages.")
        rerun_page()
    if coming is not None:
        _progress(coming)
        return
    plan = library.rebuilds.plan()
    if not plan.changes or not plan.passages_now:
        return
    changes = label(", ".join(map(translate, plan.changes)))
    st.markdown(_("Your documents are still split the old way ({changes}).").format(changes=changes))
    about = f"{labels.count(plan.passages, 'passage')}, {labels.duration(plan.seconds)}"
    rebuild = _("Rebuild the index ({about})").format(about=about)
    if st.button(rebuild, key="rebuild", help=_("You can keep asking questions meanwhile.")):
        library.rebuilds.start()
        library.worker.start()
        st.rerun()


def _progress(coming: IndexVersion) -> None:
    library = resources.library()
    time_left = (
        f" · {labels.time_left(coming.seconds_left)}"
        if coming.state == "building" and coming.seconds_left
        else ""
    )
    titles = {
        "building": _("Rebuilding the index"),
        "stopped": _("Rebuilding stopped"),
        "failed": _("Rebuilding failed"),
    }
    st.progress(coming.fraction, f"{titles[coming.state]}{time_left}")
    if coming.problem is not None:
        problem(coming.problem, key="rebuild_problem")
    st.caption(_("You can keep asking questions meanwhile."))
    with st.container(horizontal=True):
        if coming.state == "building":
            st.button(_("Stop"), key="stop_rebuild", on_click=library.store.versions.stop)
        else:
            st.button(_("Resume"), key="resume_rebuild", on_click=library.store.versions.resume)
            st.button(
                _("Keep the index as it is"), key="give_up_rebuild", on_click=library.store.versions.give_up
            )
