"""A cited passage in its document, for the side panel, and the clicks on citations that open it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise

import streamlit as st

from lectern.explain.source_view import SURROUNDING_CHARS, view_source
from lectern.schema import Message, Source
from lectern.ui import resources
from lectern.ui.i18n import _, translate
from lectern.ui.safetext import label
from lectern.ui.server.downloads import page_address
from lectern.ui.state import event, session
from lectern.ui.widgets.component import component
from lectern.ui.widgets.passage_cards import cards_data
from ragcore.errors import InputError, RagError
from ragcore.readers.pdf.page_images import Box
from ragcore.text.quote_places import quoted_places

_PASSAGE = component("passage", '<div class="root"></div>')
_CITATIONS = component("citations", '<span role="status"></span>')
JUST_ASKED_SECONDS = 20.0


def calls_address(message: Message) -> str:
    """The link to the calls of an answer; `citation_clicks` handles it."""
    return f"#calls-{message.id}"


def citation_clicks(
    *,
    answering: bool,
    conversation_id: str = "",
    ended: str = "",
    last: str = "",
    reveal: str = "",
    asked: float = 0.0,
) -> None:
    """Makes a click on a citation open its passage and a click on a line of facts its calls. Escape closes
    the panel.

    `last`: the id of the last message. The question box gets the focus when it changes and no answer is
    running. `reveal`: the id of the last question. The page scrolls to it when it changes, and when it opens
    just after it was `asked`. `ended`: the announcement for screen readers when the answer in the
    conversation has ended.
    """
    state, announcement = session(), _("Your question is being answered.") if answering else ended
    answers, drawn = state.answers, time.time()
    if answering:
        answers.awaited = conversation_id
    elif conversation_id and conversation_id == answers.awaited:
        answers.awaited, answers.ended = "", drawn
    with st.container(key="citations"):
        data = {
            "open": state.panel,
            "answering": answering,
            "of": conversation_id,
            "last": last,
            "reveal": reveal,
        }
        data |= {"fresh": drawn - asked < JUST_ASKED_SECONDS}
        data |= {"announcement": announcement, "ended": answers.ended, "drawn": drawn}
        _CITATIONS(key="citation_clicks", data=data, on_open_change=_open)


def _open() -> None:
    if request := event("citation_clicks", "open"):
        session().panel = str(request.get("panel", ""))[:80]


def _turn() -> None:
    if page := event("passage", "page"):
        session().turned = (session().panel, int(page.get("index", 0)), str(page.get("label", "")))


def passage(
    source: Source,
    *,
    answer: str = "",
    recorded: bool = False,
    around: int = SURROUNDING_CHARS,
    page_index: int | None = None,
    question: str | None = None,
) -> None:
    """Draws a passage and highlights its quoted parts. `page_index`: the visible page, if not that of the
    passage. `question`: of the answer that cites it; rows of a sheet are then a table with the columns that
    it asks for first.

    `recorded`: the passage is from a recording of the sample, and may not be in this library.
    """
    library, quoted = resources.library(), quoted_places(answer, source.number, source.text)
    try:
        view = view_source(library, source, quoted, around=around)
    except RagError as error:
        if recorded:
            st.markdown(
                _(
                    "This is how the passage read when the answer was recorded. Add the sample "
                    "documents to see its page."
                )
            )
        else:
            st.markdown(
                f"**{label(translate(error.what))}**  \n{label(translate(error.hint))}"
                if isinstance(error, InputError)
                else label(translate(error.what))
            )
        marked = _pieces(source.text, quoted)
        _PASSAGE(
            key="passage",
            data={"kind": "text", "before": "", "marked": marked, "after": "", "words": _words()},
        )
        return
    data: dict[str, object] = {"kind": view.kind, "name": view.file_name, "words": _words()}
    if view.kind == "page":
        file = library.files.get(view.file_id)
        data |= {
            "address": page_address(view.file_id, file.hash if file else ""),
            "labels": view.all_labels,
            "index": view.page_index,
            "opens": view.opens,
            "at": page_index,
            "tells": bool(session().panel),
            "count": view.page_count,
            "boxes": _rectangles(view.boxes),
            "quoted": _rectangles(view.quoted_boxes),
            "unmarked": "" if any(view.boxes) else source.text,
        }
    elif view.cards and (view.layout != "sheet" or question is not None):
        data |= {"kind": "cards", "cards": cards_data(view, question)}
    else:
        data |= {"before": view.before, "marked": _pieces(view.marked, view.quoted), "after": view.after}
    _PASSAGE(key="passage", data=data, on_page_change=_turn)


def _rectangles(pages: Sequence[Sequence[Box]]) -> list[list[list[float]]]:
    return [[[box.x0, box.top, box.width, box.height] for box in boxes] for boxes in pages]


def _pieces(text: str, quoted: Sequence[tuple[int, int]]) -> list[tuple[str, bool]]:
    """The text in pieces, each with whether it is quoted."""
    edges = [0, *sorted({edge for span in quoted for edge in span}), len(text)]
    return [
        (text[start:end], any(first <= start < last for first, last in quoted))
        for start, end in pairwise(edges)
        if end > start
    ]


def _words() -> dict[str, str]:
    return {
        "at": _("Page {label} of {number}"),
        "continues": _("Continues on page {label}"),
        "broken": _("This page could not be shown."),
        "zoom_in": _("Zoom in"),
        "zoom_out": _("Zoom out"),
        "go_to": _("Go to page"),
        "previous": _("Previous page"),
        "next": _("Next page"),
        "back": _("Back to the passage"),
        "quoted": _("Quoted in the answer"),
        "rest": _("Rest of the passage"),
        "unmarked": _(
            "The passage is not marked on this page, because the position of its words is unknown, as "
            "in a scan."
        ),
        "read": _("Text read from this page"),
        "slide": _("Slide {label}"),
        "Notes": _("Speaker notes"),
        "Comment": _("Comment"),
        "columns": _("{shown} of {all} columns. The whole sheet has the others."),
    }
