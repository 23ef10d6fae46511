"""Answers that say whether they were found, and answers in a form of the caller's."""

from __future__ import annotations

import json

import pytest
from pydantic import BaseModel

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import LLMProtocolError
from ragcore.extractive.answerer import ExtractiveLLM
from ragcore.llms.base import LLMCall
from ragcore.llms.scripted import ScriptedLLM
from ragcore.query_engine import RetrieverQueryEngine, RouterQueryEngine
from ragcore.response_synthesizers.base import NOTHING_FOUND
from ragcore.response_synthesizers.modes import satisfied_answer
from ragcore.response_synthesizers.response_mode import ResponseMode
from ragcore.response_synthesizers.synthesizer import Synthesizer, get_response_synthesizer
from ragcore.schema import NodeWithScore
from ragcore.selectors import LLMSingleSelector
from ragcore.tools import QueryEngineTool
from tests.ragcore.response_synthesizers.doubles import ListRetriever, nodes, prompts, shown, word_llm


def make_finder(*satisfied: int | None) -> ScriptedLLM:
    """A model that finds the answer in these passages alone."""

    def rule(call: LLMCall) -> str:
        numbers = [number for number in shown(call) if number in satisfied]
        return json.dumps({"answer": f"from {numbers}", "query_satisfied": bool(numbers)})

    return word_llm(rule)


def filtered(llm: ScriptedLLM, mode: str = "refine") -> Synthesizer:
    return get_response_synthesizer(llm, mode, structured_answer_filtering=True)


def test_a_call_that_finds_nothing_leaves_the_answer_as_it_was() -> None:
    llm = make_finder(2, 4)
    assert filtered(llm).synthesize("What?", nodes("a", "b", "c", "d", "e")).response == "from [4]"
    # Until there is an answer there is nothing to refine.
    assert prompts(llm) == ["structured_text_qa"] * 2 + ["structured_refine"] * 3
    assert [call.variables.get("existing_answer") for call in llm.calls] == [
        None,
        None,
        *["from [2]"] * 2,
        "from [4]",
    ]


@pytest.mark.parametrize("mode", ["refine", "compact"])
def test_no_satisfied_call_gives_a_fixed_reply(mode: str) -> None:
    llm = make_finder()
    response = filtered(llm, mode).synthesize("What?", nodes("a", "b"))
    assert response.response == NOTHING_FOUND
    assert len(response.source_nodes) == 2
    assert len(llm.calls) == (2 if mode == "refine" else 1)


def test_filtered_answer_streams_as_the_words_of_the_answer() -> None:
    stream = filtered(make_finder(1, 2)).stream("What?", nodes("a", "b"))
    assert "".join(stream) == stream.text == "from [2]"


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ('{"answer": "Ann", "query_satisfied": true}', "Ann"),
        ('Sure!\n```json\n{"answer": "Ann [1]", "query_satisfied": true,}\n```', "Ann [1]"),
        ("{'answer': 'Ann', 'query_satisfied': True}", "Ann"),
        ('{"answer": "Ann"}', "Ann"),
        ('{"answer": "Ann", "query_satisfied": "false"}', ""),
        ('{"query_satisfied": false}', ""),
        ('{"answer": null, "query_satisfied": true}', ""),
        ('{"answer": ["Ann", "Bo"], "query_satisfied": true}', '["Ann", "Bo"]'),
        ("It was Ann. [1]", "It was Ann. [1]"),
        ('{"name": "Ann"}', '{"name": "Ann"}'),
        ("", ""),
    ],
)
def test_the_verdict_is_read_from_what_models_write(reply: str, answer: str) -> None:
    assert satisfied_answer(reply) == answer


@pytest.mark.parametrize("mode", [mode for mode in ResponseMode if mode.value not in ("refine", "compact")])
def test_filtering_is_refused_where_there_is_no_answer_to_keep(mode: ResponseMode) -> None:
    with pytest.raises(ValueError, match="refine and compact"):
        get_response_synthesizer(word_llm([]), mode, structured_answer_filtering=True)


def test_the_reader_without_a_model_filters_its_answers() -> None:
    llm = ExtractiveLLM(HashEmbedding())
    synthesizer = get_response_synthesizer(llm, "refine", structured_answer_filtering=True)
    texts = ("Cakes are sweet.", "Maria Silva was elected chair of the board.", "It rains.")
    found = [NodeWithScore(hit.node, 1.0) for hit in nodes(*texts)]
    assert synthesizer.synthesize("Who was elected chair of the board?", found).response.endswith(
        "chair of the board. [2]"
    )
    assert synthesizer.synthesize("How deep is the ocean?", found).response == NOTHING_FOUND


class Person(BaseModel):
    name: str
    born: int | None = None


@pytest.mark.parametrize("mode", ["refine", "compact", "simple_summarize", "tree_summarize", "generation"])
def test_an_answer_can_have_the_form_of_a_model(mode: str) -> None:
    llm = word_llm(lambda call: 'Here: {"name": "Ann", "born": 1815}')
    response = get_response_synthesizer(llm, mode, output_cls=Person).synthesize("Who?", nodes("a", "b"))
    assert response.extra["output"] == Person(name="Ann", born=1815)
    assert Person.model_validate_json(str(response)) == response.response
    assert all('"born"' in call.messages[-1].content for call in llm.calls)


def test_engine_answer_has_the_form_behind_a_router_and_streamed() -> None:
    def engine() -> RetrieverQueryEngine:
        synthesizer = get_response_synthesizer(
            word_llm(lambda call: 'Here: {"name": "Ann"}'), output_cls=Person
        )
        return RetrieverQueryEngine(ListRetriever(nodes("a")), synthesizer)

    answer = engine().query("Who?")
    assert (answer.response, str(answer)) == (Person(name="Ann"), '{"name":"Ann","born":null}')
    selector = LLMSingleSelector(word_llm(["1"]), embed_model=HashEmbedding())
    routed = RouterQueryEngine(selector, [QueryEngineTool.from_defaults(engine())], word_llm([])).query(
        "Who?"
    )
    assert (routed.metadata["output"], routed.metadata["selector_result"].ind) == (Person(name="Ann"), 0)
    stream = engine().stream_query("Who?")
    assert [piece for piece in stream if piece] == ['{"name":"Ann","born":null}']
    assert stream.extra["output"] == Person(name="Ann")


@pytest.mark.parametrize(
    ("reply", "says"), [("It was Ann.", "no JSON"), ('{"born": 1815}', "name: Field required")]
)
def test_answer_of_another_form_is_an_error_that_says_why(reply: str, says: str) -> None:
    synthesizer = get_response_synthesizer(word_llm([reply]), output_cls=Person)
    with pytest.raises(LLMProtocolError, match=f"Person.*{says}") as caught:
        synthesizer.synthesize("Who?", nodes("a"))
    assert caught.value.hint


def test_without_passages_there_is_no_structured_output() -> None:
    response = get_response_synthesizer(word_llm([]), output_cls=Person).synthesize("Who?", [])
    assert (response.response, dict(response.extra)) == (NOTHING_FOUND, {})


def test_the_reader_without_a_model_fills_a_form_of_one_text() -> None:
    synthesizer = get_response_synthesizer(ExtractiveLLM(HashEmbedding()), output_cls=Person)
    response = synthesizer.synthesize("Who was elected chair?", nodes("Maria Silva was elected chair."))
    assert response.extra["output"].name == "Maria Silva was elected chair. [1]"


def test_a_form_is_refused_where_answers_are_listed_or_filtered() -> None:
    for mode in ("accumulate", "compact_accumulate", "no_text"):
        with pytest.raises(ValueError, match=mode):
            get_response_synthesizer(word_llm([]), mode, output_cls=Person)
    with pytest.raises(ValueError, match="output_cls"):
        get_response_synthesizer(word_llm([]), output_cls=Person, structured_answer_filtering=True)


def test_a_synthesizer_for_streaming_gives_the_answer_in_pieces() -> None:
    answer = get_response_synthesizer(word_llm(["one two"]), streaming=True).synthesize("What?", nodes("a"))
    assert list(answer.response_gen) == ["one", " two"]


def test_without_async_calls_run_one_after_the_other() -> None:
    import threading

    running, most = 0, 0
    lock = threading.Lock()

    def rule(call: LLMCall) -> str:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        threading.Event().wait(0.01)
        with lock:
            running -= 1
        return "x"

    get_response_synthesizer(word_llm(rule), "accumulate", use_async=False).synthesize(
        "What?", nodes(*"abcdef")
    )
    assert most == 1
