"""Two menus above the question: its documents, and its chat mode."""

from __future__ import annotations

import streamlit as st

from lectern.runs.chat_mode_replay import Lack, find_lack
from lectern.ui import labels, resources
from lectern.ui.asking import chat_ask
from lectern.ui.i18n import _
from lectern.ui.safetext import label
from lectern.ui.state import fill_menu, fill_new_widget, menu_key, menu_value
from lectern.ui.widgets.chat_mode_replay import describe_lack
from lectern.ui.widgets.model_offer import unlock_modes
from lectern.ui.widgets.price import highest_price_tag
from lectern.ui.widgets.source_links import name_md
from ragcore.errors import RagError

DEFAULT_MODE = "condense_plus_context"


def scope_menu(*, disabled: bool) -> None:
    """The menu of documents to search."""
    ready = resources.library().files.ready_names()
    chosen = [file_id for file_id in menu_value("chat_files") or () if file_id in ready]
    fill_menu("chat_files", chosen)
    groups = {
        name: [id_ for id_ in ids if id_ in ready] for name, ids in resources.library().groups.all().items()
    }
    scope = label(_("All documents"))
    group = next((name for name, ids in groups.items() if chosen and set(ids) == set(chosen)), None)
    if group is not None:
        scope = name_md(group)
    elif len(chosen) == 1:
        scope = name_md(ready[chosen[0]])
    elif chosen:
        scope = label(labels.count(len(chosen), "document"))
    with st.popover(
        scope, type="tertiary", icon=":material/description:", key="scope_popover", disabled=disabled
    ):
        for number, (name, ids) in enumerate(groups.items()):
            if ids:
                st.button(
                    label(name),
                    key=f"scope_group_{number}",
                    type="tertiary",
                    icon=":material/check_circle:" if name == group else ":material/label:",
                    help=_("Only this group is searched") if name == group else None,
                    on_click=fill_menu,
                    args=("chat_files", ids),
                )
        st.multiselect(
            _("Only these documents"),
            list(ready),
            key=menu_key("chat_files"),
            format_func=lambda file_id: ready.get(file_id, _("a deleted document")),
            placeholder=_("All documents"),
            persist_state="session",
        )


def chosen_mode() -> str:
    """The chat mode in the menu, or the default one if the language model cannot use that."""
    fill_new_widget(menu_key("chat_mode"), resources.library().settings.answers.chat_mode)
    if menu_value("chat_mode") in locked_modes():
        fill_menu("chat_mode", DEFAULT_MODE)
    return str(menu_value("chat_mode"))


def mode_menu(*, disabled: bool) -> None:
    """The available modes with their names in the literature, then those that need another model."""
    mode, locked = labels.chat_modes()[chosen_mode()], locked_modes()
    available = [name for name in labels.chat_modes() if name not in locked]
    with st.popover(
        label(mode.label), type="tertiary", icon=":material/tune:", key="mode_popover", disabled=disabled
    ):
        st.radio(
            _("How to answer"),
            available,
            key=menu_key("chat_mode"),
            format_func=_mode_name,
            captions=[labels.chat_modes()[name].sentence for name in available],
            persist_state="session",
        )
        if resources.library().files.ready_names():
            highest_price_tag(chat_ask(""))
        for name, lack in locked.items():
            st.caption(f":material/lock: **{_mode_name(name)}**  \n{label(describe_lack(lack))}")
        if "model" in locked.values():
            unlock_modes()


def locked_modes() -> dict[str, Lack]:
    """The chat modes that the language model cannot use, with what it lacks."""
    try:
        writer = resources.library().writer()
    except RagError:
        return {}  # asking reports the wrong setting
    return {mode: lack for mode in labels.chat_modes() if (lack := find_lack(mode, writer)) is not None}


def _mode_name(mode: str) -> str:
    return f"{label(labels.chat_modes()[mode].label)} :small[:gray[{labels.field_name(mode)}]]"
