from __future__ import annotations

import asyncio
import logging
import threading
import time

import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import LLMServerError, LLMUnavailableError
from ragcore.evaluation import (
    AnswerRelevancyEvaluator,
    BatchEvalRunner,
    CorrectnessEvaluator,
    FaithfulnessEvaluator,
    SemanticSimilarityEvaluator,
)
from ragcore.llms.base import LLMCall
from ragcore.llms.scripted import ScriptedLLM
from ragcore.schema import NodeWithScore, Response, TextNode
from tests.ragcore.response_synthesizers.doubles import UnlockedLLM

QUESTIONS = ["q1", "q2", "q3"]
ANSWERS = ["a1", "a2", "a3"]
CONTEXTS = [["c1"], ["c2"], ["c3"]]


def verdicts(call: LLMCall) -> str:
    return "NO" if call.variables["response"] == "a2" else "YES"


def test_results_are_by_evaluator_in_the_order_of_questions() -> None:
    def slow_first(call: LLMCall) -> str:
        time.sleep(0.05 if call.variables["response"] == "a1" else 0)
        return verdicts(call)

    runner = BatchEvalRunner(
        {
            "faithful": FaithfulnessEvaluator(UnlockedLLM(slow_first)),
            "alike": SemanticSimilarityEvaluator(HashEmbedding()),
        },
        workers=3,
    )
    results = runner.evaluate_response_strs(QUESTIONS, ANSWERS, CONTEXTS, reference=["a1", "x", "a3"])
    assert list(results) == ["faithful", "alike"]
    assert [result.passing for result in results["faithful"]] == [True, False, True]
    assert [result.passing for result in results["alike"]] == [True, False, True]
    assert [result.query for result in results["alike"]] == QUESTIONS


def test_show_progress_logs_each_judgement(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "ragcore.evaluation")
    for show_progress in (False, True):
        runner = BatchEvalRunner(
            {"relevancy": AnswerRelevancyEvaluator(ScriptedLLM(["YES"]))}, show_progress=show_progress
        )
        runner.evaluate_response_strs(["Who?"], ["Ada."])
    assert [record.getMessage() for record in caplog.records] == ["relevancy: 1.0"]


def test_judgements_run_at_the_same_time() -> None:
    together = threading.Barrier(3, timeout=5)

    def waits(call: LLMCall) -> str:
        together.wait()
        return "YES"

    runner = BatchEvalRunner({"faithful": FaithfulnessEvaluator(UnlockedLLM(waits))}, workers=3)
    assert all(
        result.passing for result in runner.evaluate_response_strs(QUESTIONS, ANSWERS, CONTEXTS)["faithful"]
    )


def test_a_failed_judgement_is_returned_with_the_others() -> None:
    def breaks(call: LLMCall) -> str | Exception:
        return LLMServerError("down", hint="wait") if call.variables["response"] == "a2" else "YES"

    runner = BatchEvalRunner({"faithful": FaithfulnessEvaluator(ScriptedLLM(breaks))})
    good, bad, after = runner.evaluate_response_strs(QUESTIONS, ANSWERS, CONTEXTS)["faithful"]
    assert (good.passing, after.passing) == (True, True)
    assert (bad.query, bad.response, bad.invalid_result, bad.invalid_reason) == ("q2", "a2", True, "down")
    assert bad.problem is not None
    assert (bad.problem.hint, bad.problem.retryable) == ("wait", True)


class Engine:
    def query(self, query: str, /) -> Response:
        if query == "q2":
            raise LLMUnavailableError("nobody listens")
        return Response(f"a{query[1]}", (NodeWithScore(TextNode(f"c{query[1]}")),))


def test_question_failing_in_the_engine_fails_in_each_evaluator() -> None:
    llm = ScriptedLLM(lambda call: "YES" if call.prompt.name == "faithfulness" else "4")
    runner = BatchEvalRunner({"faithful": FaithfulnessEvaluator(llm), "correct": CorrectnessEvaluator(llm)})
    results = runner.evaluate_queries(Engine(), QUESTIONS, reference=["r1", "r2", "r3"])
    assert [[result.score for result in column] for column in results.values()] == [
        [1.0, None, 1.0],
        [4.0, None, 4.0],
    ]
    assert {column[1].invalid_reason for column in results.values()} == {"nobody listens"}
    assert results["faithful"][2].contexts == ("c3",)


def test_an_engine_answers_questions_at_the_same_time() -> None:
    together = threading.Barrier(3, timeout=5)

    class Waits(Engine):
        def query(self, query: str, /) -> Response:
            together.wait()
            return super().query(query)

    runner = BatchEvalRunner({"alike": SemanticSimilarityEvaluator(HashEmbedding())}, workers=3)
    results = runner.evaluate_queries(Waits(), ["q1", "q3", "q4"], reference=["a1", "a3", "a4"])
    assert [result.passing for result in results["alike"]] == [True, True, True]


def test_answers_are_judged_with_their_passages() -> None:
    runner = BatchEvalRunner({"faithful": FaithfulnessEvaluator(ScriptedLLM(verdicts))})
    responses = [Engine().query("q1"), Engine().query("q3")]
    results = runner.evaluate_responses(["q1", "q3"], responses)
    assert [result.contexts for result in results["faithful"]] == [("c1",), ("c3",)]
    assert asyncio.run(runner.aevaluate_responses(["q1", "q3"], responses)) == results


def test_unequal_lists_and_missing_references_are_caller_errors() -> None:
    runner = BatchEvalRunner({"correct": CorrectnessEvaluator(ScriptedLLM())})
    with pytest.raises(ValueError, match="differ in number"):
        runner.evaluate_response_strs(QUESTIONS, ANSWERS[:2])
    with pytest.raises(ValueError, match="differ in number"):
        runner.evaluate_queries(Engine(), QUESTIONS, reference=["r"])
    with pytest.raises(ValueError, match="needs reference"):
        runner.evaluate_response_strs(QUESTIONS, ANSWERS)


def test_no_questions_give_no_results() -> None:
    assert BatchEvalRunner({"alike": SemanticSimilarityEvaluator(HashEmbedding())}).evaluate_response_strs(
        [], []
    ) == {"alike": []}
