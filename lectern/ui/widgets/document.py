"""The page of a document: images or text, a table of contents, and a search."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate

import streamlit as st

from lectern.jobs.file_rows import FileRow
from lectern.schema import Source
from lectern.ui import labels, resources
from lectern.ui.i18n import _, ngettext, numeral
from lectern.ui.safetext import label
from lectern.ui.state import fill_widget, session, widget
from lectern.ui.widgets.groups import groups_form
from lectern.ui.widgets.passage import passage
from ragcore.readers.registry import has_reader
from ragcore.schema import Document
from ragcore.text.code_fences import mark_fenced
from ragcore.text.table_facts import Grid, grids_in

TABLES = ("CSV", "TSV")  # and files with sheets
HEADING = re.compile(r" {0,3}#{1,6}\s+(\S.*?)[\s#]*$")
AROUND = 60  # characters around a match
PARTS = 500  # entries in the contents
MOST_HITS = 50  # matches in the list
STRETCH = 6000  # characters of text before and after a place
TABLE_STRETCH = 100_000  # characters of a table's text whose rows are drawn at once
TABLE_ROWS = 12  # visible rows of a table without scrolling
ROW_PIXELS = 35


def document_view(file: FileRow, document: Document) -> None:
    """The search results, the table of contents, and the current place."""
    grids = _grids(document) if file.kind in TABLES or document.page_word == "sheet" else []
    if file.kind != "PDF":
        with st.container(key="document_parts", horizontal=True, vertical_alignment="center"):
            _contents(file, document)
            if grids:
                st.toggle(_("As text"), key="document_as_text")
    if words := str(widget("search_in_document") or "").strip():
        _hits(document, words)
    if grids and not widget("document_as_text"):
        for number, grid in enumerate(grids):
            _draw(grid, number)
        first, start, last = _rows_looked_at(document)
        _turn(start - TABLE_STRETCH if start > first else None, start + TABLE_STRETCH if start + TABLE_STRETCH < last else None)
        return
    with st.container(key="document_page"):
        passage(_looked_at(file, document), around=STRETCH)
    if file.kind != "PDF" and not resources.library().files.page_words.of(file.id, [0]):
        start, end = session().documents.place
        before, behind, total = start - 2 * STRETCH, end + 2 * STRETCH, len(document.text)
        _turn(max(0, before) if start > STRETCH else None, min(behind, total) if end + STRETCH < total else None)


def search_field() -> None:
    st.text_input(
        _("Search in this document"),
        key="search_in_document",
        placeholder=_("Search in this document"),
        label_visibility="collapsed",
        icon=":material/search:",
        width=230,
    )


def groups_menu(file: FileRow) -> None:
    chosen = resources.library().groups.of(file.id)
    with st.popover(label(", ".join(chosen)) or _("Groups"), icon=":material/label:", key="groups_popover"):
        groups_form([file.id])


def _turn(back: int | None, on: int | None) -> None:
    """Buttons to the text before and after, if there is any."""
    with st.container(key="document_turn", horizontal=True):
        if back is not None:
            st.button(_("Previous"), key="document_back", on_click=_go_to, args=(back, back))
        if on is not None:
            st.button(_("Next"), key="document_on", on_click=_go_to, args=(on, on))


def _rows_looked_at(document: Document) -> tuple[int, int, int]:
    """The start of the sheet, of the current stretch of its rows, and the end of the sheet."""
    place = session().documents.place[0]
    sheet = document.page_at(place)
    first, last = (sheet.start, sheet.end) if sheet else (0, len(document.text))
    return first, first + max(0, place - first) // TABLE_STRETCH * TABLE_STRETCH, last


def _grids(document: Document) -> list[Grid]:
    first, start, last = _rows_looked_at(document)
    begin, end = (
        last if edge >= last else max(first, document.text.rfind("\n", first, edge) + 1)
        for edge in (start, start + TABLE_STRETCH)
    )
    return grids_in(document.text[begin:end])


def _draw(grid: Grid, number: int) -> None:
    rows = min(len(grid.rows), TABLE_ROWS + 0.5) + 1  # half a row shows that there are more
    st.dataframe(
        {name: [row.get(name, "") for row in grid.rows] for name in grid.columns},
        key=f"document_table_{number}",
        hide_index=True,
        height=int(rows * ROW_PIXELS) + 3,  # and its border
    )


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


def _contents(file: FileRow, document: Document) -> None:
    """The sheets, chapters or other parts; the headings of a text without parts."""
    several = len(document.pages) > 1
    parts = [(page.label, page.start) for page in document.pages] if several else list(_headings(file.name, document.text))
    if not parts:
        return
    at = document.page_at(session().documents.place[0]) if several else None
    with st.popover(label(at.label) if at else _("Contents"), icon=":material/toc:", key="document_contents"):
        for number, (name, start) in enumerate(parts[:PARTS]):
            st.button(label(name), key=f"part_{number}", type="tertiary", on_click=_go_to, args=(start, start))


def _headings(name: str, text: str) -> Iterator[tuple[str, int]]:
    """Markdown headings with their positions. In source code and settings `#` starts a comment."""
    if not has_reader(name):
        return
    lines = text.splitlines(keepends=True)
    starts = accumulate((len(line) for line in lines), initial=0)
    for line, start, is_code in zip(lines, starts, mark_fenced(lines), strict=False):
        if not is_code and (heading := HEADING.match(line)):
            yield heading[1].replace("*", "").replace("`", ""), start


def _hits(document: Document, words: str) -> None:
    """The matches with the text around them; a click goes there."""
    matches = [match.span() for match in re.finditer(re.escape(words), document.text, re.IGNORECASE)]
    count = ngettext("Found in {number} place", "Found in {number} places", len(matches)).format(number=numeral(len(matches)))
    st.caption(count if matches else _("“{words}” is not in this document.").format(words=label(words)))
    with st.container(key="found_in_document", height=240 if len(matches) > 5 else "content"):
        for number, (start, end) in enumerate(matches[:MOST_HITS]):
            before, behind = _around(document.text, start, end)
            page = document.page_at(start)
            where = f"{labels.part(document.page_word, page.label)} · " if page else ""
            match_text = label(document.text[start:end])
            bold = (
                f"**{match_text}**" if words[0].isalnum() and words[-1].isalnum() else match_text
            )  # Markdown has no other bold in a word
            line = label(where + before) + " " * before.endswith(" ") + bold + " " * behind.startswith(" ") + label(behind)
            st.button(line, key=f"found_{number}", type="tertiary", on_click=_go_to, args=(start, end))


def _around(text: str, start: int, end: int) -> tuple[str, str]:
    """The text before and after a place, in whole words."""
    before, behind = text[max(0, start - AROUND) : start], text[end : end + AROUND]
    if start > AROUND:
        before = "…" + re.sub(r"^\S*\s", "", before)
    if end + AROUND < len(text):
        behind = re.sub(r"\s\S*$", "", behind) + "…"
    return re.sub(r"\s+", " ", before), re.sub(r"\s+", " ", behind)


def _go_to(start: int, end: int) -> None:
    session().documents.place = (start, end)
    if end > start and widget("document_as_text") is not None:  # a search match, marked in the text
        fill_widget("document_as_text", True)
