"""The form for the groups of one or several documents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import streamlit as st

from lectern.ui import resources
from lectern.ui.i18n import _
from lectern.ui.safetext import label
from lectern.ui.state import fill_widget, widget


def groups_form(file_ids: Sequence[str]) -> None:
    """All groups, with those selected that contain all these documents, and a field for a new one."""
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
            on_change=lambda: _change_groups(file_ids, without=shared, with_=widget("document_groups") or ()),
        )
    st.text_input(_("Name of a new group"), key="new_group", on_change=_put_in_new, args=(file_ids,))
    st.caption(_("In a chat, you can choose a whole group of documents at once."))


def _put_in_new(file_ids: Sequence[str]) -> None:
    _change_groups(file_ids, with_=[str(widget("new_group") or "")])
    fill_widget("new_group", "")


def _change_groups(file_ids: Sequence[str], *, with_: Iterable[str], without: Iterable[str] = ()) -> None:
    """Removes the documents from the groups `without` and adds them to `with_`. Their other groups stay."""
    groups = resources.library().groups
    for file_id in file_ids:
        groups.put(file_id, {*groups.of(file_id)} - {*without} | {*with_})
