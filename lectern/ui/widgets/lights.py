"""Three lights: the state of the search, of the language model, and of the storage."""

from __future__ import annotations

from html import escape

import streamlit as st

from lectern.library import Status
from lectern.local_models import model_name
from lectern.ui import labels, places, resources
from lectern.ui.i18n import _, translate
from lectern.ui.live_fragments import be_still

COMING = ("idle", "loading")  # states of an embedder that is not ready


def lights() -> None:
    st.fragment(_lights, run_every=1.0 if resources.library().status().embedder in COMING else None)()


def _lights() -> None:
    status = resources.library().status()
    if status.embedder not in COMING:
        be_still()
    model, _at, server = status.llm_label.rpartition(" at ")
    llm = resources.library().settings.llm
    none = llm.provider == "none"
    stored = _("{size} on a server") if resources.library().shared else _("{size} on this computer")
    with st.container(key="lights", horizontal=True, gap="medium", vertical_alignment="center"):
        _light(*_search(status))
        with st.container(key="light_model", horizontal=True, gap="small", vertical_alignment="center", width="content"):
            text = _("none: quoting exact passages") if none else _("{model} at {server}").format(model=model, server=server)
            if llm.provider == "llama_cpp":
                text = _("{model} on this computer").format(model=model_name(llm.model))
            _light("off" if none else "on", _("Language model"), text)
            if none:
                st.page_link(places.SETTINGS, label=_("Add one"))
        _light("on", _("Storage"), stored.format(size=labels.size(status.bytes_on_disk)), title=status.name)


def _search(status: Status) -> tuple[str, str, str]:
    if status.embedder == "failed":
        error = status.embedder_error
        return "bad", _("Search"), translate(error.what) if error else _("could not be started")
    if status.embedder == "ready":
        return "on", _("Search"), _("ready")
    return "wait", _("Search"), _("getting ready…")


def _light(state: str, name: str, text: str, *, title: str = "") -> None:
    st.html(
        f'<span class="light" title="{escape(title)}"><i class="dot {state}"></i>'
        f"<b>{escape(name)}</b> <span>{escape(text)}</span></span>",
        width="content",
    )
