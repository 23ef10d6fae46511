"""The search settings of the Compare page, in a popover."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from lectern.schema import Ask, Retrieval
from lectern.ui import labels
from lectern.ui.i18n import _, numeral
from lectern.ui.state import widget
from ragcore.retrievers.hybrid import COSINE_SHARE

DEFAULT_BALANCE = round(100 * COSINE_SHARE)  # percent of the score from meaning; the rest is from words


def fill_search_options(ask: Ask, fill: Callable[[str, object], None]) -> None:
    """Fills the widgets with the settings of an ask."""
    how = ask.retrieval
    values = {
        "query_top_k": ask.top_k,
        "query_weaker": how.weaker,
        "query_files": list(ask.file_ids or ()),
        "query_balance": DEFAULT_BALANCE if how.dense_share is None else round(100 * how.dense_share),
        "query_cutoff": how.cutoff or 0.0,
        "query_diverse": how.diverse,
        "query_reranker": how.reranker,
    }
    for key, value in values.items():
        fill(key, value)


def chosen_ask(question: str, response_mode: str) -> Ask:
    """The question with the search settings of the widgets, outside any chat."""
    share = int(widget("query_balance"))
    return Ask(
        question,
        chat_mode=None,
        response_mode=response_mode,
        top_k=int(widget("query_top_k")),
        file_ids=tuple(widget("query_files") or ()) or None,
        retrieval=Retrieval(
            dense_share=None if share == DEFAULT_BALANCE else share / 100,
            weaker=bool(widget("query_weaker")),
            cutoff=float(widget("query_cutoff")) or None,
            reranker=str(widget("query_reranker") or "").strip(),
            diverse=bool(widget("query_diverse")),
        ),
    )


def search_options(files: Mapping[str, str]) -> None:
    """The label of the popover names all changed settings. `files` maps ids to names."""
    with st.popover(_summary(), type="tertiary", icon=":material/tune:", key="query_search"):
        most = _("The most passages an answer is based on.")
        st.number_input(_("Passages"), 1, 100, key="query_top_k", help=most, persist_state="session")
        st.toggle(
            _("Include weaker passages"), key="query_weaker", help=weaker_help(), persist_state="session"
        )
        st.multiselect(
            _("Only these documents"),
            list(files),
            key="query_files",
            format_func=lambda file_id: files.get(file_id, _("a deleted document")),
            placeholder=_("All documents"),
            persist_state="session",
        )
        _ranking_options()


def _ranking_options() -> None:
    """How passages are ordered, and which are left out."""
    st.slider(
        _("Words or meaning"),
        0,
        100,
        step=5,
        format="%d%%",
        key="query_balance",
        help=_(
            "How much the meaning of a passage counts; the rest is the words it shares with "
            "the question. The default is {usual}%. Lower it for names and numbers; raise "
            "it when the question uses other words than the text."
        ).format(usual=DEFAULT_BALANCE),
        persist_state="session",
    )
    st.number_input(
        _("Minimum score"),
        0.0,
        1.0,
        step=0.05,
        key="query_cutoff",
        help=_("Passages below this score are left out. Scores run from 0 to 1; 0 leaves none out."),
        persist_state="session",
    )
    st.toggle(
        _("Varied passages"),
        key="query_diverse",
        help=_(
            "Prefer passages that differ over several that say the same thing (maximal marginal "
            "relevance, MMR)."
        ),
        persist_state="session",
    )
    st.text_input(
        _("Reranking model"),
        key="query_reranker",
        placeholder=_("None"),
        help=_(
            "A cross-encoder reads the question and each passage together and puts them in a better order. "
            "Give its folder or its name, such as cross-encoder/ms-marco-MiniLM-L6-v2. It must be on this "
            "computer; nothing is downloaded."
        ),
        persist_state="session",
    )


def weaker_help() -> str:
    return _("Otherwise passages far weaker than the best one are left out, so fewer may remain.")


def _summary() -> str:
    count, documents = int(widget("query_top_k")), len(widget("query_files") or ())
    facts = [_("Search settings"), labels.count(count, "passage")]
    if widget("query_weaker"):
        facts.append(_("weaker passages included"))
    if documents:
        facts.append(labels.count(documents, "document"))
    if int(widget("query_balance")) != DEFAULT_BALANCE:
        facts.append(_("{percent}% meaning").format(percent=widget("query_balance")))
    if widget("query_cutoff"):
        facts.append(_("score {least} or more").format(least=numeral(float(widget("query_cutoff")), 2)))
    if widget("query_diverse"):
        facts.append(_("varied passages"))
    if widget("query_reranker"):
        facts.append(_("reranked"))
    return " · ".join(facts)
