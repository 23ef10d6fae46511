"""Settings: which language model writes the answers, how answers and passages are made, and where everything is kept."""

from __future__ import annotations

import streamlit as st

from lectern.ui.i18n import _
from lectern.ui.widgets.component import component
from lectern.ui.widgets.library_copy import library_copy
from lectern.ui.widgets.page_language import language_choice
from lectern.ui.widgets.recorded_demo import stage_switch
from lectern.ui.widgets.settings_answers import answer_settings
from lectern.ui.widgets.settings_ingest import limit_settings, passage_settings
from lectern.ui.widgets.settings_model import model_settings
from lectern.ui.widgets.settings_price import price_settings
from lectern.ui.widgets.settings_privacy import storage_place, what_leaves
from lectern.ui.widgets.settings_prompts import prompt_settings, unsaved

_UNSAVED = component("unsaved", "<span hidden></span>")

SECTIONS = {
    "model": _("Language model"),
    "answers": _("Answers"),
    "prompts": _("Prompts"),
    "price": _("What answers may take"),
    "passages": _("Passages"),
    "limits": _("Limits"),
    "language": _("Language"),
    "privacy": _("Privacy"),
    "demonstrations": _("Demonstrations"),
    "storage": _("Where things are kept"),
    "copy": _("A copy of the library"),
}


def section(name: str) -> None:
    """Begin a section, to which the contents at the top lead."""
    if name != "model":
        st.divider()
    st.header(SECTIONS[name], anchor=name)


st.title(_("Settings"), anchor=False)
with st.container(key="contents"):
    st.markdown(" ".join(f"[{title}](#{name})" for name, title in SECTIONS.items()))

section("model")
dirty = model_settings()

section("answers")
answer_settings()

section("prompts")
st.markdown(
    _(
        "What is said to the language model, word for word. Every version is kept, and an answer's calls show which words were"
        " used. Without a language model your documents are quoted, whatever is said here."
    )
)
prompt_settings()

section("price")
price_settings()

section("passages")
passage_settings()

section("limits")
limit_settings()

section("language")
language_choice()

section("privacy")
st.markdown(what_leaves())

section("demonstrations")
stage_switch()

section("storage")
storage_place()

section("copy")
st.markdown(
    _(
        "All documents, passages, conversations, prompts and question sets in one file, to keep or to take to another computer."
        " Keys and passwords are left out. Drop the file where you drop documents, and all that is in it is added."
    )
)
library_copy()
_UNSAVED(key="unsaved", data={"dirty": dirty or unsaved()})
