"""The text of a document with its passages, one window of text at a time."""

from __future__ import annotations

import streamlit as st

from lectern.explain.passage_view import WINDOW_CHARS, Window, find, window
from lectern.ui import labels, resources
from lectern.ui.i18n import _, numeral
from lectern.ui.safetext import breakable, label
from lectern.ui.state import session, widget
from lectern.ui.widgets.component import component
from lectern.ui.widgets.search_field import search_field
from ragcore.errors import RagError, UnknownDocumentError
from ragcore.schema import TextNode
from ragcore.text.tokens import count_tokens

MAX_NEAREST = 5  # similar passages in the list
CHARS_BEFORE = 600  # of the text before an opened passage

_VIEWER = component("viewer", '<div class="root"></div>')


def view_passage(document_id: str, passage_id: str) -> None:
    nodes = resources.library().store.nodes([passage_id])
    state = session().viewer
    start, end = ((nodes[0].start_char_idx or 0), (nodes[0].end_char_idx or 0)) if nodes else (0, 0)
    is_visible = state.document == document_id and state.start <= start and end <= state.start + WINDOW_CHARS
    state.document, state.passage = document_id, passage_id
    if not is_visible:
        state.start = max(0, start - CHARS_BEFORE)


def close_viewer() -> None:
    session().viewer.document, session().viewer.passage = "", ""


def viewer() -> None:
    """The open document, with the selected passage and its neighbours."""
    state, library = session().viewer, resources.library()
    try:
        view = window(library.store, state.document, state.start)
    except UnknownDocumentError:
        close_viewer()  # only once: the next run has no open document
        st.caption(_("This document no longer exists."))
        return
    file = library.files.get(state.document)
    with st.container(key="viewer_head", horizontal=True, vertical_alignment="center"):
        st.html(f"<b>{breakable(file.name if file else '')}</b>")
        st.button(
            _("Close"), key="close_viewer", icon=":material/close:", type="tertiary", on_click=close_viewer
        )
    _controls(view)
    node = next(iter(library.store.nodes([state.passage])), None) if state.passage else None
    chosen = next((span.number for span in view.spans if span.id == state.passage), 0)
    _VIEWER(
        key="viewer",
        data={
            "segments": [{"text": segment.text, "numbers": segment.numbers} for segment in view.segments],
            "starts": {str(span.number): span.start >= view.start for span in view.spans},
            "chosen": chosen,
            "search": str(widget("viewer_search") or "").strip(),
            "place": f"{state.document} {view.start}",
            "words": {
                "text": _("Document"),
                "passage": _("Passage {number}"),
                "overlap": _("Overlap of passages {numbers}"),
                "gap": _("Not in any passage"),
                "legend_passage": _("A passage; its number marks where it begins"),
                "legend_overlap": _("Overlap of two passages"),
                "legend_gap": _("Not in any passage"),
            },
        },
        on_passage_change=lambda: _choose(view),
    )
    if node is not None:
        _details(node, view)


def _controls(view: Window) -> None:
    first, last = view.start * 100 // max(view.total, 1), view.end * 100 // max(view.total, 1)
    with st.container(key="viewer_controls", horizontal=True, vertical_alignment="center", gap="small"):
        st.button(
            _("Previous"), key="viewer_back", type="tertiary", icon=":material/chevron_left:", on_click=_move,
            args=(view.start - WINDOW_CHARS * 9 // 10,), disabled=view.start == 0,
        )  # fmt: skip
        st.button(
            _("Next"), key="viewer_on", type="tertiary", icon=":material/chevron_right:", on_click=_move,
            args=(view.start + WINDOW_CHARS * 9 // 10,), disabled=view.end == view.total,
        )  # fmt: skip
        facts = [_("{first} to {last}% of the text").format(first=first, last=last)]
        facts += [label(labels.part(view.page_word, view.pages))] if view.pages else []
        st.caption(" · ".join([*facts, labels.count(view.passages, "passage")]), width="content")
        search_field(_("Search in this document"), "viewer_search", width=230, on_change=_search, args=(0,))
        if str(widget("viewer_search") or "").strip():
            st.button(_("Next place"), key="viewer_next", type="tertiary", on_click=_search, args=(1,))


def _move(start: int) -> None:
    session().viewer.start = max(0, start)


def _search(step: int) -> None:
    """A callback that goes to the first match, or to the next one."""
    state, words = session().viewer, str(widget("viewer_search") or "").strip()
    if not words:
        return
    try:
        document = resources.library().store.document(state.document)
    except RagError:
        return  # the screen reports the deleted document
    first = state.match_start + 1 if step else 0
    start = find(document.text, words, first)
    if start is None:
        session().notice = _("“{words}” is not in this document.").format(words=words)
        return
    state.match_start, state.start = start, max(0, start - CHARS_BEFORE)


def _choose(view: Window) -> None:
    number = getattr(widget("viewer"), "passage", None)
    state = session().viewer
    chosen = next((span.id for span in view.spans if span.number == number), "")
    state.passage = "" if chosen == state.passage else chosen


def _details(node: TextNode, view: Window) -> None:
    library = resources.library()
    number = next((span.number for span in view.spans if span.id == node.id_), None)
    with st.container(key="passage_details", border=True):
        facts = [labels.count(count_tokens(node.text), "token")]
        start, end = numeral(node.start_char_idx or 0), numeral(node.end_char_idx or 0)
        facts.append(_("characters {start} to {end}").format(start=start, end=end))
        if node.metadata.get("page_label"):
            page_word = str(node.metadata.get("page_word", "page"))
            facts.append(label(labels.part(page_word, str(node.metadata["page_label"]))))
        title = _("Passage {number}").format(number=number) if number else _("The passage")
        st.markdown(f"**{title}** · {' · '.join(facts)}")
        with st.container(horizontal=True, gap="small"):
            for key, text, id_ in (
                ("before", _("Previous passage"), node.prev_id),
                ("after", _("Next passage"), node.next_id),
            ):
                if id_:
                    st.button(
                        text,
                        key=f"passage_{key}",
                        type="tertiary",
                        on_click=view_passage,
                        args=(str(node.ref_doc_id), id_),
                    )
        if node.embedding is None:
            return
        near = [
            hit for hit in library.store.search(node.embedding, MAX_NEAREST + 1) if hit.node.id_ != node.id_
        ][:MAX_NEAREST]
        if near:
            st.caption(_("Closest in meaning"))
        for place, hit in enumerate(near, 1):
            text = " ".join(hit.node.text.split())[:100]
            st.button(
                label(f"{hit.node.metadata.get('file_name', '')}: {text}…"),
                key=f"like_{place}",
                type="tertiary",
                on_click=view_passage,
                args=(str(hit.node.ref_doc_id), hit.node.id_),
            )
