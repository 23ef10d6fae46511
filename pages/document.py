"""Document: one document with a search. Its id is in the address for reloads."""

from __future__ import annotations

import streamlit as st

from lectern.ui import labels, navigation, resources
from lectern.ui.asking import reset_chat_options
from lectern.ui.i18n import _
from lectern.ui.safetext import breakable
from lectern.ui.server.downloads import original_address
from lectern.ui.state import session
from lectern.ui.widgets.document import document_view, groups_menu
from lectern.ui.widgets.search_field import search_field
from ragcore.errors import RagError

library, state = resources.library(), session()

asked_for = navigation.id_from_address("d", state.documents.opened or None) or ""
if asked_for != state.documents.opened:
    state.documents.opened, state.documents.place, state.documents.cited = asked_for, (0, 0), None
file = library.files.get(asked_for) if asked_for else None
navigation.write_address("d", asked_for or None, "")
navigation.set_tab_title(file.name if file else _("Document"))

try:
    document = library.store.document(file.id) if file else None
except RagError:
    document = None

if file is None or document is None:
    st.markdown(_("This document no longer exists."))
    st.page_link(navigation.HOME, label=_("Documents"), icon=":material/description:")
else:
    st.html(f"<h1>{breakable(file.name)}</h1>")
    with st.container(key="document_facts", horizontal=True, vertical_alignment="center"):
        cited = state.documents.cited
        if cited is not None and cited.conversation:
            if st.button(
                _("Back to the chat"), key="back_to_chat", icon=":material/arrow_back:", type="tertiary"
            ):
                navigation.go_to_chat(cited.conversation, cited.panel)
        else:
            st.page_link(navigation.HOME, label=_("Documents"), icon=":material/arrow_back:")
        st.caption(labels.file_facts(file))
    with st.container(key="document_actions", horizontal=True):
        if st.button(
            _("Ask about this document"),
            key="ask_about",
            icon=":material/chat_bubble:",
            disabled=not file.ready,
        ):
            reset_chat_options([file.id])
            navigation.go_to_chat(None)
        if file.path:
            st.link_button(_("Download"), original_address(file.id), icon=":material/download:")
        groups_menu(file)
        search_field(_("Search in this document"), "search_in_document", width=230)
    document_view(file, document)
