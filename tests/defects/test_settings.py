"""What goes wrong with choices made for a whole script elsewhere, and does not here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ragcore.response_synthesizers import get_response_synthesizer
from ragcore.settings import Settings
from tests.ragcore.response_synthesizers.doubles import nodes, word_llm

PASSAGES = nodes(*(f"passage{number} " * 60 for number in range(10)))


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = Settings.llm
    yield
    Settings.llm = before


def test_d26_model_chosen_later_uses_its_own_window() -> None:
    calls = []
    for window in (400, 100_000, 400):
        Settings.llm = llm = word_llm(lambda call: "Yes.", window)
        get_response_synthesizer().synthesize("why?", PASSAGES)
        sent = [sum(llm.count_tokens(message.content) for message in call.messages) for call in llm.calls]
        assert max(sent) <= window - 40
        calls.append(len(sent))
    assert calls[0] == calls[2] > calls[1] == 1
