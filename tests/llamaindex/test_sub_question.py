from __future__ import annotations

import json
import threading
import time

import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.extractive.answerer import ExtractiveLLM
from ragcore.llamaindex.query_engine import (
    LLMQuestionGenerator,
    SubQuestionAnswerPair,
    SubQuestionQueryEngine,
)
from ragcore.llamaindex.query_engine.sub_question_query_engine import SubQuestion, read_sub_questions
from ragcore.llms.scripted import ScriptedLLM
from ragcore.response_synthesizers.synthesizer import Synthesizer
from tests.ragcore.query_engine.engines import FixedEngine, tool

PARTS = [
    {"sub_question": "Who lives in Rome?", "tool_name": "rome"},
    {"sub_question": "Who lives in Paris?", "tool_name": "paris"},
]


def rome() -> FixedEngine:
    return FixedEngine("Romans [1].", "r")


def paris() -> FixedEngine:
    return FixedEngine("Parisians [1, 2].", "p", "q")


def engine(llm: ScriptedLLM) -> SubQuestionQueryEngine:
    return SubQuestionQueryEngine.from_defaults([tool("rome", rome()), tool("paris", paris())], llm)


def test_each_part_goes_to_its_tool_and_answers_become_passages() -> None:
    llm = ScriptedLLM([json.dumps(PARTS), "Romans [1] and Parisians [3]."])
    response = engine(llm).query("Who lives in Rome and Paris?")
    assert str(response) == "Romans [1] and Parisians [3]."
    assert [hit.node.id_ for hit in response.source_nodes] == ["r", "p", "q"]
    assert [logged.prompt for logged in llm.calls] == ["sub_questions", "tree_summarize"]
    assert "(1) rome: about rome\n\n(2) paris: about paris" in llm.calls[0].messages[-1].content
    assert ("Who lives in Rome?\nRomans [1].\n\nWho lives in Paris?\nParisians [2][3].") in llm.calls[
        1
    ].messages[-1].content


def test_response_lists_the_parts_with_answers_and_sources() -> None:
    response = engine(ScriptedLLM([json.dumps(PARTS), "Both."])).query("Who?")
    pairs = response.metadata["sub_questions"]
    assert [type(pair) for pair in pairs] == [SubQuestionAnswerPair] * 2
    assert [
        (pair.sub_q.sub_question, pair.answer, [hit.node.id_ for hit in pair.sources]) for pair in pairs
    ] == [
        ("Who lives in Rome?", "Romans [1].", ["r"]),
        ("Who lives in Paris?", "Parisians [1, 2].", ["p", "q"]),
    ]


def test_parts_run_in_parallel_with_answers_in_order() -> None:
    together = threading.Barrier(2, timeout=5)

    def slow(question: str) -> str:
        together.wait()
        time.sleep(0.05)
        return "slow"

    def quick(question: str) -> str:
        together.wait()
        return "quick"

    tools = [tool("rome", FixedEngine(slow)), tool("paris", FixedEngine(quick))]
    response = SubQuestionQueryEngine.from_defaults(tools, ScriptedLLM([json.dumps(PARTS), "Both."])).query(
        "Who?"
    )
    assert [pair.answer for pair in response.metadata["sub_questions"]] == ["slow", "quick"]


def test_parts_may_be_queried_one_after_the_other() -> None:
    asked: list[str] = []

    def answer(question: str) -> str:
        asked.append(question)
        time.sleep(0.05)
        asked.append("answered")
        return "A"

    tools = [tool("rome", FixedEngine(answer)), tool("paris", FixedEngine(answer))]
    llm = ScriptedLLM([json.dumps(PARTS), "Both."])
    SubQuestionQueryEngine.from_defaults(query_engine_tools=tools, llm=llm, use_async=False).query("Who?")
    assert asked == ["Who lives in Rome?", "answered", "Who lives in Paris?", "answered"]


def test_part_for_an_unknown_tool_is_dropped_and_traced() -> None:
    parts = [{"sub_question": "Who lives in Oslo?", "tool_name": "oslo"}, PARTS[0]]
    response = engine(ScriptedLLM([json.dumps(parts), "Romans."])).query("Who?")
    assert [pair.sub_q for pair in response.metadata["sub_questions"]] == [
        SubQuestion("Who lives in Rome?", "rome")
    ]
    assert response.trace is not None
    (step,) = response.trace.spans("divide")
    assert step.facts["no_such_tools"] == ["oslo"]
    assert step.facts["parts"] == [PARTS[0]]


@pytest.mark.parametrize(
    "reply", ["I cannot divide this.", "[]", json.dumps([{"sub_question": "?", "tool_name": "oslo"}])]
)
def test_without_parts_the_question_goes_to_every_tool(reply: str) -> None:
    response = engine(ScriptedLLM([reply, "Both."])).query("Who?")
    assert [pair.sub_q for pair in response.metadata["sub_questions"]] == [
        SubQuestion("Who?", "rome"),
        SubQuestion("Who?", "paris"),
    ]
    assert response.trace is not None
    assert response.trace.spans("divide")[0].facts["fell_back"] is True


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (f"Sure!\n```json\n{json.dumps(PARTS)}\n```", ["rome", "paris"]),
        (json.dumps({"items": PARTS}), ["rome", "paris"]),
        (json.dumps(PARTS[1]), ["paris"]),
        (json.dumps({"thought": ["two cities"], "items": PARTS}), ["rome", "paris"]),
        ('[{"sub_question": "", "tool_name": "rome"}, {"sub_question": null}, 3, {"tool_name": "rome"}]', []),
        ("{}", []),
        ("null", []),
    ],
)
def test_many_forms_of_reply_are_understood(reply: str, expected: list[str]) -> None:
    assert [part.tool_name for part in read_sub_questions(reply)] == expected


def test_a_question_is_divided_in_words_of_its_own() -> None:
    llm = ScriptedLLM([json.dumps(PARTS), "Both."])
    generator = LLMQuestionGenerator.from_defaults(
        llm, prompt_template_str="Divide {query_str} for {tools_str}!"
    )
    own = SubQuestionQueryEngine([tool("rome", rome()), tool("paris", paris())], llm, question_gen=generator)
    own.query("Who?")
    assert (
        llm.calls[0].messages[-1].content == "Divide Who? for (1) rome: about rome\n\n(2) paris: about paris!"
    )


def test_a_stream_queries_the_parts_before_its_first_piece() -> None:
    llm = ScriptedLLM([json.dumps(PARTS), "two words"])
    stream = engine(llm).stream_query("Who?")
    assert len(llm.calls) == 1
    assert len(stream.source_nodes) == 3
    assert len(stream.extra["sub_questions"]) == 2
    assert [piece for piece in stream if piece] == ["two", " words"]


def test_the_synthesizer_may_be_chosen() -> None:
    llm = ScriptedLLM([json.dumps(PARTS), "one", "two"])
    chosen = SubQuestionQueryEngine.from_defaults(
        [tool("rome", rome()), tool("paris", paris())],
        llm,
        response_synthesizer=Synthesizer(llm, "accumulate", workers=1),
    )
    assert str(chosen.query("Who?")) == "Response 1: one\n---------------------\nResponse 2: two"


@pytest.mark.parametrize("names", [(), ("a", "a")])
def test_unnamed_tools_and_no_tools_are_refused(names: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="tool"):
        SubQuestionQueryEngine.from_defaults([tool(name, rome()) for name in names], ScriptedLLM())


def test_it_runs_without_a_language_model() -> None:
    tools = [
        tool("Rome", FixedEngine("Rome has three million people [1].", "r")),
        tool("Paris", FixedEngine("Paris has two million people [1].", "p")),
    ]
    response = SubQuestionQueryEngine.from_defaults(tools, ExtractiveLLM(HashEmbedding())).query(
        "How many people live in Rome and Paris?"
    )
    assert {pair.sub_q.tool_name for pair in response.metadata["sub_questions"]} == {"Rome", "Paris"}
    assert str(response) == "Rome has three million people [1].\n\nParis has two million people [2]."


@pytest.mark.parametrize(
    ("rome", "paris", "answer"),
    [
        ("Nothing found.", "Parisians [1].", "Parisians [1]."),
        ("Nothing found.", "I do not know.", "Nothing found."),
        ("Both [1].", "Both [1].", "Both [1]."),
    ],
)
def test_without_a_model_empty_and_repeated_answers_are_dropped(rome: str, paris: str, answer: str) -> None:
    tools = [tool("Rome", FixedEngine(rome, "x")), tool("Paris", FixedEngine(paris, "x"))]
    llm = ExtractiveLLM(HashEmbedding())
    assert (
        str(SubQuestionQueryEngine.from_defaults(tools, llm).query("How many people live in Rome and Paris?"))
        == answer
    )


def test_consecutive_json_parts_are_read_and_tools_are_an_enum() -> None:
    reply = '{"sub_question": "A?", "tool_name": "rome"}\n{"sub_question": "B?", "tool_name": "paris"}'
    assert read_sub_questions(reply) == [SubQuestion("A?", "rome"), SubQuestion("B?", "paris")]
    llm = ScriptedLLM([reply, "done"])
    engine(llm).query("A and B?")
    schema = llm.calls[0].call.schema
    assert schema is not None
    assert schema["properties"]["items"]["items"]["properties"]["tool_name"] == {
        "type": "string",
        "enum": ["rome", "paris"],
    }
