"""The form for the groups of one or several documents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import streamlit as st

from lectern.ui import resources
from lectern.ui.i18n import _
from lectern.ui.safetext import label
from lectern.ui.state import fill_widget, widget


def groups_form(file_ids: Sequence[str]) -> None:
    """All groups, and a field for a new one. A group that contains all these documents is selected."""
    members = resources.library().groups.all()
    shared = {name for name, ids in members.items() if set(file_ids) <= set(ids)}
    if members:
        fill_widget("document_groups", [name for name in members if name in shared])
        st.pills(
            _("In these groups"),
            list(members),
            selection_mode="multi",
            key="document_groups",
            format_func=label,
            on_change=lambda: _change_groups(
                file_ids, remove_from=shared, add_to=widget("document_groups") or ()
            ),
        )
    with st.form("group_form", border=False):
        st.text_input(_("Name of a new group"), key="new_group")
        st.form_submit_button(
            _("Create the group"), key="create_group", on_click=_add_to_new_group, args=(file_ids,)
        )
    st.caption(_("In a chat, you can choose a whole group of documents at once."))


def _add_to_new_group(file_ids: Sequence[str]) -> None:
    _change_groups(file_ids, add_to=[str(widget("new_group") or "")])
    fill_widget("new_group", "")


def _change_groups(
    file_ids: Sequence[str], *, add_to: Iterable[str], remove_from: Iterable[str] = ()
) -> None:
    """Removes the documents from groups, then adds them to groups."""
    groups = resources.library().groups
    for file_id in file_ids:
        groups.replace(file_id, {*groups.of(file_id)} - {*remove_from} | {*add_to})
