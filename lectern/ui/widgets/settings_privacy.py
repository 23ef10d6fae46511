"""Settings page about privacy: what is sent where, stored keys, and the place of the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from lectern.indexes import MAIN
from lectern.jobs.confinement import describe_confinement
from lectern.keys import mask, stored_keys
from lectern.settings import models_are_locked
from lectern.ui import labels, resources
from lectern.ui.i18n import _, translate
from lectern.ui.safetext import label
from lectern.ui.state import open_index, session
from lectern.ui.widgets.library_copy import library_copy
from lectern.ui.widgets.settings_model import forget_key, provider_names
from ragcore.errors import RagError

if TYPE_CHECKING:
    from lectern.library import Library


def privacy_summary() -> None:
    """What is sent where, for the saved model, not for unsaved changes."""
    library = resources.library()
    st.header(_("Privacy"), anchor=False)
    read = (
        _(
            "Your documents are kept on the server named under *Where your data is kept*. They are read "
            "and split "
            "into passages on this computer, or on another one that works for the same library. Nothing "
            "is sent anywhere else for this."
        )
        if library.shared
        else _(
            "Your documents are read, split into passages and searched on this computer. Nothing is "
            "sent anywhere for this."
        )
    )
    st.markdown(f"{read} {_sent_to_the_model(library)}")
    _keys()


def privacy_details() -> None:
    rest = [
        translate(describe_confinement()),
        _("Lectern collects no usage data, and its pages load nothing from elsewhere."),
        _(
            "Web links and storage that you add, and language models that you download, are fetched "
            "from where they are. Nobody else is told."
        ),
    ]
    st.markdown("\n".join(f"- {line}" for line in rest))


def _sent_to_the_model(library: Library) -> str:
    from ragcore.llms.server_address import OLLAMA_URL

    llm = library.settings.llm
    where = {
        "none": "",
        "llama_cpp": "",
        "ollama": llm.base_url or OLLAMA_URL,
        "openai": "OpenAI",
        "openai_compatible": llm.base_url,
    }[llm.provider]
    if where:
        return _(
            "For each answer, the question, the passages found for it, the conversation so far and the "
            "prompts "
            "are sent to the language model at **{where}**. Whole documents are sent only when you read "
            "everything."
        ).format(where=label(where))
    if llm.provider == "llama_cpp":
        return _("The language model runs on this computer: nothing is sent elsewhere to write an answer.")
    if library.shared:
        return _("There is no language model, so nothing is sent to one.")
    return _("There is no language model, so nothing at all leaves this computer.")


def _keys() -> None:
    """The stored keys, shortened, each with a button to remove it."""
    stored = stored_keys(resources.library().folder)
    keys = [
        (provider, name, stored[provider])
        for provider, (name, _about) in provider_names().items()
        if provider in stored
    ]
    if not keys:
        st.markdown(_("No keys are saved. If a language model needs one, enter it on the Model page."))
        return
    for provider, name, key in keys:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{label(name)}** {label(mask(key.key))} · {label(key.origin)}", width="content")
            if not models_are_locked():
                st.button(
                    _("Remove"),
                    key=f"forget_{provider}",
                    type="tertiary",
                    on_click=forget_key,
                    args=(provider,),
                )


def library_place() -> None:
    """Where the data is, and a copy to download."""
    library = resources.library()
    status = library.status()
    st.header(_("Where your data is kept"), anchor=False)
    if library.shared:
        text = _(
            "Documents, passages, conversations and settings are in one database on a server, {size} so "
            "far. Keys are kept on this computer only."
        )
    else:
        text = _(
            "Documents, passages, conversations and settings are in one folder on this computer, {size} "
            "so far. Delete the folder and everything is gone."
        )
    place = status.name.replace("`", "")
    st.markdown(f"{text.format(size=labels.size(status.bytes_on_disk))}  \n`{place}`")
    st.markdown(
        _(
            "A copy contains everything except keys and passwords. To restore it, drop it where you add "
            "documents, here or on another computer."
        )
    )
    library_copy()
    with st.container(horizontal=True):
        with st.popover(
            _("Delete all conversations"), icon=":material/delete:", type="tertiary", key="delete_popover"
        ):
            st.markdown(
                _(
                    "Delete all conversations, and what was asked in Compare and Modes? Documents, notes and "
                    "the results in Evaluate stay."
                )
            )
            st.button(_("Delete"), key="delete_conversations", type="primary", on_click=_delete_conversations)
        with st.popover(
            _("Delete everything"),
            icon=":material/delete_forever:",
            type="tertiary",
            key="delete_everything_popover",
        ):
            st.markdown(
                _(
                    "Delete the documents of all indexes, all conversations, comparisons and notes, and the "
                    "questions and results in Evaluate? Settings, prompts, keys and language models stay. "
                    "This cannot be undone."
                )
            )
            st.button(
                _("Delete everything"), key="delete_everything", type="primary", on_click=_delete_everything
            )


def _delete_conversations() -> None:
    resources.current_index().runs.stop_all()
    resources.library().conversations.delete_all()
    state = session()
    state.chat.conversation = state.query.conversation = state.replay.conversation = None
    state.panel, state.notice = "", _("All conversations are deleted.")


def _delete_everything() -> None:
    try:
        resources.open_indexes().delete_everything()
    except RagError as error:
        notice = f"{translate(error.what)} {translate(error.hint)}"
    else:
        notice = _("Everything is deleted. Settings, prompts, keys and language models stay.")
    open_index(MAIN)  # without what this tab remembers of the deleted documents
    session().settings.page, session().notice = "privacy", notice
