"""The side panel that shows a cited passage in its document; on a phone it covers the screen."""

from __future__ import annotations

import streamlit as st

from ragcore.conversations import Message, Source
from ragcore.errors import InputError, RagError
from ui import resources, words
from ui.safetext import label
from ui.state import event, session
from ui.web import page_address
from ui.widgets.component import component

_PASSAGE = component("passage", '<div class="root"></div>')
_CITATIONS = component("citations", "<span hidden></span>")


def address(message: Message, source: Source) -> str:
    """Where the link of a citation leads; `citation_clicks` opens it."""
    return f"#passage-{message.id}.{source.number}"


def citation_clicks(*, answering: bool) -> None:
    """Let a click on any citation of the page open its passage, and Escape close it."""
    with st.container(key="citations"):
        _CITATIONS(key="citation_clicks", data={"open": session().passage, "answering": answering}, on_open_change=_open)


def _open() -> None:
    asked = event("citation_clicks", "open")
    if isinstance(asked, dict):
        session().passage = str(asked.get("passage", ""))[:80]


def _close() -> None:
    session().passage = ""


def open_source(conversation_id: str | None) -> Source | None:
    """The passage that is to be shown beside this conversation, if any."""
    message_id, _, number = session().passage.partition(".")
    if not message_id or conversation_id is None:
        return None
    message = resources.library().conversations.message(message_id)
    if message is None or message.conversation_id != conversation_id:
        return None
    return next((source for source in message.sources if str(source.number) == number), None)


def passage_panel(source: Source) -> None:
    library = resources.library()
    with st.container(key="panel"):
        with st.container(key="panel_head", horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"**{label(f'{source.number} · {words.place(source)}')}**")
            st.button("Close", key="close_panel", icon=":material/close:", type="tertiary", on_click=_close)
        try:
            view = library.source_view(source)
        except RagError as error:
            st.markdown(
                f"**{label(error.what)}**  \n{label(error.hint)}" if isinstance(error, InputError) else label(error.what)
            )
            _PASSAGE(key="passage", data={"kind": "text", "before": "", "marked": source.text, "after": ""})
            return
        data: dict[str, object] = {"kind": view.kind, "name": view.file_name}
        if view.kind == "page":
            file = library.files.get(view.file_id)
            data |= {
                "address": page_address(view.file_id, file.hash if file else ""),
                "word": view.page_word,
                "label": view.page_label or str((view.page_index or 0) + 1),
                "index": view.page_index or 0,
                "count": view.page_count,
                "boxes": [[[box.left, box.top, box.width, box.height] for box in boxes] for boxes in view.boxes],
                "unmarked": "" if any(view.boxes) else source.text,
            }
        else:
            data |= {"before": view.before, "marked": view.marked, "after": view.after}
        _PASSAGE(key="passage", data=data)
