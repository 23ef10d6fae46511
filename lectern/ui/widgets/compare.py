"""Several answers to one question in columns that grow at the same time, with their mode, cost and sources."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn

import streamlit as st

from lectern.runs.answer_runs import Run
from lectern.schema import AnswerFacts, Message
from lectern.ui import labels, resources
from lectern.ui.i18n import _, ngettext
from lectern.ui.live_fragments import growing_place
from lectern.ui.safetext import label
from lectern.ui.state import interruptible
from lectern.ui.widgets.answer import LOOK_SECONDS, answer, passages_alone
from lectern.ui.widgets.call_graph import what_happened
from lectern.ui.widgets.differences import pin_button, way
from lectern.ui.widgets.growing import GrowingText, waiting_words, waits_for
from lectern.ui.widgets.passage import address, calls_address
from lectern.ui.widgets.reading import move_reading_bar
from lectern.ui.widgets.thumbs import verdict_line

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

ROUND_SECONDS = 0.1  # between two checks of all growing answers


class Growing:
    def __init__(self, message: Message, run: Run | None, place: DeltaGenerator) -> None:
        self._message = message
        self._run = run
        self._text = GrowingText(place)
        self._taken = 0  # characters of the answer so far
        self._looked = 0.0

    @property
    def passages_known(self) -> bool:
        return self._run is not None and bool(self._run.sources)

    def look(self) -> bool:
        """Draws new text. Returns False when the answer is finished."""
        if self._run is None:
            return self._look_elsewhere()
        finished, text = self._run.finished, self._run.text
        if not finished:
            links = {source.number: address(self._message, source) for source in self._run.sources}
            self._take(text, links, waits_for(self._run))
        return not finished

    def _take(self, text: str, links: Mapping[int, str], step: str = "") -> None:
        self._text.add(text[self._taken :], links, step)
        self._taken = len(text)

    def _look_elsewhere(self) -> bool:
        if time.monotonic() - self._looked < LOOK_SECONDS:
            return True
        self._looked = time.monotonic()
        noted = resources.library().conversations.message(self._message.id)
        if noted is None or noted.state != "writing":
            return False
        self._take(noted.text, {source.number: address(noted, source) for source in noted.sources})
        return True


def columns(answers: list[Message], runs: Sequence[Run]) -> list[Growing]:
    """Draws the answers side by side. Returns those that are still growing."""
    running = {run.message_id: run for run in runs}
    growing: list[Growing] = []
    with st.container(key="compare", horizontal=True, wrap=False):
        # Create all columns first: their number determines their width.
        places = [st.container(key=f"column_{message.id}", border=True, gap="xsmall") for message in answers]
    for message, place in zip(answers, places, strict=True):
        with place:
            _head(message, answers)
            if message.state == "writing":
                growing.append(Growing(message, running.get(message.id), growing_place()))
            else:
                _difference(message, answers)
                _draw_finished(message)
    return growing


def follow(growing: list[Growing], *, passages_known: bool) -> NoReturn:
    """Draws all columns until one is finished or the first passages are known, then reruns the page."""
    moved = time.monotonic()
    while True:
        going = [one.look() for one in growing]  # look at every column, even after one has finished
        if not all(going) or (not passages_known and any(one.passages_known for one in growing)):
            st.rerun()
        interruptible()
        if time.monotonic() - moved > 1.0:
            moved = time.monotonic()
            move_reading_bar()
        time.sleep(ROUND_SECONDS)


def common_line(question: Message, answers: Sequence[Message]) -> None:
    """What all answers share: their passages, and the model once one is finished."""
    count = len(question.sources)
    parts = []
    if count:
        parts.append(ngettext("All from the same passage", "All from the same {number} passages", count).format(number=count))
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
        st.markdown(f"**{label(way(message))}**")
        if message.state == "writing":
            st.button(
                _("Stop"), key=f"stop_{message.id}", type="tertiary", icon=":material/stop:", on_click=_stop, args=(message.id,)
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
    sentences = [what_happened(message)]
    before = answers[: answers.index(message)]
    if same := next((one for one in before if message.text and one.text.split() == message.text.split()), None):
        sentences.append(_("The same answer as {mode}.").format(mode=way(same)))
    if any(sentences):
        with st.container(key=f"did_{message.id}"):
            st.caption(label(" ".join(filter(None, sentences))))


def _draw_finished(message: Message) -> None:
    if _only_passages(message) and message.state == "done":
        st.markdown(_("The passages are listed below."))
        passages_alone(message)
        return
    answer(message, last=True)
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
    return message.ask is not None and message.ask.response_mode == "no_text"


def _stop(message_id: str) -> None:
    resources.current_index().runs.stop(message_id)
