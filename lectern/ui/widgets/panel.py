"""The side panel: a cited passage, or an analysis of an answer. On a phone it covers the screen. The session
and the address of the page contain its kind, message and number, so that a reload shows the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from html import escape as escape_html

import streamlit as st

from lectern.explain.cited_table import find_cited_table
from lectern.schema import Message, Source
from lectern.ui import labels, resources
from lectern.ui.i18n import _
from lectern.ui.navigation import open_document
from lectern.ui.safetext import breakable, label
from lectern.ui.state import Cited, session
from lectern.ui.widgets.call_graph import draw_call_graph
from lectern.ui.widgets.differences import DIFFERENCES, differences, differences_title
from lectern.ui.widgets.missed_passages import draw_missed_passages, missed_passages_title
from lectern.ui.widgets.notes import keep_quote
from lectern.ui.widgets.passage import passage
from lectern.ui.widgets.read_everything import draw_offer_panel, reading_title
from lectern.ui.widgets.sentence_support import draw_sentences, find_evidence, sentences_title
from lectern.ui.widgets.table_grid import choose_view, table_grid


@dataclass(frozen=True, slots=True)
class Opened:
    """The content of the panel. `number` is the number of the passage, sentence or call, if the kind has
    one."""

    kind: str
    message: Message
    number: int = 0

    @property
    def source(self) -> Source | None:
        return next((source for source in self.message.sources if source.number == self.number), None)


@dataclass(frozen=True, slots=True)
class Panel:
    """`title` is plain text, or "" if the content does not exist; `draw` fills the panel; `source` is the
    passage in it."""

    title: Callable[[Opened], str]
    draw: Callable[[Opened], None]
    source: Callable[[Opened], Source | None] = lambda opened: None


def show_panel(kind: str, message: Message) -> None:
    session().panel = f"{kind}.{message.id}"


def opened_panel(conversation_id: str | None) -> Opened | None:
    kind, _dot, rest = session().panel.partition(".")
    message_id, _dot, number = rest.partition(".")
    if kind not in PANELS or conversation_id is None:
        return None
    if session().turned[0] != session().panel:
        session().turned = ("", 0, "")
    message = resources.library().conversations.message(message_id)
    if message is None or message.conversation_id != conversation_id:
        return None
    opened = Opened(kind, message, int(number) if re.fullmatch(r"[0-9]{1,9}", number) else 0)
    return opened if PANELS[kind].title(opened) else None


def side_panel(opened: Opened) -> None:
    panel = PANELS[opened.kind]
    with _frame(panel.title(opened), panel.source(opened), opened.message):
        panel.draw(opened)


def source_panel(source: Source, text: str) -> None:
    """The panel for a passage of a note; `text` is the note's."""
    with _frame(_source_title(source), source):
        passage(source, answer=text, question="")


@contextmanager
def _frame(title: str, source: Source | None = None, message: Message | None = None) -> Iterator[None]:
    """`source` is the passage in the panel, `message` the answer to keep it from."""
    place = escape_html(_visible_place(source)) if source else ""
    with st.container(key="panel"):
        with st.container(key="panel_head", horizontal=True, vertical_alignment="center", gap="small"):
            whole = escape_html(title) + (place and f" · {place}")
            shown = breakable(title)
            if source is not None:
                start, end = map(escape_html, labels.name_parts(title))
                shown = f"<i>{start}</i><i>{end}</i>"
            # with the focus, which a touch gives, all of it is shown
            st.html(f'<b title="{whole}" tabindex="0">{shown}</b>' + (place and f"<span>{place}</span>"))
            if source is not None and message is not None:
                icon, quote = ":material/bookmark_add:", (source, message.text)
                st.button(
                    _("Keep as a note"),
                    key="keep_quote",
                    icon=icon,
                    type="tertiary",
                    on_click=keep_quote,
                    args=quote,
                )
                if resources.library().files.get(source.file_id):
                    icon, place_of = ":material/open_in_full:", (source.file_id, _cited(source, message))
                    st.button(
                        _("Open"),
                        key="open_document",
                        icon=icon,
                        type="tertiary",
                        on_click=open_document,
                        args=place_of,
                    )
            st.button(
                _("Close"), key="close_panel", icon=":material/close:", type="tertiary", on_click=_close
            )
        yield


def _visible_place(source: Source) -> str:
    """The page of the passage, or the one that a person has turned to."""
    panel, _index, turned_to = session().turned
    return labels.keep_last_word(labels.part(source.page_word, turned_to) if panel else labels.page(source))


def _cited(source: Source, message: Message) -> Cited:
    panel, page_index, _label = session().turned
    conversation = message.conversation_id if session().address.page == "chat" else ""
    return Cited(source, message.text, page_index if panel else None, conversation, session().panel)


def _close() -> None:
    session().panel = ""


def _source_title(source: Source | None, numbers: Mapping[int, int] | None = None) -> str:
    if source is None:
        return ""
    number = (numbers or {}).get(source.number, source.number)
    return f"{number} · {source.file_name}"


def _source(source: Source | None, message: Message, answer: str = "") -> None:
    """The passage in its document, or the table that it is from, if rows of it are quoted."""
    if source is None:
        return
    recorded = message.facts is not None and message.facts.recorded is not None
    cited = None if recorded else find_cited_table(resources.library(), source, message)
    if cited is not None:
        text = _("Page") if source.page_word == "page" and source.page_label else _("Text")
        view = choose_view(cited, text, key=f"view_{session().panel}")
        if view != "text":
            rows = cited.marked if view == "answer" else range(len(cited.table.rows))
            name = labels.place(replace(source, page_label=cited.page_label))
            key = f"cited_{message.id}_{source.number}"
            table_grid(cited.table, name, rows, key=key, marked=cited.marked)
            return
    passage(source, answer=answer, recorded=recorded, question=message.standalone_question)


def _evidence(opened: Opened) -> Source | None:
    return find_evidence(opened.message, opened.number)


def _calls_title(opened: Opened) -> str:
    return _("How this answer was made") if opened.message.facts is not None else ""


def _calls(opened: Opened) -> None:
    """The calls of the answer, below its facts and the search text if that differs from the question."""
    if (facts := opened.message.facts) is not None:
        lines = [label(labels.answer_facts(facts))]
        if searched := facts.meant or facts.condensed:
            lines.append(_("Searched for: {question}").format(question=label(labels.excerpt(searched))))
        with st.container(key="panel_facts"):
            st.caption("  \n".join(lines))
    draw_call_graph(opened.message, opened.number)


PANELS: Mapping[str, Panel] = {
    DIFFERENCES: Panel(differences_title, differences),
    "passage": Panel(
        lambda opened: _source_title(opened.source, opened.message.shown_numbers),
        lambda opened: _source(opened.source, opened.message, opened.message.text),
        lambda opened: opened.source,
    ),
    "evidence": Panel(
        lambda opened: _source_title(_evidence(opened), opened.message.shown_numbers),
        lambda opened: _source(_evidence(opened), opened.message),
        lambda opened: _evidence(opened),
    ),
    "why": Panel(
        lambda opened: missed_passages_title(opened.message),
        lambda opened: draw_missed_passages(opened.message, opened.number),
    ),
    "check": Panel(
        lambda opened: sentences_title(opened.message), lambda opened: draw_sentences(opened.message)
    ),
    "calls": Panel(_calls_title, _calls),
    "everything": Panel(reading_title, draw_offer_panel),
    "each_file": Panel(reading_title, draw_offer_panel),
}
