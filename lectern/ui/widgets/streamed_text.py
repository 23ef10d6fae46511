"""Text that is drawn while it is written. A complete paragraph is sent to the browser only once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lectern.runs.answer_runs import Run
from lectern.runs.call_in_flight import CallInFlight
from lectern.ui import labels, resources
from lectern.ui.i18n import _, numeral
from lectern.ui.safetext import answer_md
from lectern.ui.widgets.answer_rows import rows_as_tables
from ragcore.llms.call_stages import CallStage

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator


class StreamedText:
    """Draws at the end of `place`: what the answer waits for, then its text."""

    def __init__(self, place: DeltaGenerator) -> None:
        self._place = place
        self._slot = place.empty()
        self._tail = ""  # the paragraph that still grows
        self._begun = False
        self._waiting = ""
        self.add("", {})

    def add(
        self,
        piece: str,
        links: Mapping[int, str],
        step: str = "",
        numbers: Mapping[int, int] | None = None,
        *,
        rows_for: str | None = None,
    ) -> None:
        """`links` and `numbers` are those of `answer_md`. `step` is the progress of an answer without text
        yet. `rows_for`: the question of an answer that quotes; rows of tables are drawn as tables."""
        self._begun |= bool(piece)
        if not self._begun:
            waiting = step or waiting_words()
            if waiting != self._waiting:
                self._waiting = waiting
                self._slot.markdown(f":shimmer[{waiting}]")
            return
        self._tail += piece
        while "\n\n" in self._tail and self._tail.split("\n\n", 1)[0].count("```") % 2 == 0:
            done, self._tail = self._tail.split("\n\n", 1)
            self._draw(done, links, numbers, rows_for)
            self._slot = self._place.empty()
        if piece and self._tail:
            self._draw(self._tail, links, numbers, rows_for)

    def _draw(
        self, text: str, links: Mapping[int, str], numbers: Mapping[int, int] | None, rows_for: str | None
    ) -> None:
        if rows_for is not None:
            text = rows_as_tables(text, rows_for)
        self._slot.markdown(answer_md(text, links, numbers=numbers))


def waits_for(run: Run) -> str:
    """What an answer waits for: "Step 2 of 6 · Reading 1,340 tokens, about 10 s"; "" if unknown."""
    return " · ".join(filter(None, [_step_words(run), call_words(run.call)]))


def _step_words(run: Run) -> str:
    progress = run.progress
    if progress is None or progress.of < 2:
        return ""
    current = min(progress.done + 1, progress.of)
    return _("Step {at} of {of}").format(at=numeral(current), of=numeral(progress.of))


def call_words(call: CallInFlight | None) -> str:
    if call is None:
        return ""
    if call.stage is CallStage.READING:
        tokens = labels.count(call.prompt_tokens, "token")
        if call.seconds_left is None:
            return _("Reading {tokens}").format(tokens=tokens)
        return _("Reading {tokens}, {time}").format(tokens=tokens, time=labels.duration(call.seconds_left))
    return {
        CallStage.WAITING: _("Waiting for another answer to finish"),
        CallStage.LOADING: _("Loading the language model…"),
        CallStage.WRITING: _("The language model is writing…"),
    }[call.stage]


def waiting_words() -> str:
    state = resources.library().status().embedder
    return (
        _("Getting ready for the first question…")
        if state in ("idle", "loading")
        else _("Reading your documents…")
    )
