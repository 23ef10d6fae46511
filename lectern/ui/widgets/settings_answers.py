"""Settings for answers. A change is saved at once."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from lectern.ui import labels, resources
from lectern.ui.i18n import _
from lectern.ui.state import fill_widget
from lectern.ui.widgets.search_options import weaker_help
from lectern.ui.widgets.settings_field import keep_field


def answer_settings() -> None:
    answers = resources.library().settings.answers
    fill_widget("set_top_k", answers.top_k)
    fill_widget("set_weaker", answers.weaker)
    fill_widget("set_chat_mode", answers.chat_mode)
    fill_widget("set_response_mode", answers.response_mode)
    fill_widget("set_system_prompt", answers.system_prompt)
    st.number_input(
        _("Passages per answer"),
        1,
        100,
        key="set_top_k",
        on_change=keep_field,
        args=("answers", "top_k", "set_top_k"),
        help=_("The most passages an answer is based on. A higher number covers more of your documents, but takes longer."),
    )
    st.toggle(
        _("Include weaker passages"),
        key="set_weaker",
        on_change=keep_field,
        args=("answers", "weaker", "set_weaker"),
        help=weaker_help(),
    )
    _mode(_("In a chat"), "chat_mode", labels.chat_modes())
    st.caption(labels.caption(answers.chat_mode))
    _mode(_("For a single question"), "response_mode", labels.response_modes())
    st.caption(labels.response_modes()[answers.response_mode].sentence)
    st.text_area(
        _("Instructions for every chat"),
        key="set_system_prompt",
        placeholder=_("For example: Answer in French."),
        on_change=keep_field,
        args=("answers", "system_prompt", "set_system_prompt"),
        height=80,
    )


def _mode(name: str, field: str, modes: Mapping[str, labels.Mode]) -> None:
    """The choice of a default mode."""
    key = f"set_{field}"
    st.selectbox(
        name,
        list(modes),
        key=key,
        format_func=lambda mode: modes[mode].label,
        on_change=keep_field,
        args=("answers", field, key),
        help="  \n".join(f"**{mode.label}**: {mode.sentence}" for mode in modes.values()),
    )
