"""A document on its own page: its pages as images or its text, its parts to go to, and a search in it."""

from __future__ import annotations

import re

import streamlit as st

from lectern.jobs.file_rows import FileRow
from lectern.schema import Source
from lectern.ui import resources
from lectern.ui.i18n import _, ngettext, numeral
from lectern.ui.safetext import label
from lectern.ui.state import session, widget
from lectern.ui.widgets.passage import passage
from ragcore.schema import Document

AROUND = 60  # characters shown on each side of what was found
FOUND = 50  # places listed
STRETCH = 6000  # characters of text shown on each side of a place


def document_view(file: FileRow, document: Document) -> None:
    """The search and the parts of the document, and the place that is looked at."""
    with st.container(key="document_search", horizontal=True, vertical_alignment="bottom"):
        st.text_input(
            _("Search in this document"),
            key="search_in_document",
            placeholder=_("Search in this document"),
            label_visibility="collapsed",
            icon=":material/search:",
            width=260,
        )
        if file.kind != "PDF" and len(document.pages) > 1:
            _parts(document)
    if words := str(widget("search_in_document") or "").strip():
        _hits(document, words)
    passage(_looked_at(file, document), around=STRETCH)
    if file.kind != "PDF" and not resources.library().files.page_words.of(file.id, [0]):
        _turn(len(document.text))


def _turn(total: int) -> None:
    """On to the text before and behind what is shown of it."""
    start, end = session().documents.place
    before, behind = start - 2 * STRETCH, end + 2 * STRETCH
    with st.container(key="document_turn", horizontal=True):
        if start > STRETCH:
            st.button(_("Previous"), key="document_back", on_click=_go_to, args=(max(0, before), max(0, before)))
        if end + STRETCH < total:
            st.button(_("Next"), key="document_on", on_click=_go_to, args=(min(behind, total), min(behind, total)))


def _looked_at(file: FileRow, document: Document) -> Source:
    start, end = session().documents.place
    page = document.page_at(start)
    text = document.text[start:end]
    return Source(
        number=1,
        node_id="",
        file_id=file.id,
        file_name=file.name,
        start=start,
        end=start + len(text),
        text=text,
        page_label=page.label if page else None,
    )


def _parts(document: Document) -> None:
    at = document.page_at(session().documents.place[0])
    with st.popover(label(at.label) if at else _("Contents"), icon=":material/toc:"):
        for number, page in enumerate(document.pages):
            st.button(label(page.label), key=f"part_{number}", type="tertiary", on_click=_go_to, args=(page.start, page.start))


def _hits(document: Document, words: str) -> None:
    """The places of these words with what stands around them; a click on one goes there."""
    found = [match.span() for match in re.finditer(re.escape(words), document.text, re.IGNORECASE)]
    count = ngettext("Found in {number} place", "Found in {number} places", len(found)).format(number=numeral(len(found)))
    st.caption(count if found else _("“{words}” is not in this document.").format(words=label(words)))
    with st.container(key="found_in_document", height=240 if len(found) > 5 else "content"):
        for number, (start, end) in enumerate(found[:FOUND]):
            around = " ".join(document.text[max(0, start - AROUND) : end + AROUND].split())
            page = document.page_at(start)
            where = f"{page.label} · " if page else ""
            st.button(label(f"{where}…{around}…"), key=f"found_{number}", type="tertiary", on_click=_go_to, args=(start, end))


def _go_to(start: int, end: int) -> None:
    session().documents.place = (start, end)
