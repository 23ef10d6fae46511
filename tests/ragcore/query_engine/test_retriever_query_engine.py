from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest
from pydantic import BaseModel

from ragcore.errors import LLMServerError, QuestionError
from ragcore.llms.base import LLMCall
from ragcore.observe import span
from ragcore.prompts.templates import PromptTemplate
from ragcore.query_engine.retriever import RetrieverQueryEngine
from ragcore.response_synthesizers.base import NOTHING_FOUND
from ragcore.response_synthesizers.synthesizer import get_response_synthesizer
from ragcore.schema import NodeWithScore, QueryBundle
from tests.ragcore.response_synthesizers.doubles import (
    ListRetriever,
    UnlockedLLM,
    counting,
    nodes,
    shown,
    word_llm,
)

THREE = nodes("one", "two", "three")


class Backwards:
    def postprocess_nodes(
        self, nodes: Sequence[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return list(nodes)[::-1]


class AllButFirst:
    """Looks at the question, as rerankers do."""

    def postprocess_nodes(
        self, nodes: Sequence[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        assert query_bundle is not None
        return list(nodes)[1:] if query_bundle.query_str == "What?" else []


@pytest.mark.smoke
def test_it_retrieves_postprocesses_in_turn_and_synthesizes() -> None:
    llm = word_llm(counting())
    retriever = ListRetriever(THREE)
    engine = RetrieverQueryEngine(retriever, get_response_synthesizer(llm), [Backwards(), AllButFirst()])
    response = engine.query("What?")
    assert str(response) == "A1"
    assert [found.text for found in response.source_nodes] == ["two", "one"]
    assert [p for p in llm.calls[0].messages[-1].content.split() if p in ("one", "two", "three")] == [
        "two",
        "one",
    ]
    assert retriever.asked == ["What?"]


def test_the_trace_has_the_three_stages() -> None:
    engine = RetrieverQueryEngine.from_args(
        ListRetriever(THREE), word_llm(counting()), node_postprocessors=[AllButFirst()]
    )
    trace = engine.query(QueryBundle("What?")).trace
    assert trace is not None
    assert [step.name for step in trace.children] == ["retrieve", "postprocess", "synthesize"]
    assert trace.children[1].facts == {"name": "AllButFirst", "given": 3, "kept": 2}
    assert {name: trace.facts[name] for name in ("mode", "passages", "calls", "completion_tokens")} == {
        "mode": "compact",
        "passages": 2,
        "calls": 1,
        "completion_tokens": 1,
    }
    assert all(step.seconds >= 0 for step in trace.walk())


def test_stream_has_sources_before_its_text_and_the_same_text() -> None:
    llm = word_llm(lambda call: "three little words")
    stream = RetrieverQueryEngine.from_args(ListRetriever(THREE), llm).stream_query("What?")
    assert stream.source_nodes == tuple(THREE)
    assert llm.calls == []
    assert list(stream.response_gen) == ["three", " little", " words"]
    assert stream.response == str(stream) == "three little words"
    assert stream.trace is not None
    assert stream.trace.facts["calls"] == 1


def test_leaving_the_loop_ends_the_request_and_the_trace() -> None:
    llm = word_llm(lambda call: "three little words")
    stream = RetrieverQueryEngine.from_args(ListRetriever(THREE), llm).stream_query("What?")
    for _ in stream:
        break
    assert llm.closed_streams == 1
    assert stream.trace is not None
    assert stream.trace.seconds >= 0
    assert list(stream) == []


def test_unread_closed_stream_makes_no_call_and_ends_its_trace() -> None:
    llm = word_llm([])
    stream = RetrieverQueryEngine.from_args(ListRetriever(THREE), llm).stream_query("What?")
    stream.close()
    assert (list(stream), llm.calls) == ([], [])
    assert stream.trace is not None
    assert [0 <= step.seconds < 20 for step in stream.trace.walk()] == [True] * 3


def test_span_of_the_reader_stays_out_of_the_answer_s_trace() -> None:
    stream = RetrieverQueryEngine.from_args(ListRetriever(THREE), word_llm(["a b"])).stream_query("What?")
    with span("reader") as reader:
        for _ in stream:
            with span("drawing"):
                pass
    assert [step.name for step in reader.children] == ["drawing", "drawing"]
    assert stream.trace is not None
    assert stream.trace.spans("drawing") == []


@pytest.mark.parametrize("question", ["", "  \n"])
def test_empty_question_is_refused_before_any_search(question: str) -> None:
    retriever = ListRetriever(THREE)
    with pytest.raises(QuestionError, match="no question"):
        RetrieverQueryEngine.from_args(retriever, word_llm([])).query(question)
    assert retriever.asked == []


def test_no_passages_gives_a_fixed_reply_without_a_call() -> None:
    response = RetrieverQueryEngine.from_args(ListRetriever([]), word_llm([])).query("What?")
    assert (response.response, response.source_nodes) == (NOTHING_FOUND, ())


def test_a_failure_in_any_stage_comes_through() -> None:
    failing = word_llm([LLMServerError("The server gave up.")])
    with pytest.raises(LLMServerError, match="gave up"):
        RetrieverQueryEngine.from_args(ListRetriever(THREE), failing).query("What?")


def test_retrieve_and_synthesize_can_be_called_by_themselves() -> None:
    llm = word_llm(counting())
    engine = RetrieverQueryEngine.from_args(
        ListRetriever(THREE), llm, "refine", node_postprocessors=[Backwards()]
    )
    found = engine.retrieve("What?")
    assert [hit.text for hit in found] == ["three", "two", "one"]
    assert str(engine.synthesize("What?", found[:2])) == "A2"
    assert [shown(call.call) for call in llm.calls] == [[1], [2]]


def test_its_wording_can_be_read_and_changed() -> None:
    llm = word_llm(counting())
    engine = RetrieverQueryEngine.from_args(ListRetriever(THREE), llm)
    assert sorted(engine.get_prompts()) == [
        "response_synthesizer:refine_template",
        "response_synthesizer:text_qa_template",
    ]
    engine.update_prompts(
        {"response_synthesizer:text_qa_template": PromptTemplate("Tell {query_str} from {context_str}!")}
    )
    engine.query("What?")
    assert llm.calls[0].messages[-1].content.startswith("Tell What? from ")
    for name in ("text_qa_template", "response_synthesizer:text_template"):
        with pytest.raises(ValueError, match=name):
            engine.update_prompts({name: PromptTemplate("{query_str}")})


def test_synthesizer_argument_has_priority_and_is_optional() -> None:
    synthesizer = get_response_synthesizer(word_llm(["from the given one"]))
    engine = RetrieverQueryEngine.from_args(
        ListRetriever(THREE), word_llm([]), response_synthesizer=synthesizer
    )
    assert engine.query("What?").response == "from the given one"
    quoting = RetrieverQueryEngine(
        ListRetriever(nodes("Cats purr when they are glad.")), node_postprocessors=None
    )
    assert quoting.synthesize("Do cats purr?", []).response == NOTHING_FOUND


class Animal(BaseModel):
    name: str


def test_from_args_passes_options_to_the_synthesizer() -> None:
    made = RetrieverQueryEngine.from_args(
        ListRetriever(THREE), word_llm(['{"name": "cat"}']), output_cls=Animal
    )
    assert made.query("What?").metadata["output"] == Animal(name="cat")
    streaming = RetrieverQueryEngine.from_args(ListRetriever(THREE), word_llm(["one two"]), streaming=True)
    assert list(streaming.query("What?").response_gen) == ["one", " two"]  # type: ignore[attr-defined]
    together = threading.Barrier(2)

    def rule(call: LLMCall) -> str:
        together.wait(0.05)
        return "A"

    one_by_one = RetrieverQueryEngine.from_args(
        ListRetriever(THREE[:2]), UnlockedLLM(rule), "accumulate", use_async=False
    )
    with pytest.raises(threading.BrokenBarrierError):
        one_by_one.query("What?")


def test_an_answer_streams_in_an_event_loop() -> None:
    async def ask() -> list[str]:
        engine = RetrieverQueryEngine.from_args(ListRetriever(THREE), word_llm(["three little words"]))
        answer = await engine.astream_query("What?")
        assert len(answer.source_nodes) == 3
        return [piece async for piece in answer.async_response_gen()]

    assert asyncio.run(ask()) == ["three", " little", " words"]


def test_it_answers_in_an_event_loop_which_goes_on_meanwhile() -> None:
    async def ask() -> tuple[str, list[str], int]:
        engine = RetrieverQueryEngine.from_args(
            ListRetriever(THREE), word_llm(lambda call: "three little words")
        )
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        ticking = asyncio.ensure_future(tick())
        whole = await engine.aquery("What?")
        assert [hit.text for hit in await engine.aretrieve("What?")] == ["one", "two", "three"]
        assert (await engine.asynthesize("What?", THREE)).response == whole.response
        pieces = [piece async for piece in engine.stream_query("What?").async_response_gen()]
        ticking.cancel()
        return whole.response, pieces, ticks

    whole, pieces, ticks = asyncio.run(ask())
    assert whole == "".join(pieces) == "three little words"
    assert len(pieces) == 3
    assert ticks > 3
