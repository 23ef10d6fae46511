"""The frame around every page: title, navigation, conversations, and reading progress."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from lectern.ui import labels, navigation, resources
from lectern.ui.asking import reset_chat_options
from lectern.ui.i18n import _, supported_language
from lectern.ui.safetext import label
from lectern.ui.state import fill_widget, open_index, session, widget
from lectern.ui.widgets.conversations import conversation_list
from lectern.ui.widgets.page_language import page_language
from lectern.ui.widgets.popovers import popovers
from lectern.ui.widgets.price import confirmation
from lectern.ui.widgets.problem import damage
from lectern.ui.widgets.reading_progress import reading_bar
from lectern.ui.widgets.search_field import search_field

HERE = Path(__file__).resolve().parent
MIN_SEARCHABLE = 2  # conversations; a shorter list has no search field


def frame() -> None:
    session().language = resources.chosen_language() or supported_language(st.context.locale) or "en"
    st.set_page_config(page_icon=str(HERE / "static" / "icon.png"), layout="wide")
    st.logo(str(HERE / "static" / "logo.svg"), icon_image=str(HERE / "static" / "icon.svg"), size="large")
    page = st.navigation(_pages(), expanded=True)
    if page.url_path != "chat":  # its title is that of the conversation
        navigation.set_tab_title(page.title)
    navigation.record_page(page.url_path)
    navigation.open_index_of_address()
    navigation.switch_to_next_page()
    state = session()
    if state.notice:
        st.toast(label(state.notice), duration="long")
        state.notice = ""
    damage(resources.library())  # before a page can fail because of it
    with st.sidebar:
        index_picker()
        reading_bar()
        conversations(page.url_path == "chat")
        page_language()
        popovers()
    confirmation()
    page.run()
    resources.warm_embedder()


def _pages() -> list[st.Page]:
    """A single list, because screen readers do not see Streamlit's sections as lists. The style sheet
    separates the lab."""
    return [
        st.Page(navigation.HOME, title=_("Documents"), icon=":material/description:", default=True),
        st.Page(navigation.CHAT, title=_("Chat"), icon=":material/chat_bubble:"),
        st.Page(navigation.NOTES, title=_("Notes"), icon=":material/bookmark:"),
        st.Page(navigation.DOCUMENT, title=_("Document"), icon=":material/description:", visibility="hidden"),
        st.Page(navigation.QUERY, title=_("Compare"), icon=":material/splitscreen_left:"),
        st.Page(navigation.REPLAY, title=_("Modes"), icon=":material/forum:"),
        st.Page(navigation.MAP, title=_("Map"), icon=":material/scatter_plot:"),
        st.Page(navigation.INDEXES, title=_("Indexes"), icon=":material/shelves:"),
        st.Page(navigation.EVALUATE, title=_("Evaluate"), icon=":material/monitoring:"),
        st.Page(navigation.SETTINGS, title=_("Settings"), icon=":material/settings:"),
    ]


def index_picker() -> None:
    """The choice of the open index, if there are several."""
    names = {index.id: labels.index_name(index.name) for index in resources.all_indexes().all()}
    if len(names) > 1:
        fill_widget("index_picker", session().index)
        st.selectbox(
            _("Index"),
            list(names),
            key="index_picker",
            format_func=names.__getitem__,
            on_change=_open_picked_index,
        )


def _open_picked_index() -> None:
    open_index(str(widget("index_picker")))


def conversations(in_chat: bool) -> None:
    state = session()
    if st.button(_("New chat"), icon=":material/add:", key="new_chat", width="stretch"):
        fill_widget("search", "")
        reset_chat_options()
        navigation.go_to_chat(None)
    open_id = navigation.id_from_address("c", state.chat.conversation) if in_chat else None
    search = str(widget("search") or "")
    place = st.container()
    listed = conversation_list(open_id, search)
    if listed >= MIN_SEARCHABLE or search:
        with place:
            search_field(_("Search conversations"), "search", live=True)
        if not listed:
            st.caption(_("No conversation contains these words."))


frame()
