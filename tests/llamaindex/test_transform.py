from __future__ import annotations

import logging

import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.extractive.answerer import ExtractiveLLM
from ragcore.llamaindex.query_engine import MultiStepQueryEngine, TransformQueryEngine
from ragcore.llamaindex.retrievers.transform_retriever import (
    DecomposeQueryTransform,
    HyDEQueryTransform,
    StepDecomposeQueryTransform,
)
from ragcore.llms.scripted import ScriptedLLM
from ragcore.query_engine import RetrieverQueryEngine
from ragcore.response_synthesizers.synthesizer import Synthesizer, get_response_synthesizer
from ragcore.schema import NodeWithScore, QueryBundle, TextNode, as_bundle
from tests.ragcore.query_engine.engines import FixedEngine


class Echo:
    def retrieve(self, query: str | QueryBundle) -> list[NodeWithScore]:
        return [NodeWithScore(TextNode(text)) for text in as_bundle(query).embedding_strs]


def test_transformed_question_is_searched_the_original_answered() -> None:
    llm = ScriptedLLM(["Because of rain.", "It rained."])
    inner = RetrieverQueryEngine(Echo(), Synthesizer(llm))
    response = TransformQueryEngine(inner, HyDEQueryTransform(llm)).query("Why?")
    assert str(response) == "It rained."
    assert [hit.text for hit in response.source_nodes] == ["Because of rain.", "Why?"]
    assert llm.calls[1].variables["query_str"] == "Why?"
    assert response.trace is not None
    assert [step.name for step in response.trace.children] == ["transform_query", "query"]


def test_its_stream_says_the_same() -> None:
    llm = ScriptedLLM(["Rain.", "It rained."])
    stream = TransformQueryEngine(
        RetrieverQueryEngine(Echo(), Synthesizer(llm)), HyDEQueryTransform(llm)
    ).stream_query("Why?")
    assert [hit.text for hit in stream.source_nodes] == ["Rain.", "Why?"]
    assert [piece for piece in stream if piece] == ["It", " rained."]


@pytest.mark.parametrize(
    ("reply", "becomes"), [("Which year?", "Which year?"), ("None.", "Why?"), (" ", "Why?")]
)
def test_question_is_decomposed_by_the_index_summary_or_stays(reply: str, becomes: str) -> None:
    llm = ScriptedLLM([reply])
    inner = FixedEngine("In 1871.", "x")
    own = DecomposeQueryTransform(llm, "{query_str} / {context_str}")
    TransformQueryEngine(inner, own, {"index_summary": "letters"}).query("Why?")
    assert llm.calls[0].messages[-1].content == "Why? / letters"
    assert inner.asked == [becomes]


def test_a_verbose_transform_logs_what_a_question_becomes(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "ragcore.llamaindex.retrievers")
    for verbose in (False, True):
        StepDecomposeQueryTransform(ScriptedLLM(["Which year?"]), verbose=verbose).run("Why?")
    (message,) = caplog.messages
    assert message.startswith("transform_query: ")


def test_a_passage_is_imagined_in_words_of_its_own() -> None:
    llm = ScriptedLLM(["Rain."])
    assert HyDEQueryTransform(llm, "Imagine {query_str}").run("Why?").custom_embedding_strs == (
        "Rain.",
        "Why?",
    )
    assert llm.calls[0].messages[-1].content == "Imagine Why?"


def steps(*replies: str, num_steps: int = 3) -> tuple[MultiStepQueryEngine, FixedEngine, ScriptedLLM]:
    llm = ScriptedLLM(replies)
    inner = FixedEngine(lambda question: f"{question[:-1]} is known [1].", "x")
    transform = StepDecomposeQueryTransform(llm)
    return (
        MultiStepQueryEngine(inner, transform, Synthesizer(llm, "tree_summarize"), num_steps, "all of it"),
        inner,
        llm,
    )


def test_each_step_knows_earlier_answers_until_none_is_returned() -> None:
    engine, inner, llm = steps("A?", "B?", "None.", "Both [1].")
    response = engine.query("What?")
    assert str(response) == "Both [1]."
    assert inner.asked == ["A?", "B?"]
    known = [logged.variables["existing_answer"] for logged in llm.calls[:3]]
    assert known == ["", "- A?\n- A is known [1].", "- A?\n- A is known [1].\n- B?\n- B is known [1]."]
    assert {logged.variables["context_str"] for logged in llm.calls[:3]} == {"all of it"}
    assert [pair.sub_q.sub_question for pair in response.metadata["sub_questions"]] == ["A?", "B?"]
    answers = [(question, str(answer)) for question, answer in response.metadata["sub_qa"]]
    assert answers == [("A?", "A is known [1]."), ("B?", "B is known [1].")]
    assert [hit.node.id_ for hit in response.source_nodes] == ["x"]


@pytest.mark.parametrize(
    ("replies", "num_steps", "asked"),
    [(["A?", "B?", "Both."], 2, ["A?", "B?"]), (["A?", "A?", "Done."], 3, ["A?"]), (["None"], 3, ["What?"])],
)
def test_steps_end_at_their_limit_or_without_a_new_question(
    replies: list[str], num_steps: int, asked: list[str]
) -> None:
    engine, inner, _ = steps(*replies, num_steps=num_steps)
    assert str(engine.query("What?"))
    assert inner.asked == asked


def test_no_steps_are_refused() -> None:
    with pytest.raises(ValueError, match="num_steps"):
        steps(num_steps=0)


def test_both_run_without_a_language_model() -> None:
    llm = ExtractiveLLM(HashEmbedding())
    inner = FixedEngine("Cats sleep on the mat [1].", "x")
    assert (
        str(TransformQueryEngine(inner, HyDEQueryTransform(llm)).query("Where do cats sleep?"))
        == "Cats sleep on the mat [1]."
    )
    combines = get_response_synthesizer(llm, response_mode="tree_summarize")
    engine = MultiStepQueryEngine(inner, StepDecomposeQueryTransform(llm), combines)
    assert str(engine.query("Where do cats sleep?")) == "Cats sleep on the mat [1]."
