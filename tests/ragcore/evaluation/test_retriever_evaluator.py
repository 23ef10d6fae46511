from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import DamagedFileError, LLMServerError, Problem
from ragcore.evaluation import (
    EmbeddingQAFinetuneDataset,
    RetrieverEvaluator,
    generate_question_context_pairs,
    mean_scores,
)
from ragcore.extractive.answerer import ExtractiveLLM
from ragcore.llms.base import LLMCall
from ragcore.llms.scripted import ScriptedLLM
from ragcore.observe import Span, span
from ragcore.retrievers.base import BaseRetriever
from ragcore.schema import NodeWithScore, QueryBundle, TextNode
from tests.ragcore.response_synthesizers.doubles import UnlockedLLM

NODES = [
    TextNode("The lighthouse of Alexandria was built by Sostratus. It is a tower of white stone.", "light"),
    TextNode("Bread is a food made from flour and water.", "bread"),
]


DOWN = "a question that fails"


class Finds(BaseRetriever):
    """For each question the passages with these ids."""

    name = "finds"

    def __init__(self, **ids: str) -> None:
        self._ids = ids

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        if query.query_str == DOWN:
            raise LLMServerError("down", hint="wait")
        return [NodeWithScore(TextNode(f"text {id_}", id_)) for id_ in self._ids[query.query_str]]


class AllButFirst:
    def postprocess_nodes(
        self, nodes: Sequence[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        assert query_bundle is not None
        return list(nodes[1:])


NAMES = ["mrr", "hit_rate", "ndcg"]


def test_a_question_is_scored_by_every_metric() -> None:
    result = RetrieverEvaluator.from_metric_names(NAMES, retriever=Finds(q="xab")).evaluate("q", ["a", "b"])
    assert (result.query, result.expected_ids, result.retrieved_ids) == ("q", ("a", "b"), ("x", "a", "b"))
    assert result.retrieved_texts == ("text x", "text a", "text b")
    assert result.metric_vals_dict == pytest.approx({"mrr": 0.5, "hit_rate": 1.0, "ndcg": 0.693426}, abs=1e-6)
    assert "'mrr': 0.5" in str(result)


def test_finding_nothing_scores_nothing() -> None:
    evaluator = RetrieverEvaluator.from_metric_names(
        ["hit_rate", "mrr", "precision", "recall", "ap", "ndcg"], Finds(q="")
    )
    assert set(evaluator.evaluate("q", ["a"]).metric_vals_dict.values()) == {0.0}


def test_metrics_follow_postprocessors_and_are_in_the_trace() -> None:
    evaluator = RetrieverEvaluator.from_metric_names(["mrr"], Finds(q="xa"), [AllButFirst()])
    with span("root") as root:
        assert evaluator.evaluate(QueryBundle("q"), ["a"]).metric_vals_dict == {"mrr": 1.0}
    (step,) = root.spans("evaluate")
    assert step.facts["mrr"] == 1.0


def test_a_dataset_is_scored_in_its_order_and_averaged() -> None:
    dataset = EmbeddingQAFinetuneDataset({"1": "q", "2": "r"}, {}, {"1": ["a"], "2": ["a", "b"]})
    evaluator = RetrieverEvaluator.from_metric_names(["mrr", "recall"], Finds(q="a", r="xyza"))
    results = evaluator.evaluate_dataset(dataset)
    assert [result.query for result in results] == ["q", "r"]
    assert [result.metric_vals_dict for result in results] == [
        {"mrr": 1, "recall": 1},
        {"mrr": 0.25, "recall": 0.5},
    ]
    assert mean_scores(results) == {"mrr": 0.625, "recall": 0.75}
    assert mean_scores([]) == {}
    assert asyncio.run(evaluator.aevaluate_dataset(dataset)) == results


def test_failing_question_is_listed_and_not_part_of_a_mean() -> None:
    dataset = EmbeddingQAFinetuneDataset(
        {"1": DOWN, "2": "q", "3": "r"}, {}, {"1": ["a"], "2": ["a"], "3": ["a"]}
    )
    evaluator = RetrieverEvaluator.from_metric_names(["mrr"], Finds(q="a", r="xa"))
    results = evaluator.evaluate_dataset(dataset)
    assert [result.metric_vals_dict for result in results] == [{}, {"mrr": 1.0}, {"mrr": 0.5}]
    assert (results[0].query, results[0].expected_ids, results[0].retrieved_ids) == (DOWN, ("a",), ())
    assert [result.problem for result in results] == [
        Problem("down", "wait", True, details="LLMServerError"),
        None,
        None,
    ]
    assert mean_scores(results) == {"mrr": 0.75}
    assert mean_scores(results[:1]) == {}
    assert asyncio.run(evaluator.aevaluate_dataset(dataset)) == results
    with pytest.raises(LLMServerError):
        evaluator.evaluate(DOWN, ["a"])


def test_questions_of_a_dataset_are_looked_for_at_the_same_time() -> None:
    together = threading.Barrier(2, timeout=5)

    class Waits(Finds):
        def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
            together.wait()
            return super()._retrieve(query, step)

    dataset = EmbeddingQAFinetuneDataset({"1": "q", "2": "r"}, {}, {"1": ["a"], "2": ["a"]})
    results = RetrieverEvaluator.from_metric_names(["mrr"], Waits(q="a", r="a")).evaluate_dataset(dataset)
    assert mean_scores(results) == {"mrr": 1.0}


def test_model_writes_questions_that_expect_their_passage() -> None:
    llm = ScriptedLLM(
        lambda call: (
            "1. Who?\n\n2. Why?\n3. When?" if "Alexandria" in str(call.variables) else "- What is bread?"
        )
    )
    dataset = generate_question_context_pairs(NODES, llm, num_questions_per_chunk=2)
    assert dataset.queries == {"light:1": "Who?", "light:2": "Why?", "bread:1": "What is bread?"}
    assert dataset.corpus == {"light": NODES[0].text, "bread": NODES[1].text}
    assert dataset.relevant_docs == {"light:1": ["light"], "light:2": ["light"], "bread:1": ["bread"]}
    assert dataset.query_docid_pairs[2] == ("What is bread?", ["bread"])
    assert {call.variables["num_questions"] for call in llm.calls} == {"2"}


def test_questions_for_several_passages_are_written_in_parallel() -> None:
    together = threading.Barrier(2, timeout=5)

    def waits(call: LLMCall) -> str:
        together.wait()
        return "Who?"

    assert len(generate_question_context_pairs(NODES, UnlockedLLM(waits)).queries) == 2


def test_a_failed_passage_is_returned_with_the_others(tmp_path: Path) -> None:
    def breaks(call: LLMCall) -> str | Exception:
        return (
            LLMServerError("down", hint="wait") if "Alexandria" in str(call.variables) else "What is bread?"
        )

    dataset = generate_question_context_pairs(NODES, ScriptedLLM(breaks))
    assert (dataset.queries, dataset.relevant_docs) == ({"bread:1": "What is bread?"}, {"bread:1": ["bread"]})
    assert dataset.problems == {"light": Problem("down", "wait", True, details="LLMServerError")}
    assert list(dataset.corpus) == ["light", "bread"]
    dataset.save_json(tmp_path / "questions.json")
    assert EmbeddingQAFinetuneDataset.from_json(tmp_path / "questions.json") == dataset
    with pytest.raises(LLMServerError, match="down"):
        generate_question_context_pairs(NODES[:1], ScriptedLLM(breaks))


def test_a_dataset_is_the_same_after_it_was_saved_and_loaded(tmp_path: Path) -> None:
    dataset = generate_question_context_pairs(NODES, ScriptedLLM(lambda call: "Wer trägt Öl?\n为什么？"))
    dataset.save_json(tmp_path / "questions.json")
    assert EmbeddingQAFinetuneDataset.from_json(str(tmp_path / "questions.json")) == dataset
    assert "为什么" in (tmp_path / "questions.json").read_text("utf-8")


@pytest.mark.parametrize(
    "text", ["", "[]", '{"queries": {"1": "q"}}', '{"queries": 1, "corpus": {}, "relevant_docs": {}}']
)
def test_a_file_that_is_no_dataset_is_reported_as_damaged(tmp_path: Path, text: str) -> None:
    (tmp_path / "questions.json").write_text(text)
    with pytest.raises(DamagedFileError, match=r"questions\.json"):
        EmbeddingQAFinetuneDataset.from_json(tmp_path / "questions.json")


def test_questions_are_written_without_a_language_model_too() -> None:
    dataset = generate_question_context_pairs(NODES, ExtractiveLLM(HashEmbedding()))
    assert dataset.queries
    assert set(dataset.relevant_docs) == set(dataset.queries)
    assert all("?" in question for question in dataset.queries.values())


def test_no_questions_are_refused() -> None:
    with pytest.raises(ValueError, match="num_questions_per_chunk"):
        generate_question_context_pairs(NODES, ScriptedLLM(), 0)
