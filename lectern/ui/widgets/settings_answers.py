"""Settings for answers. A change is saved at once."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from lectern.retrieval import OPTIONS
from lectern.ui import labels, resources
from lectern.ui.i18n import _, translate
from lectern.ui.widgets.retrieval_options import option_help
from lectern.ui.widgets.settings_field import saved_field


def answer_settings() -> None:
    answers = resources.library().settings.answers
    st.number_input(
        _("Passages per answer"),
        1,
        100,
        **saved_field("answers", "top_k"),
        help=_(
            "The most passages an answer is based on. A higher number covers more of your documents, "
            "but takes longer."
        ),
    )
    for option in OPTIONS:
        if option.name in type(answers).model_fields:
            label, field = translate(option.label), saved_field("answers", option.name)
            st.toggle(label, **field, help=option_help(option))
    _mode(_("In a chat"), "chat_mode", labels.chat_modes())
    st.caption(labels.caption(answers.chat_mode))
    _mode(_("For a single question"), "response_mode", labels.plain_response_modes())
    st.caption(labels.caption(answers.response_mode))
    st.text_area(
        _("Instructions for every chat"),
        placeholder=_("For example: Answer in French."),
        **saved_field("answers", "system_prompt"),
        height=80,
    )


def _mode(name: str, field: str, modes: Mapping[str, labels.Mode]) -> None:
    st.selectbox(
        name,
        list(modes),
        format_func=lambda mode: modes[mode].label,
        **saved_field("answers", field),
        help="  \n".join(f"**{mode.label}**: {mode.sentence}" for mode in modes.values()),
    )
