"""Settings: six short pages. The address names the open one."""

from __future__ import annotations

import streamlit as st

from lectern.ui import navigation
from lectern.ui.i18n import _
from lectern.ui.state import fill_widget, session, widget
from lectern.ui.widgets.component import component
from lectern.ui.widgets.page_language import appearance_choice, language_choice
from lectern.ui.widgets.recorded_demo import stage_switch
from lectern.ui.widgets.settings_answers import answer_settings
from lectern.ui.widgets.settings_ingest import limit_settings, passage_settings
from lectern.ui.widgets.settings_model import is_model_unsaved, model_settings
from lectern.ui.widgets.settings_price import limits_of_answers
from lectern.ui.widgets.settings_privacy import library_place, privacy_details, privacy_summary
from lectern.ui.widgets.settings_prompts import is_prompt_unsaved, prompt_settings

_UNSAVED = component("unsaved", "<span hidden></span>")
MOVED = {  # sections of the former single page, in old links
    "answers": "answers",
    "price": "answers",
    "demonstrations": "answers",
    "passages": "reading",
    "limits": "reading",
    "language": "display",
    "privacy": "privacy",
    "storage": "privacy",
    "copy": "privacy",
    "prompts": "prompts",
}


def answers() -> None:
    answer_settings()
    with st.expander(_("More"), type="compact"):
        limits_of_answers()
        stage_switch()


def reading_settings() -> None:
    passage_settings()
    with st.expander(_("More"), type="compact"):
        limit_settings()


def privacy() -> None:
    privacy_summary()
    library_place()
    with st.expander(_("More"), type="compact"):
        privacy_details()


def prompts() -> None:
    prompt_settings(opened, open_prompt)


def display() -> None:
    language_choice()
    appearance_choice()


PARTS = {
    "model": (_("Model"), model_settings),
    "answers": (_("Answers"), answers),
    "reading": (_("Reading files"), reading_settings),
    "privacy": (_("Privacy and keys"), privacy),
    "prompts": (_("Instructions"), prompts),
    "display": (_("Display"), display),
}


def choose() -> None:
    settings = session().settings
    settings.page, settings.prompt_problem = str(widget("settings_page")), None


def open_prompt(name: str) -> None:
    """A callback; "" opens the list."""
    settings = session().settings
    settings.page, settings.prompt_problem = f"prompts.{name}" if name else "prompts", None


state = session()
came_from_elsewhere = state.address.letter != "s"
address = navigation.id_from_address("s", None if came_from_elsewhere else state.settings.page) or "model"
part, _dot, opened = address.partition(".")
if part not in PARTS:
    address = part = "model"
state.settings.page = "" if address == "model" else address
navigation.write_address("s", state.settings.page, "")

st.title(_("Settings"), anchor=False)
fill_widget("settings_page", part)
st.segmented_control(
    _("Settings"),
    list(PARTS),
    key="settings_page",
    format_func=lambda name: PARTS[name][0],
    required=True,
    label_visibility="collapsed",
    on_change=choose,
)
PARTS[part][1]()
_UNSAVED(key="unsaved", data={"dirty": is_model_unsaved() or is_prompt_unsaved(), "moved": MOVED})
