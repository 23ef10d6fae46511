"""The map of all passages: similar ones are close together, colours are files, and the last question's
sources are marked."""

from __future__ import annotations

import time
from collections import Counter
from itertools import chain

import numpy as np
import streamlit as st

from lectern.explain.embedding_map import EmbeddingMap
from lectern.schema import Message
from lectern.ui import labels, resources
from lectern.ui.i18n import _, numeral
from lectern.ui.safetext import label
from lectern.ui.server.map import map_address
from lectern.ui.state import event, widget
from lectern.ui.widgets.component import component
from lectern.ui.widgets.empty_state import empty_state
from lectern.ui.widgets.problem import problem
from lectern.ui.widgets.viewer import view_passage

COLOURS = 10  # files with their own colour
MAX_NEAREST = 8  # passages in the list
MAX_NUMBERED = 20  # hits with a number, on the map and in the list

_MAP = component("passage_map", '<div class="root"></div>')


def passage_map() -> None:
    library, maps = resources.library(), resources.current_index().maps
    if not len(library.store):
        empty_state(_("There are no passages yet."))
        return
    latest = maps.latest()
    if latest is None and maps.share is None and maps.problem is None:
        maps.start()
    drawing = maps.share is not None
    st.fragment(_progress, run_every=1.0 if drawing else None)(drawing)
    if latest is None:
        return
    hits, question = _hits(latest)
    _MAP(
        key="passage_map",
        data={
            "address": map_address(latest),
            "files": _files(latest),
            "hits": hits,
            "numbered": MAX_NUMBERED,
            "words": {
                "canvas": _description(latest),
                "others": _("Other files"),
                "hits": _("Found for “{question}”").format(question=labels.excerpt(question))
                if question
                else "",
                "whole": _("Show all"),
                "closer": _("Zoom in"),
                "farther": _("Zoom out"),
                "places": labels.part_patterns(),
                "gone": _("This passage no longer exists."),
                "lost": _("The map could not be loaded. Reload the page."),
            },
        },
        on_open_change=_open,
    )
    _list(latest, hits, question)


def _description(latest: EmbeddingMap) -> str:
    """The description of the map for screen readers."""
    passages, documents = (
        labels.count(len(latest.ids), "passage"),
        labels.count(len(latest.documents), "document"),
    )
    return _(
        "Map of {passages} from {documents}; passages with a similar meaning are close "
        "together. Arrow keys move the map, plus and minus zoom. The field below finds the "
        "passages closest to a few words, and the buttons name the documents with the most passages."
    ).format(passages=passages, documents=documents)


def _progress(was_drawing: bool) -> None:
    maps = resources.current_index().maps
    share = maps.share
    if (share is not None) != was_drawing:
        st.rerun()
    latest = maps.latest()
    if share is not None:
        st.progress(min(share, 0.99), _("Drawing the map. You can do other things meanwhile."))
    elif maps.problem is not None:
        problem(maps.problem, key="map")
    elif latest is not None and not maps.is_current(latest):
        with st.container(key="map_old", horizontal=True, vertical_alignment="center"):
            age = _age(time.time() - latest.created)
            st.caption(
                _("The documents have changed since this map was drawn, {age}.").format(age=age),
                width="content",
            )
            if st.button(_("Draw it again"), key="draw_map", type="tertiary", icon=":material/refresh:"):
                maps.start()
                st.rerun()


def _age(seconds: float) -> str:
    if seconds < 90:
        return _("a minute ago")
    if seconds < 5400:
        return _("{number} minutes ago").format(number=round(seconds / 60))
    if seconds < 36 * 3600:
        return _("{number} hours ago").format(number=round(seconds / 3600))
    return _("{number} days ago").format(number=round(seconds / 86400))


def _files(latest: EmbeddingMap) -> list[dict[str, object]]:
    counts = Counter(
        dict(enumerate(np.bincount(latest.document_numbers, minlength=len(latest.documents)).tolist()))
    )
    return [
        {"number": number, "name": latest.documents[number][1], "passages": numeral(count)}
        for number, count in counts.most_common(COLOURS)
        if count
    ]


def _hits(latest: EmbeddingMap) -> tuple[list[int], str]:
    """The rows of the last answer's passages, and its question."""
    last = _last_answer()
    if last is None or last.ask is None:
        return [], ""
    rows = [latest.rows[source.node_id] for source in last.sources if source.node_id in latest.rows]
    return rows, last.ask.question if rows else ""


def _last_answer() -> Message | None:
    conversations = resources.library().conversations
    latest = sorted(
        chain(conversations.all("chat")[:1], conversations.all("query")[:1]),
        key=lambda conversation: -conversation.updated,
    )
    answers = (
        message for conversation in latest for message in reversed(conversations.messages(conversation.id))
    )
    return next((message for message in answers if message.sources), None)


def _list(latest: EmbeddingMap, hits: list[int], question: str) -> None:
    """A search field, and the passages closest to its words or those of the last answer."""
    st.text_input(
        _("Passages closest to these words"),
        key="map_words",
        placeholder=_("Type a few words to find the passages closest to them"),
        icon=":material/search:",
    )
    library, typed = resources.library(), str(widget("map_words") or "").strip()
    if typed:
        nodes = [hit.node for hit in library.store.search(library.embedder.embed_query(typed), MAX_NEAREST)]
    elif hits:
        st.caption(_("Found for “{question}”:").format(question=label(labels.excerpt(question))))
        nodes = library.store.nodes([latest.ids[row] for row in hits[:MAX_NUMBERED]])
    else:
        return
    with st.container(key="near_passages", gap="small"):
        for number, node in enumerate(nodes, 1):
            text = " ".join(node.text.split())
            text = text if len(text) <= 90 else f"{text[:90]}…"
            st.button(
                label(f"{number} · {node.metadata.get('file_name', '')}: {text}"),
                key=f"near_{number}",
                type="tertiary",
                on_click=view_passage,
                args=(str(node.ref_doc_id), node.id_),
            )


def _open() -> None:
    row, latest = event("passage_map", "open").get("row"), resources.current_index().maps.latest()
    if latest is None or not isinstance(row, int) or not 0 <= row < len(latest.ids):
        return
    view_passage(latest.documents[latest.document_numbers[row]][0], latest.ids[row])
