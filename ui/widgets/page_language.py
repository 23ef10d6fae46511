"""The language of the page for browsers and screen readers, which Streamlit says is English, and the choice of another one."""

from __future__ import annotations

import streamlit as st

from ui import resources
from ui.i18n import LANGUAGES, _, language
from ui.state import fill_widget, widget
from ui.widgets.component import component

_PAGE_LANGUAGE = component("page_language", "<span hidden></span>")


def page_language() -> None:
    """On every page."""
    _PAGE_LANGUAGE(key="page_language", data={"language": language()})


def language_choice() -> None:
    """In the settings; kept with the first index, for all of them."""
    names = {"": _("As the browser says"), **LANGUAGES}
    fill_widget("set_language", resources.chosen_language())
    st.selectbox(_("Language of the screens"), list(names), key="set_language", format_func=names.__getitem__, on_change=_keep)
    st.caption(_("Answers come in the language of the question, whatever is chosen here."))


def _keep() -> None:
    library = resources.opened().library
    library.update_settings(library.settings.model_copy(update={"language": str(widget("set_language") or "")}))
