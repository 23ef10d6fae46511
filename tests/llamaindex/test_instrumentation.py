"""The events of LlamaIndex that calls of a model are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("llama_index_instrumentation")

from ragcore.llamaindex.instrumentation.event_handlers import BaseEventHandler
from ragcore.llamaindex.instrumentation.events.llm import LLMPredictEndEvent

from ragcore.llamaindex.instrumentation import get_dispatcher
from ragcore.llms import ScriptedLLM
from ragcore.prompts import PromptTemplate
from ragcore.schema import ChatMessage


class Recorder(BaseEventHandler):
    events: list[Any]

    def handle(self, event: Any, **kwargs: Any) -> None:
        self.events.append(event)


@contextmanager
def recorded() -> Iterator[list[Any]]:
    recorder, dispatcher = Recorder(events=[]), get_dispatcher()
    dispatcher.add_event_handler(recorder)
    try:
        yield recorder.events
    finally:
        dispatcher.event_handlers.remove(recorder)


def names(events: list[Any]) -> list[str]:
    return [type(event).__name__.removesuffix("Event") for event in events]


def test_the_method_that_calls_a_model_names_its_events() -> None:
    llm = ScriptedLLM(["One.", "Two.", "Three."])
    with recorded() as events:
        llm.chat([ChatMessage("user", "Hello")])
        llm.complete("Hello")
    assert names(events) == ["LLMChatStart", "LLMChatEnd", "LLMCompletionStart", "LLMCompletionEnd"]
    with recorded() as events:
        llm.predict(PromptTemplate("Who wrote {book}?"), book="Emma")
    assert names(events) == ["LLMPredictStart", "LLMChatStart", "LLMChatEnd", "LLMPredictEnd"]
    assert isinstance(events[-1], LLMPredictEndEvent)
    assert events[-1].reply == "Three."  # type: ignore[attr-defined]
