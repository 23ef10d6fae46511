"""Sets the language of the page for browsers and screen readers, translates Streamlit's own texts, and draws
the choices of language and appearance."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from lectern.ui import resources
from lectern.ui.i18n import LANGUAGES, _, language
from lectern.ui.server.first_frame import APPEARANCE_COOKIE
from lectern.ui.state import fill_widget, session, widget
from lectern.ui.widgets.component import component

_PAGE_LANGUAGE = component("page_language", "<span hidden></span>")


def page_language() -> None:
    chosen = {"cookie": APPEARANCE_COOKIE, "appearance": session().appearance}
    style = {"lab": _("Lab"), "less": _("Show less")}  # the words in the style sheet
    words = {"words": _streamlits_words(), "labels": _streamlits_labels()}
    _PAGE_LANGUAGE(key="page_language", data={"language": language(), "style": style, **words, **chosen})


def _streamlits_words() -> Mapping[str, Mapping[str, str]]:
    """Streamlit's visible texts by data-testid; {name} matches anything."""
    return {
        "stSkipToContent": {"Skip to main content": _("Skip to main content")},
        "stMainMenuPopover": {"Print": _("Print")},
        "InputInstructions": {"Press {name} to apply": _("Press {name} to apply")},
        "stFileUploaderDropzone": {"Upload": _("Upload"), "{name}MB per file": _("{name} MB per file")},
        "stSelectboxVirtualDropdown": {"Add: {name}": _("Add: {name}"), "No results": _("No results")},
        "stMultiSelectDropdown": {"Select all": _("Select all"), "No results": _("No results")},
    }  # fmt: skip


def _streamlits_labels() -> Mapping[str, str]:
    """Streamlit's texts for screen readers and in empty fields."""
    return {
        "App pages": _("Pages of this app"),
        "Chat message from assistant": _("Answer"),
        "Chat message from user": _("Question"),
        "Choose an option": _("Choose"),
        "Choose options": _("Choose"),
        "Clear all": _("Clear all"),
        "Clear value": _("Clear the field"),
        "Close": _("Close"),
        "Collapse sidebar": _("Collapse the sidebar"),
        "Copy to clipboard": _("Copy to the clipboard"),
        "Decrement": _("Decrease"),
        "Dismiss": _("Dismiss"),
        "Expand sidebar": _("Expand the sidebar"),
        "Help": _("Help"),
        "Help for {name}": _("Help for {name}"),
        "Hide password": _("Hide what is typed"),
        "Increment": _("Increase"),
        "Link to heading": _("Link to the heading"),
        "Main menu": _("Main menu"),
        "Navigate to home page": _("Go to the home page"),
        "Notifications": _("Notices"),
        "Open": _("Open the list"),
        "Remove {name}": _("Remove {name}"),
        "Selected values": _("Selected"),
        "Send message": _("Send"),
        "Show password": _("Show what is typed"),
        "Sidebar": _("Sidebar"),
        "file upload": _("Choose a file"),
        "progress": _("Progress"),
    }


def language_choice() -> None:
    # Some computers have no font for Chinese, and would show an empty line.
    names = {"": _("Same as the browser"), **LANGUAGES, "zh": f"{LANGUAGES['zh']} (Chinese)"}
    fill_widget("set_language", resources.chosen_language())
    st.selectbox(
        _("Display language"),
        list(names),
        key="set_language",
        format_func=names.__getitem__,
        on_change=_save,
    )
    st.caption(_("The language of menus and buttons, for everyone who uses this Lectern."))


def _save() -> None:
    library = resources.get_index().library
    library.update_settings(
        library.settings.model_copy(update={"language": str(widget("set_language") or "")})
    )


def appearance_choice() -> None:
    names = {"": _("Same as the browser"), "light": _("Light"), "dark": _("Dark")}
    chosen = session().appearance
    known = st.context.cookies.get(APPEARANCE_COOKIE, "") if chosen is None else chosen
    fill_widget("set_appearance", known if known in names else "")
    st.selectbox(
        _("Light or dark"),
        list(names),
        key="set_appearance",
        format_func=names.__getitem__,
        on_change=_choose_appearance,
    )
    st.caption(_("The colours of the screens, in this browser only."))


def _choose_appearance() -> None:
    session().appearance = str(widget("set_appearance") or "")
