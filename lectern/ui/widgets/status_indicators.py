"""The status of the search, the language model and the storage."""

from __future__ import annotations

from html import escape

import streamlit as st

from lectern.library import Status
from lectern.local_models import model_name
from lectern.ui import labels, navigation, resources
from lectern.ui.i18n import _, translate
from lectern.ui.live_fragments import stop_auto_rerun

NOT_READY = ("idle", "loading")  # states of the embedder


def status_indicators() -> None:
    st.fragment(_draw, run_every=1.0 if resources.library().status().embedder in NOT_READY else None)()


def _draw() -> None:
    status = resources.library().status()
    if status.embedder not in NOT_READY:
        stop_auto_rerun()
    model, _at, server = status.llm_label.rpartition(" at ")
    llm = resources.library().settings.llm
    has_model = llm.provider != "none"
    stored = _("{size} on a server") if resources.library().shared else _("{size} on this computer")
    with st.container(key="lights", horizontal=True, gap="medium", vertical_alignment="center"):
        _indicator(*_search(status))
        with st.container(
            key="light_model", horizontal=True, gap="small", vertical_alignment="center", width="content"
        ):
            text = (
                _("{model} at {server}").format(model=model, server=server)
                if has_model
                else _("none: quoting exact passages")
            )
            if llm.provider == "llama_cpp":
                text = _("{model} on this computer").format(model=model_name(llm.model))
            _indicator("on" if has_model else "off", _("Language model"), text)
            if not has_model:
                st.page_link(navigation.SETTINGS, label=_("Add one"))
        _indicator(
            "on", _("Storage"), stored.format(size=labels.size(status.bytes_on_disk)), title=status.name
        )


def _search(status: Status) -> tuple[str, str, str]:
    """The state of the search as a CSS class, its name, and its text."""
    if status.embedder == "failed":
        error = status.embedder_error
        return "bad", _("Search"), translate(error.what) if error else _("could not be started")
    if status.embedder == "ready":
        return "on", _("Search"), _("ready")
    return "wait", _("Search"), _("getting ready…")


def _indicator(state: str, name: str, text: str, *, title: str = "") -> None:
    st.html(
        f'<span class="light" title="{escape(title)}"><i class="dot {state}"></i>'
        f"<b>{escape(name)}</b> <span>{escape(text)}</span></span>",
        width="content",
    )
