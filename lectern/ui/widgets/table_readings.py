"""The readings of an unclear question over rows, below the closest passages. Each is a button that asks."""

from __future__ import annotations

import streamlit as st

from lectern.ask.table_readings import find_readings
from lectern.schema import Message
from lectern.ui import resources
from lectern.ui.asking import ask_in_chat
from lectern.ui.i18n import _
from lectern.ui.safetext import label
from lectern.ui.state import session
from lectern.ui.widgets.answer_forms import is_chat
from ragcore.errors import UnknownDocumentError
from ragcore.schema import Document


def table_readings(message: Message) -> None:
    """Of an answer in a chat. Nothing if nothing could be computed."""
    if not message.only_closest or not is_chat(message):
        return
    found = session().answers.readings
    if message.id not in found:
        found[message.id] = _find_readings(message)
    if not found[message.id]:
        return
    with st.container(key=f"readings_{message.id}", gap="xsmall"):
        st.caption(_("This can be computed. Which do you mean?"))
        for number, reading in enumerate(found[message.id]):
            st.button(
                label(reading),
                key=f"reading_{number}_{message.id}",
                type="tertiary",
                icon=":material/arrow_outward:",
                on_click=_ask,
                args=(reading,),
            )


def _ask(reading: str) -> None:
    ask_in_chat(reading, box="ask")


def _find_readings(message: Message) -> list[str]:
    question = message.ask.question if message.ask is not None else ""
    return find_readings(question, cited_documents(message), resources.library().store)


def cited_documents(message: Message) -> list[Document]:
    """The documents of its passages, without those that were deleted since."""
    documents: list[Document] = []
    for file_id in dict.fromkeys(source.file_id for source in message.sources):
        try:
            documents.append(resources.library().store.document(file_id))
        except UnknownDocumentError:
            continue
    return documents
