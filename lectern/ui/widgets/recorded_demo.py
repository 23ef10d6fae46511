"""Stage mode: its switch, and the recorded questions, which are answered from their recordings."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from lectern.runs import recorded_demo
from lectern.ui import navigation, resources
from lectern.ui.i18n import _
from lectern.ui.safetext import label
from lectern.ui.state import fill_widget, menu_value, widget


def stage_switch() -> None:
    fill_widget("stage_mode", resources.library().settings.stage)
    st.toggle(_("Stage mode"), key="stage_mode", on_change=_switch)
    st.caption(
        _(
            "Recorded questions about the sample are answered from recordings at their original "
            "speed, without asking a language model. Each answer names the model that wrote it."
        )
    )


def _switch() -> None:
    library = resources.library()
    library.update_settings(library.settings.model_copy(update={"stage": bool(widget("stage_mode"))}))


def recorded_questions(before: Sequence[str] = (), *, chat: bool) -> list[str]:
    """The recorded questions that can follow the questions `before`; none unless stage mode is on."""
    settings = resources.library().settings
    if not settings.stage:
        return []
    mode = str(menu_value("chat_mode") or settings.answers.chat_mode) if chat else None
    return recorded_demo.next_questions(recorded_demo.recordings(), before, chat=chat, mode=mode)


def recorded_question_buttons(questions: Sequence[str], take: Callable[[str], None], *, key: str) -> None:
    """A button per question; `take` is a callback."""
    if not questions:
        return
    with st.container(key=f"recorded_{key}", horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(_("Recorded:"), width="content")
        for number, question in enumerate(questions):
            st.button(label(question), key=f"recorded_{key}_{number}", on_click=take, args=(question,))
        st.page_link(
            navigation.SETTINGS,
            label=_("Stage mode is on"),
            icon=":material/settings:",
            query_params={"s": "answers"},
        )
