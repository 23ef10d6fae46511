"""Several answers to one question in columns, streamed at the same time, with their mode, cost and
sources."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn

import streamlit as st

from lectern.runs.answer_runs import Run
from lectern.schema import AnswerFacts, Message
from lectern.ui import labels, resources
from lectern.ui.i18n import _, ngettext
from lectern.ui.live_fragments import answer_placeholder
from lectern.ui.safetext import label
from lectern.ui.state import allow_interruption
from lectern.ui.widgets.answer import POLL_SECONDS, answer, answer_without_text
from lectern.ui.widgets.call_graph import describe_calls
from lectern.ui.widgets.differences import mode_label, pin_button
from lectern.ui.widgets.passage import calls_address
from lectern.ui.widgets.reading_progress import move_reading_bar
from lectern.ui.widgets.source_links import source_address
from lectern.ui.widgets.streamed_text import StreamedText, waiting_words, waits_for
from lectern.ui.widgets.thumbs import verdict_line

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

POLL_COLUMNS_SECONDS = 0.1  # between two checks of all streamed answers


class AnswerColumn:
    """A column with a streamed answer."""

    def __init__(self, message: Message, run: Run | None, place: DeltaGenerator) -> None:
        self._message = message
        self._run = run
        self._text = StreamedText(place)
        self._drawn_chars = 0
        self._polled = 0.0

    @property
    def passages_known(self) -> bool:
        return self._run is not None and bool(self._run.sources)

    def update(self) -> bool:
        """Draws new text. Returns False when the answer is finished."""
        if self._run is None:
            return self._update_from_library()
        finished, text = self._run.is_finished, self._run.text
        if not finished:
            links = {source.number: source_address(self._message.id, source) for source in self._run.sources}
            self._draw(text, links, waits_for(self._run))
        return not finished

    def _draw(self, text: str, links: Mapping[int, str], step: str = "") -> None:
        self._text.add(text[self._drawn_chars :], links, step)
        self._drawn_chars = len(text)

    def _update_from_library(self) -> bool:
        if time.monotonic() - self._polled < POLL_SECONDS:
            return True
        self._polled = time.monotonic()
        message = resources.library().conversations.message(self._message.id)
        if message is None or message.state != "writing":
            return False
        self._draw(
            message.text, {source.number: source_address(message.id, source) for source in message.sources}
        )
        return True


def draw_columns(answers: list[Message], runs: Sequence[Run]) -> list[AnswerColumn]:
    """Draws the answers side by side. Returns the columns with unfinished answers."""
    running = {run.message_id: run for run in runs}
    unfinished: list[AnswerColumn] = []
    with st.container(key="compare", horizontal=True, wrap=False):
        # Create all columns first: their number determines their width.
        places = [st.container(key=f"column_{message.id}", border=True, gap="xsmall") for message in answers]
    for message, place in zip(answers, places, strict=True):
        with place:
            _head(message, answers)
            if message.state == "writing":
                unfinished.append(AnswerColumn(message, running.get(message.id), answer_placeholder()))
            else:
                _difference(message, answers)
                _draw_finished(message)
    return unfinished


def stream_columns(unfinished: list[AnswerColumn], *, passages_known: bool) -> NoReturn:
    """Draws all columns until one is finished or the first passages are known, then reruns the page."""
    moved = time.monotonic()
    while True:
        # all of them, even after one has finished
        still_unfinished = [column.update() for column in unfinished]
        if not all(still_unfinished) or (
            not passages_known and any(column.passages_known for column in unfinished)
        ):
            st.rerun()
        allow_interruption()
        if time.monotonic() - moved > 1.0:
            moved = time.monotonic()
            move_reading_bar()
        time.sleep(POLL_COLUMNS_SECONDS)


def common_line(question: Message, answers: Sequence[Message]) -> None:
    """What all answers share: their passages, and the model once one is finished."""
    count = len(question.sources)
    parts = []
    if count:
        parts.append(
            ngettext("All from the same passage", "All from the same {number} passages", count).format(
                number=count
            )
        )
    facts = next((message.facts for message in answers if message.facts is not None), None)
    if facts is not None:
        parts += labels.writer_name(facts)
    with st.container(key="compare_common"):
        st.caption(label(" · ".join(parts)) or f":shimmer[{waiting_words()}]")


def stop_all(answers: Sequence[Message]) -> None:
    for message in answers:
        _stop(message.id)


def _head(message: Message, answers: list[Message]) -> None:
    with st.container(key=f"head_{message.id}", horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"**{label(mode_label(message))}**")
        if message.state == "writing":
            st.button(
                _("Stop"),
                key=f"stop_{message.id}",
                type="tertiary",
                icon=":material/stop:",
                on_click=_stop,
                args=(message.id,),
            )
        elif message.text and not _only_passages(message):
            pin_button(message, answers)
        else:
            st.empty()  # replaces Stop, which would stay, faded, while other columns grow
    if message.facts is not None:
        with st.container(key=f"cost_{message.id}"):
            st.caption(f"[{label(_cost(message.facts))}]({calls_address(message)})")


def _difference(message: Message, answers: Sequence[Message]) -> None:
    """What this mode did, and which earlier answer is the same."""
    sentences = [describe_calls(message)]
    before = answers[: answers.index(message)]
    if same := next(
        (one for one in before if message.text and one.text.split() == message.text.split()), None
    ):
        sentences.append(_("The same answer as {mode}.").format(mode=mode_label(same)))
    if any(sentences):
        with st.container(key=f"did_{message.id}"):
            st.caption(label(" ".join(filter(None, sentences))))


def _draw_finished(message: Message) -> None:
    if _only_passages(message) and message.state == "done":
        st.markdown(_("The passages are listed below."))
        answer_without_text(message)
        return
    answer(message, last=True, alone=False)
    verdict_line(message)
    gone = len(message.ask.node_ids or ()) - len(message.sources) if message.ask else 0
    if gone > 0 and message.state == "done":
        text = ngettext(
            "{number} of the passages had been deleted when this was answered.",
            "{number} of the passages had been deleted when this was answered.",
            gone,
        )
        st.caption(text.format(number=gone))


def _cost(facts: AnswerFacts) -> str:
    """ "6 calls · 2,310 tokens · 1.8 s" """
    return " · ".join([*labels.recording_note(facts), *labels.cost_facts(facts)])


def _only_passages(message: Message) -> bool:
    return message.ask is not None and not message.ask.writes


def _stop(message_id: str) -> None:
    resources.current_index().runs.stop(message_id)
