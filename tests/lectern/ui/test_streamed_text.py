"""A line says what an answer without words is waiting for."""

from __future__ import annotations

import pytest

from lectern.runs.call_in_flight import CallInFlight
from lectern.ui.widgets.streamed_text import call_words
from ragcore.llms.call_stages import CallStage


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (None, ""),
        (CallInFlight(CallStage.READING, 1340), "Reading 1,340 tokens"),
        (CallInFlight(CallStage.READING, 1340, 21.4), "Reading 1,340 tokens, about 20\N{NO-BREAK SPACE}s"),
        (CallInFlight(CallStage.READING, 1, 0.0), "Reading 1 token, a few seconds"),
        (CallInFlight(CallStage.LOADING, 1340), "Loading the language model…"),
        (CallInFlight(CallStage.WAITING, 1340), "Waiting for another answer to finish"),
        (CallInFlight(CallStage.WRITING, 1340), "The language model is writing…"),
    ],
)
def test_a_call_is_described_in_words(call: CallInFlight | None, words: str) -> None:
    assert call_words(call) == words
