from __future__ import annotations

import asyncio
import logging

import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import LLMServerError, QuestionError
from ragcore.extractive.answerer import ExtractiveLLM
from ragcore.llamaindex.query_engine import SubQuestionQueryEngine
from ragcore.llms.base import LLMCall
from ragcore.llms.scripted import ScriptedLLM
from ragcore.query_engine import RouterQueryEngine
from ragcore.response_synthesizers.synthesizer import Synthesizer
from ragcore.selectors import LLMMultiSelector, LLMSingleSelector
from ragcore.tools import QueryEngineTool
from tests.ragcore.query_engine.engines import FixedEngine, tool


def essay() -> FixedEngine:
    return FixedEngine("He painted [1] and wrote [2].", "e1", "e2")


def tables() -> FixedEngine:
    return FixedEngine("Sales rose [1].", "t1")


def router(reply: str, *tools: QueryEngineTool, summary: str = "") -> RouterQueryEngine:
    llm = ScriptedLLM([reply, summary])
    return RouterQueryEngine(LLMMultiSelector(llm, embed_model=HashEmbedding()), tools, llm)


def test_one_choice_gives_that_engines_answer_sources_and_reason() -> None:
    engines = essay(), tables()
    response = router(
        '[{"choice": 2, "reason": "numbers"}]', tool("essay", engines[0]), tool("tables", engines[1])
    ).query("How much?")
    assert str(response) == "Sales rose [1]."
    assert [hit.node.id_ for hit in response.source_nodes] == ["t1"]
    assert response.metadata["selector_result"].ind == 1
    assert response.metadata["selector_result"].reason == "numbers"
    assert (engines[0].asked, engines[1].asked) == ([], ["How much?"])


def test_several_answers_combine_with_citations_of_all_sources() -> None:
    llm = ScriptedLLM(["[2, 1]", "Both [1][3]."])
    engine = RouterQueryEngine(
        LLMMultiSelector(llm, embed_model=HashEmbedding()),
        [tool("essay", essay()), tool("tables", tables())],
        llm,
    )
    response = engine.query("What?")
    assert str(response) == "Both [1][3]."
    assert [hit.node.id_ for hit in response.source_nodes] == ["t1", "e1", "e2"]
    assert llm.calls[1].prompt == "tree_summarize"
    assert "Sales rose [1].\n\nHe painted [2] and wrote [3]." in llm.calls[1].messages[-1].content
    assert response.metadata["selector_result"].inds == [1, 0]


def test_source_shared_by_two_answers_comes_once_cited_by_both() -> None:
    llm = ScriptedLLM(["[1, 2]", "Done."])
    tools = [
        tool("a", FixedEngine("A [1] [2].", "x", "y")),
        tool("b", FixedEngine("B [1] [2] [3] [2024].", "z", "y")),
    ]
    response = RouterQueryEngine(LLMMultiSelector(llm, embed_model=HashEmbedding()), tools, llm).query(
        "What?"
    )
    assert [hit.node.id_ for hit in response.source_nodes] == ["x", "y", "z"]
    assert "A [1] [2].\n\nB [3] [2]  [2024]." in llm.calls[1].messages[-1].content, (
        "a citation of nothing must not become one"
    )


def test_the_summarizer_may_be_chosen() -> None:
    llm = ScriptedLLM(["[1, 2]", "refined", "refined again"])
    summarizer = Synthesizer(llm, "refine")
    engine = RouterQueryEngine.from_defaults(
        [tool("a", essay()), tool("b", tables())],
        llm,
        LLMMultiSelector(llm, embed_model=HashEmbedding()),
        summarizer,
    )
    assert str(engine.query("What?")) == "refined again"
    assert [logged.prompt for logged in llm.calls] == ["select_multi", "text_qa", "refine"]


@pytest.mark.parametrize(("select_multi", "prompt"), [(False, "select_single"), (True, "select_multi")])
def test_from_defaults_selects_one_or_several(select_multi: bool, prompt: str) -> None:
    llm = ScriptedLLM(["1"])
    RouterQueryEngine.from_defaults([tool("a", essay())], llm, select_multi=select_multi).query("What?")
    assert [logged.prompt for logged in llm.calls] == [prompt]


def test_stream_equals_the_answer_with_early_sources() -> None:
    stream = router("[1]", tool("a", essay())).stream_query("What?")
    assert [hit.node.id_ for hit in stream.source_nodes] == ["e1", "e2"]
    assert stream.extra["selector_result"].ind == 0
    assert list(stream) == ["He", " painted", " [1]", " and", " wrote", " [2]."]
    combined = router("[1, 2]", tool("a", essay()), tool("b", tables()), summary="two words").stream_query(
        "What?"
    )
    assert [piece for piece in combined if piece] == ["two", " words"]


def test_trace_has_the_selection_the_engines_and_all_calls() -> None:
    response = router("[1, 2]", tool("a", essay()), tool("b", tables()), summary="both").query("What?")
    assert response.trace is not None
    assert [step.name for step in response.trace.children] == ["select", "part", "part", "synthesize"]
    assert [step.children[0].name for step in response.trace.children[1:3]] == ["query", "query"]
    assert response.trace.facts["calls"] == 2
    assert all(step.seconds >= 0 for step in response.trace.walk())


def test_a_stream_closed_early_or_never_read_ends_its_trace() -> None:
    for pieces in (0, 1):
        stream = router("[1]", tool("a", essay())).stream_query("What?")
        for _ in range(pieces):
            next(iter(stream))
        stream.close()
        assert stream.trace is not None
        assert all(step.seconds >= 0 for step in stream.trace.walk())


def test_routers_can_be_nested_and_the_outer_selection_is_noted() -> None:
    inner = router('[{"choice": 1, "reason": "inner"}]', tool("a", essay()))
    response = router('[{"choice": 1, "reason": "outer"}]', tool("all", inner)).query("What?")
    assert response.metadata["selector_result"].reason == "outer"
    assert str(response) == "He painted [1] and wrote [2]."


def test_a_failing_engine_fails_the_answer_and_ends_the_trace() -> None:
    def fail(question: str) -> str:
        raise LLMServerError("down")

    with pytest.raises(LLMServerError, match="down"):
        router("[1, 2]", tool("a", FixedEngine(fail)), tool("b", tables())).query("What?")


def test_an_empty_question_and_no_tools_are_refused() -> None:
    with pytest.raises(QuestionError):
        router("1", tool("a", essay())).query("  ")
    with pytest.raises(ValueError, match="at least one"):
        RouterQueryEngine.from_defaults([], ScriptedLLM())


def test_it_can_be_awaited() -> None:
    assert (
        str(asyncio.run(router("2", tool("a", essay()), tool("b", tables())).aquery("What?")))
        == "Sales rose [1]."
    )


def test_it_runs_without_a_language_model() -> None:
    llm = ExtractiveLLM(HashEmbedding())
    tools = [
        tool("cats", FixedEngine("Cats sleep [1].", "c")),
        tool("dogs", FixedEngine("Dogs bark [1].", "d")),
    ]
    selector = LLMSingleSelector(llm, embed_model=HashEmbedding())
    assert str(RouterQueryEngine(selector, tools, llm).query("What do dogs do?")) == "Dogs bark [1]."


def test_engines_are_queried_at_the_same_time() -> None:
    import threading

    together = threading.Barrier(2, timeout=5)

    def wait(question: str) -> str:
        together.wait()
        return "here"

    def rule(call: LLMCall) -> str:
        return "[1, 2]" if call.prompt.name == "select_multi" else "both"

    llm = ScriptedLLM(rule)
    tools = [tool("a", FixedEngine(wait)), tool("b", FixedEngine(wait))]
    assert str(RouterQueryEngine.from_defaults(tools, llm, select_multi=True).query("What?")) == "both"


def test_verbose_logs_the_trace_of_each_question(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "ragcore")
    llm = ScriptedLLM(lambda call: "1" if call.prompt.name == "select_single" else "Which?")
    chosen = LLMSingleSelector(llm, embed_model=HashEmbedding())
    for verbose in (False, True):
        made = [
            RouterQueryEngine.from_defaults([tool("essay", essay())], llm, chosen, verbose=verbose),
            SubQuestionQueryEngine.from_defaults([tool("essay", essay())], llm, verbose=verbose),
        ]
        for engine in made:
            engine.query("Who?")
    first = [
        [line.split()[0].rstrip(":") for line in message.splitlines()[:2]] for message in caplog.messages
    ]
    assert first == [["query", "select"], ["query", "divide"]]
