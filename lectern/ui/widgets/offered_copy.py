"""What an uploaded copy of a library contains, with the choice to add it."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from lectern.export.backup import Copied
from lectern.export.restore import CopySummary, read_copy
from lectern.indexes import Index
from lectern.ui import labels, resources
from lectern.ui.i18n import _, ngettext, numeral
from lectern.ui.live_fragments import rerun_page
from lectern.ui.offered_copies import OfferedCopy, copy_summary, left_out_rows
from lectern.ui.safetext import label
from lectern.ui.state import session, widget


def dropped_copies() -> None:
    """The copies that were dropped on the page of documents, and the progress of one that is being added."""
    for offered in resources.open_indexes().offers.dropped_into(resources.library()):
        offered_copy(offered, _("Add to this index"), _add)
    if session().documents.copying:
        st.fragment(_draw_progress, run_every=0.5)()


def offered_copy(offered: OfferedCopy, action: str, on_accept: Callable[[OfferedCopy, bool], None]) -> None:
    """`on_accept` gets the copy, and whether its prompts are wanted."""
    summary, key = offered.summary, f"copy_prompts_{offered.id}"
    with st.container(border=True, key=f"offered_{offered.id}"):
        st.markdown(_("**{name}** is a copy of a library. It contains:").format(name=label(offered.name)))
        st.markdown("\n".join(f"- {part}" for part in _parts(summary)))
        if summary.prompts:
            st.checkbox(
                _("Also use its prompts"),
                key=key,
                help=_("Prompts that you have edited yourself stay."),
            )
            st.caption(
                _("Prompts tell a language model what to do. Leave them out unless you know who wrote them.")
            )
        if summary.left_out:
            st.caption(left_out_rows(summary.left_out))
        with st.container(horizontal=True, gap="small"):
            st.button(
                action,
                key=f"accept_{offered.id}",
                type="primary",
                on_click=_accept,
                args=(offered.id, key, on_accept),
            )
            st.button(
                _("Cancel"),
                key=f"decline_{offered.id}",
                type="tertiary",
                on_click=resources.open_indexes().offers.withdraw,
                args=(offered.id,),
            )


def _parts(summary: CopySummary) -> list[str]:
    files = _("{files} ({size})").format(
        files=labels.count(summary.files, "file"), size=labels.size(summary.bytes)
    )
    parts = [files, labels.count(summary.conversations, "conversation"), labels.count(summary.notes, "note")]
    if summary.question_sets:
        parts.append(labels.count(summary.question_sets, "question set"))
    if summary.prompts:
        text = ngettext("{number} edited prompt", "{number} edited prompts", summary.prompts)
        parts.append(text.format(number=numeral(summary.prompts)))
    if summary.chunking:
        parts.append(_("settings for passages, for an empty index"))
    return parts


def _accept(id_: str, key: str, on_accept: Callable[[OfferedCopy, bool], None]) -> None:
    offered = resources.open_indexes().offers.accept(id_)
    if offered is not None:
        on_accept(offered, bool(widget(key)))


def _add(offered: OfferedCopy, prompts: bool) -> None:
    def add(on_progress: Callable[[float], None]) -> tuple[Index | None, Copied]:
        library = offered.library
        try:
            copied = read_copy(
                library, offered.path, name=offered.name, prompts=prompts, on_progress=on_progress
            )
        finally:
            offered.path.unlink(missing_ok=True)
        library.worker.start()
        return None, copied

    session().documents.copying = resources.open_indexes().creations.start(offered.name, add)


def _draw_progress() -> None:
    state, creations = session(), resources.open_indexes().creations
    creation = creations.get(state.documents.copying)
    if creation is not None and not creation.ended:
        st.progress(creation.fraction, _("Adding {name}").format(name=label(creation.name)))
        st.button(
            _("Stop"),
            key="stop_copying",
            icon=":material/stop:",
            type="tertiary",
            on_click=creations.stop,
            args=(creation.id,),
        )
        return
    creations.forget(state.documents.copying)
    state.documents.copying = ""
    if creation is not None and creation.copied is not None:
        state.notice = copy_summary(creation.copied)
    elif creation is not None:
        state.problem = creation.problem
    rerun_page()
