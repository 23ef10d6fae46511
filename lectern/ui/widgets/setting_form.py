"""The form of a new setting to measure with, and a setting in words."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from lectern.db.evaluations import Setting
from lectern.retrieval import OPTIONS, Option
from lectern.schema import Ask
from lectern.ui import labels, resources
from lectern.ui.i18n import _
from lectern.ui.state import fill_widget, session, widget
from lectern.ui.widgets.retrieval_options import chosen_options, descriptions, draw_options, fill_options


def describe_ask(ask: Ask) -> str:
    passages = labels.count(ask.top_k, "passage")
    return " · ".join([passages, labels.mode_label(ask.response_mode), *descriptions(ask.retrieval)])


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
    draw_options("setting", _lab_options(), lab=True)
    with st.container(key="setting_buttons"):
        st.button(_("Save the setting"), key="save_setting", type="primary", on_click=_save)


def _lab_options() -> list[Option]:
    """Those of the form, except the balance, which has widgets of its own."""
    return [option for option in OPTIONS if option.is_in_lab and option.kind != "share"]


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
            _("Weight of meaning, in percent"),
            0,
            100,
            key="setting_dense_share",
            step=5,
            persist_state="session",
        )


def _reset() -> None:
    """Fills the form of a new setting with the current settings, without a name."""
    answers = session().evaluate.setting_from = resources.library().settings.answers
    fill_widget("setting_name", "")
    fill_widget("setting_top_k", answers.top_k)
    fill_widget("setting_mode", answers.response_mode)
    fill_widget("setting_balance", "usual")
    fill_options("setting", answers.retrieval, fill_widget)


def _save() -> None:
    share = int(widget("setting_dense_share") or 0) / 100
    dense = {"words": 0.0, "meaning": 1.0, "own": share}.get(str(widget("setting_balance")))
    how = replace(chosen_options("setting", widget), dense_share=dense)
    ask = Ask("", None, str(widget("setting_mode")), int(widget("setting_top_k")), retrieval=how)
    name = str(widget("setting_name") or "").strip() or describe_ask(ask)
    setting = resources.library().evaluations.keep_setting(Setting(name, ask))
    fill_widget("evaluate_with", [*(widget("evaluate_with") or [])[:1], setting.name])
    _reset()
    session().evaluate.new_settings += 1
