"""Handlers hear of the stages; kinds, order and numbers of events are those that llama-index-core 0.14.25
tells of the same.

Theirs has two kinds more, of chunking and of templates, which are left out here.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from ragcore import PromptTemplate, Settings, TextNode, VectorStoreIndex
from ragcore.callbacks import (
    BASE_TRACE_EVENT,
    BaseCallbackHandler,
    CallbackManager,
    CBEvent,
    CBEventType,
    EventStats,
    LlamaDebugHandler,
    Payload,
    TokenCountingEvent,
    TokenCountingHandler,
    TraceMap,
)
from ragcore.embeddings import MockEmbedding
from ragcore.errors import LLMServerError
from ragcore.llms import MockLLM
from ragcore.llms.base import Generation, Usage
from ragcore.llms.scripted import ScriptedLLM
from ragcore.observe import span

COMPACT = [
    "query",
    "retrieve",
    "embedding",
    "embedding",
    "retrieve",
    "synthesize",
    "llm",
    "llm",
    "synthesize",
    "query",
]
REFINE = [*COMPACT[:8], "llm", "llm", *COMPACT[8:]]
TEXTS = [TextNode("herons fish", "a"), TextNode("owls hunt mice", "b")]


@pytest.fixture(autouse=True)
def _settings_as_they_were() -> Iterator[None]:
    yield
    Settings.callback_manager = None


def heard(*handlers: BaseCallbackHandler) -> None:
    Settings.callback_manager = CallbackManager(handlers)


def ask_index(mode: str) -> None:
    index = VectorStoreIndex(TEXTS, embed_model=MockEmbedding(4), llm=MockLLM(max_tokens=3))
    index.as_query_engine(similarity_top_k=2, response_mode=mode).query("who fishes")


@pytest.mark.parametrize(("mode", "kinds"), [("compact", COMPACT), ("refine", REFINE)])
def test_a_question_sends_its_events_in_order(mode: str, kinds: list[str]) -> None:
    debug = LlamaDebugHandler(print_trace_on_end=False)
    heard(debug)
    ask_index(mode)
    told = [event.event_type.value for event in debug.get_events() if isinstance(event, CBEvent)]
    assert told[told.index("query") :] == kinds
    calls = kinds.count("llm") // 2
    assert [len(pair) for pair in debug.get_llm_inputs_outputs()] == [2] * calls
    assert debug.get_llm_inputs_outputs()[0][1].payload["reply"] == "text text text"
    stats = debug.get_event_time_info(CBEventType.LLM)
    assert stats == EventStats(stats.total_secs, stats.total_secs / calls, calls)
    assert 0 < stats.total_secs < debug.get_event_time_info(CBEventType.QUERY).total_secs
    assert (
        debug.get_event_time_info(CBEventType.TREE).total_secs
        == debug.get_event_time_info(CBEventType.TREE).average_secs
        == 0
    )
    debug.flush_event_logs()
    assert not debug.get_events()
    assert not debug.get_event_pairs()


def test_tokens_are_counted_until_they_are_reset() -> None:
    counter = TokenCountingHandler(tokenizer=str.split)
    heard(counter)
    llm, template = MockLLM(max_tokens=3), PromptTemplate("of {context_str} say {query_str}")
    llm.predict(template, context_str="herons fish\n\nowls hunt mice", query_str="who fishes")
    (call,) = counter.llm_token_counts
    asked_for = "of herons fish\n\nowls hunt mice say who fishes"
    assert call == TokenCountingEvent(asked_for, "text text text", 9, 3, call.event_id)
    assert call.total_token_count == 12
    llm.predict(PromptTemplate("one two"))
    assert (
        counter.prompt_llm_token_count,
        counter.completion_llm_token_count,
        counter.total_llm_token_count,
    ) == (11, 6, 17)
    counter.reset_counts()
    assert counter.total_llm_token_count == 0


def test_a_verbose_counter_logs_each_count(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "ragcore.callbacks")
    for verbose in (False, True):
        heard(TokenCountingHandler(tokenizer=str.split, verbose=verbose))
    MockLLM(max_tokens=3).predict(PromptTemplate("one two"))
    assert caplog.messages == ["2 tokens in, 3 out"]


def test_token_counts_match_the_trace_and_prefer_the_server_s() -> None:
    counter = TokenCountingHandler()
    heard(counter)
    with span("all") as trace:
        ask_index("refine")
    total = trace.total_tokens()
    assert (counter.prompt_llm_token_count, counter.completion_llm_token_count) == (
        total.prompt,
        total.completion,
    )
    assert counter.total_embedding_token_count == total.embedding > 0
    counted = TokenCountingHandler(tokenizer=str.split)
    heard(counted)
    ScriptedLLM([Generation("so", Usage(70, 7))]).complete("one two")
    assert counted.total_llm_token_count == 77


class Noting(BaseCallbackHandler):
    def __init__(self, *ignored: CBEventType) -> None:
        super().__init__(event_starts_to_ignore=ignored, event_ends_to_ignore=ignored[:1])
        self.notes: list[str] = []
        self.parents: dict[str, str] = {}
        self.maps: list[TraceMap] = []

    def on_event_start(
        self, event_type: CBEventType, payload: Payload, event_id: str, parent_id: str
    ) -> None:
        self.notes.append(f"{event_type.value} {payload.get('question', '')}".strip())
        self.parents[event_id] = parent_id

    def on_event_end(self, event_type: CBEventType, payload: Payload, event_id: str) -> None:
        self.notes.append(f"end of {event_type.value}")

    def start_trace(self, trace_id: str) -> None:
        self.notes.append(f"<{trace_id}>")

    def end_trace(self, trace_id: str, trace_map: TraceMap) -> None:
        self.notes.append(f"</{trace_id}>")
        self.maps.append(trace_map)


def test_custom_handler_gets_traces_and_events_not_ignored() -> None:
    noting = Noting(CBEventType.LLM, CBEventType.SYNTHESIZE)
    heard(noting)
    with Settings.callback_manager.as_trace("mine"):
        ask_index("compact")
    inside = noting.notes[noting.notes.index("query who fishes") :]
    assert inside == [
        *("query who fishes", "retrieve who fishes", "embedding", "end of embedding", "end of retrieve"),
        *("end of synthesize", "end of query", "</mine>"),
    ]
    assert noting.notes[0] == "<mine>"
    (told,) = noting.maps
    for id_, parent in noting.parents.items():
        assert id_ in told[parent]
    assert len(told[BASE_TRACE_EVENT]) == 3  # the index's split and vectors, the question


def test_failures_end_too_and_those_of_handlers_are_logged_alone(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Noting):
        def on_event_start(
            self, event_type: CBEventType, payload: Payload, event_id: str, parent_id: str
        ) -> None:
            raise ValueError("broken")

    counter, noting = TokenCountingHandler(), Noting()
    heard(Broken(), counter, noting)
    with pytest.raises(LLMServerError):
        ScriptedLLM([LLMServerError("down")]).complete("hello")
    assert noting.notes == ["<llm>", "llm", "end of llm", "</llm>"]
    assert counter.llm_token_counts == []
    assert "a callback handler failed" in caplog.text


def test_a_trace_is_logged_when_it_ends(caplog: pytest.LogCaptureFixture) -> None:
    heard(LlamaDebugHandler())
    with caplog.at_level(logging.INFO, "ragcore.callbacks"):
        ask_index("compact")
    lines = caplog.messages[-1].splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "trace query",
        "query",
        "  retrieve",
        "    embedding",
        "  synthesize",
        "    llm",
    ]


def test_one_manager_hears_at_a_time_and_handlers_come_and_go() -> None:
    first, second = Noting(), Noting()
    heard(first)
    Settings.callback_manager.add_handler(second)
    MockLLM().complete("hello")  # what a script asks of a completion model itself is in no trace
    ScriptedLLM(["so"]).complete("hello")
    assert first.notes == second.notes == ["<llm>", "llm", "end of llm", "</llm>"]
    Settings.callback_manager.remove_handler(first)
    ScriptedLLM(["so"]).complete("hello")
    assert (len(first.notes), len(second.notes)) == (4, 8)
    Settings.callback_manager = CallbackManager()
    ScriptedLLM(["so"]).complete("hello")
    assert len(second.notes) == 8
    assert Settings.callback_manager.handlers == []
