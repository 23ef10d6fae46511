"""The page of a document: images or text, a table of contents, and a search."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate

import streamlit as st

from lectern.explain.cited_table import GridTable, grid_tables
from lectern.explain.laid_out_text import article_headings
from lectern.jobs.file_rows import FileRow
from lectern.schema import Source
from lectern.ui import labels, resources
from lectern.ui.i18n import _, ngettext, numeral
from lectern.ui.safetext import label
from lectern.ui.state import fill_widget, session, widget
from lectern.ui.widgets.groups import groups_form
from lectern.ui.widgets.passage import passage
from lectern.ui.widgets.table_grid import table_grid
from ragcore.readers.registry import has_reader
from ragcore.schema import Document
from ragcore.text.code_fences import mark_fenced
from ragcore.text.heading_words import heading_words

TABLE_KINDS = ("CSV", "TSV")  # files with sheets are tables too
HEADING = re.compile(r" {0,3}#{1,6}\s+(\S.*?)[\s#]*$")
CONTEXT_CHARS = 60  # before and after a match
MAX_PARTS = 500  # entries in the contents
MAX_MATCHES = 50  # in the list
SURROUNDING_CHARS = 6000  # of the text before and after a place


def document_view(file: FileRow, document: Document) -> None:
    """The search results, the table of contents, and the current place."""
    tables = _tables(document) if file.kind in TABLE_KINDS or document.page_word == "sheet" else []
    if file.kind != "PDF":
        with st.container(key="document_parts", horizontal=True, vertical_alignment="center"):
            _contents(file, document)
            if tables:
                st.toggle(_("As text"), key="document_as_text")
    # without a search, too, so that the page below is not drawn anew
    with st.container(key="document_matches"):
        if words := str(widget("search_in_document") or "").strip():
            _matches(document, words)
    if tables and not widget("document_as_text"):
        for table in tables:
            key = f"document_{file.id}_{table.rows[0].start}"
            table_grid(table, file.name, range(len(table.rows)), key=key)
        return
    with st.container(key="document_page"):
        cited = session().documents.cited
        if cited is not None and session().documents.place == (cited.source.start, cited.source.end):
            passage(cited.source, answer=cited.answer, around=SURROUNDING_CHARS, page_index=cited.page_index)
        else:
            passage(_current_source(file, document), around=SURROUNDING_CHARS)
    if file.kind != "PDF" and not resources.library().files.page_words.of(file.id, [0]):
        start, end = session().documents.place
        previous, following, total = (
            start - 2 * SURROUNDING_CHARS,
            end + 2 * SURROUNDING_CHARS,
            len(document.text),
        )
        _page_buttons(
            max(0, previous) if start > SURROUNDING_CHARS else None,
            min(following, total) if end + SURROUNDING_CHARS < total else None,
        )


def groups_menu(file: FileRow) -> None:
    chosen = resources.library().groups.of(file.id)
    with st.popover(label(", ".join(chosen)) or _("Groups"), icon=":material/label:", key="groups_popover"):
        groups_form([file.id])


def _page_buttons(previous: int | None, following: int | None) -> None:
    """Buttons to the text at these positions."""
    with st.container(key="document_turn", horizontal=True):
        if previous is not None:
            st.button(_("Previous"), key="document_back", on_click=_go_to, args=(previous, previous))
        if following is not None:
            st.button(_("Next"), key="document_on", on_click=_go_to, args=(following, following))


def _tables(document: Document) -> list[GridTable]:
    """Those of the current sheet."""
    sheet = document.page_at(session().documents.place[0])
    start, end = (sheet.start, sheet.end) if sheet else (0, len(document.text))
    return [table for table in grid_tables(document.text) if start <= table.rows[0].start < end]


def _current_source(file: FileRow, document: Document) -> Source:
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
        page_word=document.page_word,
    )


def _contents(file: FileRow, document: Document) -> None:
    """The sheets, chapters or other parts; the headings of a text without parts."""
    several = len(document.pages) > 1
    parts = [(page.label, page.start) for page in document.pages]
    if not several:
        parts = article_headings(resources.library(), file, document)
        parts = parts or list(_headings(file.name, document.text))
    if not parts:
        return
    current = document.page_at(session().documents.place[0]) if several else None
    with st.popover(
        label(current.label) if current else _("Contents"), icon=":material/toc:", key="document_contents"
    ):
        for number, (name, start) in enumerate(parts[:MAX_PARTS]):
            st.button(
                label(name), key=f"part_{number}", type="tertiary", on_click=_go_to, args=(start, start)
            )


def _headings(name: str, text: str) -> Iterator[tuple[str, int]]:
    """Markdown headings with their positions. In source code and settings `#` starts a comment."""
    if not has_reader(name):
        return
    lines = text.splitlines(keepends=True)
    starts = accumulate((len(line) for line in lines), initial=0)
    for line, start, is_code in zip(lines, starts, mark_fenced(lines), strict=False):
        heading = None if is_code else HEADING.match(line)
        if heading and (words := heading_words(heading[1])):
            yield words.replace("*", "").replace("`", ""), start


def _matches(document: Document, words: str) -> None:
    """The matches with the text around them; a click goes there."""
    matches = [match.span() for match in re.finditer(re.escape(words), document.text, re.IGNORECASE)]
    count = ngettext("Found in {number} place", "Found in {number} places", len(matches)).format(
        number=numeral(len(matches))
    )
    st.caption(count if matches else _("“{words}” is not in this document.").format(words=label(words)))
    with st.container(key="found_in_document", height=240 if len(matches) > 5 else "content"):
        for number, (start, end) in enumerate(matches[:MAX_MATCHES]):
            before, after = labels.surroundings(document.text, start, end, CONTEXT_CHARS)
            page = document.page_at(start)
            where = f"{labels.part(document.page_word, page.label)} · " if page else ""
            match_text = label(document.text[start:end])
            # Markdown needs letters or digits at the ends of bold text
            if words[0].isalnum() and words[-1].isalnum():
                match_text = f"**{match_text}**"
            line = (
                label(where + before)
                + " " * before.endswith(" ")
                + match_text
                + " " * after.startswith(" ")
                + label(after)
            )
            st.button(line, key=f"found_{number}", type="tertiary", on_click=_go_to, args=(start, end))


def _go_to(start: int, end: int) -> None:
    session().documents.place = (start, end)
    if end > start and widget("document_as_text") is not None:  # a search match, marked in the text
        fill_widget("document_as_text", True)
