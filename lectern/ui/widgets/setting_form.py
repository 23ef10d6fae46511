"""The form of a new setting to measure with, and a setting in words."""

from __future__ import annotations

import streamlit as st

from lectern.db.evaluations import Setting
from lectern.schema import Ask, Retrieval
from lectern.ui import labels, resources
from lectern.ui.i18n import _, numeral
from lectern.ui.state import fill_widget, session, widget
from lectern.ui.widgets.search_options import DEFAULT_BALANCE, weaker_help


def describe_ask(ask: Ask) -> str:
    how = ask.retrieval
    parts = [labels.count(ask.top_k, "passage"), labels.mode_label(ask.response_mode)]
    if how.dense_share is not None:
        parts.append(_("{share}% by meaning").format(share=round(100 * how.dense_share)))
    if how.cutoff is not None:
        parts.append(_("score at least {score}").format(score=numeral(how.cutoff, 2)))
    if how.reranker:
        parts.append(_("reranked by {model}").format(model=how.reranker))
    if how.weaker:
        parts.append(_("weaker passages included"))
    if how.diverse:
        parts.append(_("varied passages"))
    return " · ".join(parts)


def setting_form() -> None:
    answers, state = resources.library().settings.answers, session()
    if state.evaluate.setting_from != answers:
        _reset()
    st.text_input(
        _("Name"),
        key="setting_name",
        max_chars=60,
        placeholder=_("For example: Ten passages"),
        persist_state="session",
    )
    with st.container(horizontal=True):
        many = _("How many passages are retrieved.")
        st.number_input(
            _("Passages"), 1, 100, key="setting_top_k", help=many, persist_state="session", width=130
        )
        st.selectbox(
            _("Response mode"),
            list(labels.response_modes()),
            key="setting_mode",
            format_func=lambda name: labels.response_modes()[name].label,
            help="  \n".join(
                f"**{mode.label}**: {mode.sentence}" for mode in labels.response_modes().values()
            ),
            persist_state="session",
        )
    _choose_balance()
    st.toggle(_("Include weaker passages"), key="setting_weaker", help=weaker_help(), persist_state="session")
    st.toggle(
        _("Varied passages"),
        key="setting_diverse",
        help=_("Prefer passages that differ over several that say the same thing (MMR)."),
        persist_state="session",
    )
    st.text_input(
        _("Reranker"),
        key="setting_reranker",
        placeholder=_("None"),
        help=_("A cross-encoder on this computer that reranks the passages: its folder or name."),
        persist_state="session",
    )
    with st.container(key="setting_buttons"):
        st.button(_("Save the setting"), key="save_setting", type="primary", on_click=_save)


def _choose_balance() -> None:
    """Words, meaning, or both with a weight."""
    balances = {
        "usual": _("Default"),
        "words": _("Words only"),
        "meaning": _("Meaning only"),
        "own": _("Choose"),
    }
    st.segmented_control(
        _("Search by"),
        list(balances),
        key="setting_balance",
        format_func=balances.__getitem__,
        required=True,
        help=_(
            "What a passage is found by: the words it shares with the question, its meaning, or both. "
            "The default is both."
        ),
        persist_state="session",
    )
    if widget("setting_balance") == "own":
        st.slider(
            _("Weight of meaning, in percent"), 0, 100, key="setting_share", step=5, persist_state="session"
        )


def _reset() -> None:
    """Fills the form of a new setting with the current settings, without a name."""
    answers = session().evaluate.setting_from = resources.library().settings.answers
    fill_widget("setting_name", "")
    fill_widget("setting_top_k", answers.top_k)
    fill_widget("setting_mode", answers.response_mode)
    fill_widget("setting_balance", "usual")
    fill_widget("setting_share", DEFAULT_BALANCE)
    fill_widget("setting_weaker", answers.weaker)
    fill_widget("setting_diverse", False)
    fill_widget("setting_reranker", "")


def _save() -> None:
    balance, share = widget("setting_balance"), int(widget("setting_share") or 0) / 100
    dense = {"words": 0.0, "meaning": 1.0, "own": share}.get(str(balance))
    how = Retrieval(
        dense,
        bool(widget("setting_weaker")),
        reranker=str(widget("setting_reranker") or "").strip(),
        diverse=bool(widget("setting_diverse")),
    )
    ask = Ask("", None, str(widget("setting_mode")), int(widget("setting_top_k")), retrieval=how)
    name = str(widget("setting_name") or "").strip() or describe_ask(ask)
    setting = resources.library().evaluations.keep_setting(Setting(name, ask))
    fill_widget("evaluate_with", [*(widget("evaluate_with") or [])[:1], setting.name])
    _reset()
    session().evaluate.new_settings += 1
