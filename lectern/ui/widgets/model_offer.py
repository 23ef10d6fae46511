"""The offer of a free language model below quotes that do not answer, once per conversation."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from lectern.local_models import (
    CatalogueModel,
    first_usable_model,
    memory_for_models,
    model_name,
    suggested_model,
)
from lectern.schema import Message
from lectern.settings import models_are_locked
from lectern.ui import labels, navigation, resources
from lectern.ui.asking import answer_again
from lectern.ui.i18n import _
from lectern.ui.safetext import label
from lectern.ui.state import session
from lectern.ui.widgets.local_models import download_bar, download_problem, start_download
from lectern.ui.widgets.problem import problem
from lectern.ui.widgets.settings_model import use_local_model


def answer_for_offer(messages: Sequence[Message]) -> Message | None:
    """The first answer that a model might improve. The offer is drawn below it. None without an offer."""
    settings = resources.library().settings
    if settings.llm.provider != "none" or settings.stage or models_are_locked():
        return None
    unanswered = (
        message
        for message in messages
        if message.state == "done" and message.facts and message.facts.extractive
        if message.facts.outcome == "closest" or (message.ask is not None and message.ask.needs_model)
    )
    first = next(unanswered, None)
    return None if first is None or first.conversation_id in session().chat.declined_model else first


def model_offer(message: Message) -> None:
    """A button to install a model, the progress of its download, or a button to ask again with it."""
    installed = first_usable_model(resources.home())
    if installed is not None:
        _ask_again_offer(message, installed.setting)
        return
    model = _model_to_install()
    if model is None:
        return
    state = resources.model_downloads().state(model)
    with st.container(key="model_offer", border=True):
        if state is not None and state.state in ("running", "checking"):
            st.markdown(
                _("Installing {name}. You can keep asking questions meanwhile.").format(name=model.name)
            )
            download_bar(model)
            return
        st.markdown(
            _(
                "A language model reads passages like these and answers in its own words. It is free "
                "and runs on this computer."
            )
        )
        if state is not None:
            download_problem(model, state)
        if (error := session().settings.model_problem) is not None:
            problem(error, key="model_offer")
        with st.container(horizontal=True, vertical_alignment="center"):
            install = _("Install a free language model ({size})").format(size=labels.gigabytes(model.size))
            if state is not None:
                install = _("Continue installing {name}").format(name=model.name)
            if state is None or state.state == "stopped":
                st.button(
                    install, key="install_model", type="primary", on_click=start_download, args=(model,)
                )
            st.page_link(navigation.SETTINGS, label=_("Other models"))
            _decline(message)


def unlock_modes() -> None:
    """A button to use the installed model or to install one, or a link to the settings."""
    if models_are_locked():
        return
    if (error := session().settings.model_problem) is not None:
        problem(error, key="unlock")
    installed = first_usable_model(resources.home())
    if installed is not None:
        use = _("Use {name}").format(name=label(model_name(installed.setting)))
        st.button(use, key="unlock_model", on_click=use_local_model, args=(installed.setting,))
        return
    model = _model_to_install()
    state = resources.model_downloads().state(model) if model else None
    if model is not None and state is None:
        install = _("Install a free language model ({size})").format(size=labels.gigabytes(model.size))
        st.button(install, key="unlock_model", on_click=start_download, args=(model,))
    elif model is not None and state is not None and state.state in ("running", "checking"):
        st.caption(_("Installing {name}. You can keep asking questions meanwhile.").format(name=model.name))
    else:
        st.page_link(navigation.SETTINGS, label=_("Choose a language model"), icon=":material/settings:")


def _model_to_install() -> CatalogueModel | None:
    """The model of the current download, else of a partial download, else the first that fits into memory."""
    downloads = resources.model_downloads()
    started = (model for model in downloads.catalogue if downloads.state(model) is not None)
    return (
        downloads.current or next(started, None) or suggested_model(memory_for_models(), downloads.catalogue)
    )


def _ask_again_offer(message: Message, setting: str) -> None:
    with st.container(key="model_offer", border=True):
        text = _("{name} is on this computer and can answer this in its own words.")
        st.markdown(text.format(name=label(model_name(setting))))
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(
                _("Ask again with the model"),
                key="ask_model",
                type="primary",
                on_click=_ask,
                args=(message.id, setting),
            )
            _decline(message)


def _decline(message: Message) -> None:
    declined = session().chat.declined_model
    st.button(
        _("Not now"),
        key="decline_model",
        type="tertiary",
        on_click=declined.add,
        args=(message.conversation_id,),
    )


def _ask(message_id: str, setting: str) -> None:
    use_local_model(setting)
    session().notice = _("{name} writes the answers from now on. You can change this in Settings.").format(
        name=model_name(setting)
    )
    answer_again(message_id, extractive=False)
