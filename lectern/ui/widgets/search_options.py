"""The search settings of the Compare page, in a popover."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from lectern.retrieval import OPTIONS
from lectern.schema import Ask
from lectern.ui import labels
from lectern.ui.i18n import _
from lectern.ui.state import widget
from lectern.ui.widgets.retrieval_options import chosen_options, draw_options, fill_options, summaries


def fill_search_options(ask: Ask, fill: Callable[[str, object], None]) -> None:
    """Fills the widgets with the settings of an ask."""
    fill("query_top_k", ask.top_k)
    fill("query_files", list(ask.file_ids or ()))
    fill_options("query", ask.retrieval, fill)


def chosen_ask(question: str, response_mode: str) -> Ask:
    """The question with the search settings of the widgets, outside any chat."""
    return Ask(
        question,
        chat_mode=None,
        response_mode=response_mode,
        top_k=int(widget("query_top_k")),
        file_ids=tuple(widget("query_files") or ()) or None,
        retrieval=chosen_options("query", widget),
    )


def search_options(files: Mapping[str, str]) -> None:
    """The label of the popover names all changed settings. `files` maps ids to names."""
    with st.popover(_summary(), type="tertiary", icon=":material/tune:", key="query_search"):
        most = _("The most passages an answer is based on.")
        st.number_input(_("Passages"), 1, 100, key="query_top_k", help=most, persist_state="session")
        draw_options("query", OPTIONS[:1])
        st.multiselect(
            _("Only these documents"),
            list(files),
            key="query_files",
            format_func=lambda file_id: files.get(file_id, _("a deleted document")),
            placeholder=_("All documents"),
            persist_state="session",
        )
        draw_options("query", OPTIONS[1:])


def _summary() -> str:
    facts = [_("Search settings"), labels.count(int(widget("query_top_k")), "passage")]
    changed = summaries(chosen_options("query", widget))
    if documents := len(widget("query_files") or ()):
        # After the weaker passages, as below.
        changed.insert(1 if widget("query_weaker") else 0, labels.count(documents, "document"))
    return " · ".join([*facts, *changed])
