"""The numbers of two lists, r1 = a .9, b .8, c .1 and r2 = c 10, a 5, worked out by hand."""

import threading
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.llamaindex.retrievers.fusion_retriever import (
    FusionMode,
    QueryFusionRetriever,
    checked_weights,
    fuse,
)
from ragcore.llms.scripted import ScriptedLLM
from ragcore.observe import Span, span
from ragcore.retrievers.base import BaseRetriever
from ragcore.schema import NodeWithScore, QueryBundle, TextNode


class Fixed(BaseRetriever):
    name = "fixed"

    def __init__(self, scores: dict[str, float | None]) -> None:
        self._hits = [NodeWithScore(TextNode(id_, id_), score) for id_, score in scores.items()]
        self.asked: list[QueryBundle] = []

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        self.asked.append(query)
        return list(self._hits)


R1: dict[str, float | None] = {"a": 0.9, "b": 0.8, "c": 0.1}
R2: dict[str, float | None] = {"c": 10.0, "a": 5.0}


def fused(
    mode: FusionMode,
    weights: Sequence[float] | None = None,
    top_k: int = 9,
    lists: Sequence[dict[str, float | None]] = (R1, R2),
) -> list[tuple[str, float]]:
    retriever = QueryFusionRetriever(
        [Fixed(scores) for scores in lists],
        mode=mode,
        similarity_top_k=top_k,
        num_queries=1,
        retriever_weights=weights,
    )
    return [(hit.node.id_, round(hit.get_score(), 4)) for hit in retriever.retrieve("a question")]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("reciprocal_rerank", [("a", 0.0331), ("c", 0.0328), ("b", 0.0164)]),
        ("relative_score", [("a", 0.5), ("c", 0.5), ("b", 0.4375)]),
        ("dist_based_score", [("a", 0.4869), ("c", 0.4663), ("b", 0.2968)]),
        ("simple", [("c", 10.0), ("a", 5.0), ("b", 0.8)]),
    ],
)
def test_each_mode_gives_its_numbers(mode: FusionMode, expected: list[tuple[str, float]]) -> None:
    assert fused(mode) == expected
    assert fused(mode, top_k=2) == expected[:2]
    assert fused(mode, top_k=0) == []


def test_weights_count_in_proportion() -> None:
    thrice = [(1.5 / 60 + 0.5 / 61, "a"), (1.5 / 61, "b"), (1.5 / 62 + 0.5 / 60, "c")]
    expected = [(id_, round(score, 4)) for score, id_ in sorted(thrice, reverse=True)]
    assert fused("reciprocal_rerank", [3, 1]) == expected
    assert fused("reciprocal_rerank", [0.75, 0.25]) == expected
    assert fused("relative_score", [3, 1]) == [("a", 0.75), ("b", round(0.75 * 7 / 8, 4)), ("c", 0.25)]
    assert fused("reciprocal_rerank", [0, 1])[:2] == [("c", round(2 / 60, 4)), ("a", round(2 / 61, 4))]


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [0.0, 0.0], [1.0, 1.0, 1.0]])
def test_weights_that_mean_nothing_are_refused(weights: list[float]) -> None:
    with pytest.raises(ValueError, match="2 weights"):
        fused("reciprocal_rerank", weights)


@pytest.mark.parametrize("mode", ["reciprocal_rerank", "relative_score", "dist_based_score", "simple"])
def test_lists_without_scores_or_without_hits_do_no_harm(mode: FusionMode) -> None:
    assert fused(mode, lists=[{}, {}]) == []
    assert [id_ for id_, _ in fused(mode, lists=[{}, R1])] == ["a", "b", "c"]
    assert [id_ for id_, _ in fused(mode, lists=[{"x": None, "y": None}])] == ["x", "y"]
    assert fused(mode, lists=[]) == []


def test_all_retrievers_get_the_same_question() -> None:
    retrievers = [Fixed(R1), Fixed(R2)]
    bundle = QueryBundle("why?", custom_embedding_strs=("because",))
    QueryFusionRetriever(retrievers, num_queries=1).retrieve(bundle)
    assert [retriever.asked for retriever in retrievers] == [[bundle], [bundle]]


scored = st.dictionaries(st.sampled_from("abcdef"), st.floats(-5, 5), max_size=6)


@given(
    st.lists(scored, min_size=1, max_size=3),
    st.sampled_from(["reciprocal_rerank", "relative_score", "dist_based_score"]),
)
def test_every_passage_comes_once_best_first_within_the_scale(
    lists: list[dict[str, float]], mode: FusionMode
) -> None:
    hits = [
        [NodeWithScore(TextNode(id_, id_), s) for id_, s in sorted(scores.items(), key=lambda item: -item[1])]
        for scores in lists
    ]
    found = fuse(hits, mode, checked_weights(None, len(lists)))
    scores = [hit.get_score() for hit in found]
    assert {hit.node.id_ for hit in found} == {id_ for scores_ in lists for id_ in scores_}
    assert len(found) == len({hit.node.id_ for hit in found})
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 + 1e-9 for score in scores)


class ByQuestion(BaseRetriever):
    """Finds what stands behind each question."""

    name = "by question"

    def __init__(self, found: dict[str, dict[str, float]]) -> None:
        self._found = found

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        return [
            NodeWithScore(TextNode(id_, id_), score)
            for id_, score in self._found.get(query.query_str, {}).items()
        ]


ONE = ByQuestion({"q": {"a": 0.9, "b": 0.5}, "q1": {"b": 0.8, "c": 0.2}, "q2": {"c": 0.7}})
OTHER = ByQuestion({"q": {"c": 4.0}, "q1": {"a": 3.0, "d": 1.0}, "q2": {}})


def fuse_scores(llm: ScriptedLLM, mode: FusionMode, num_queries: int = 3) -> dict[str, float]:
    retriever = QueryFusionRetriever(
        [ONE, OTHER], llm, mode=mode, similarity_top_k=9, num_queries=num_queries
    )
    return {hit.node.id_: hit.get_score() for hit in retriever.retrieve("q")}


def test_every_retriever_gets_the_question_and_generated_ones() -> None:
    ranks = {"a": [0, 0], "b": [1, 0], "c": [0, 1, 0], "d": [1]}
    expected = {id_: sum(1 / (60 + rank) for rank in found) for id_, found in ranks.items()}
    llm = ScriptedLLM(["q1\nq2"])
    assert fuse_scores(llm, "reciprocal_rerank") == pytest.approx(expected)
    assert llm.calls[0].variables == {"num_queries": "2", "query_str": "q"}


def test_relative_scores_are_shared_by_retrievers_and_questions() -> None:
    # six lists: a 1, b 0 | c 1 | b 1, c 0 | a 1, d 0 | c 1 | nothing; each counts a sixth
    assert fuse_scores(ScriptedLLM(["q1\nq2"]), "relative_score") == pytest.approx(
        {"a": 2 / 6, "b": 1 / 6, "c": 2 / 6, "d": 0}
    )


def test_distance_based_scores_are_shared_by_questions_too() -> None:
    # a list of two stands at the mean and one deviation to each side of it: 4/6 and 2/6; one alone counts 1
    expected = {"a": 4 / 6 + 4 / 6, "b": 2 / 6 + 4 / 6, "c": 1 + 2 / 6 + 1, "d": 2 / 6}
    found = fuse_scores(ScriptedLLM(["q1\nq2"]), "dist_based_score")
    assert found == pytest.approx({id_: score / 6 for id_, score in expected.items()})


def test_custom_query_prompt_is_used_and_verbose_logs_the_trace(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", "ragcore.retrievers")
    for verbose in (False, True):
        llm = ScriptedLLM(["q1"])
        wording = "Say {query_str} in {num_queries} ways."
        QueryFusionRetriever([ONE], llm, wording, num_queries=2, verbose=verbose).retrieve("q")
        assert [message.content for message in llm.calls[0].messages] == ["Say q in 1 ways."]
    assert [message.partition(":")[0] for message in caplog.messages] == ["retrieve"]


def test_simple_takes_the_highest_score_of_all_questions() -> None:
    assert fuse_scores(ScriptedLLM(["q1\nq2"]), "simple") == {"a": 3.0, "b": 0.8, "c": 4.0, "d": 1.0}


@pytest.mark.parametrize(
    ("reply", "questions"),
    [
        ("1. q1\n2) q2\n3. q3\n4. q4", ["q", "q1", "q2", "q3"]),
        ('```\n- q1\n\n* "q2"\n```', ["q", "q1", "q2"]),
        ("q\nq1\nq1\n", ["q", "q1"]),
        ("", ["q"]),
    ],
)
def test_generated_questions_are_clean_unique_and_limited(reply: str, questions: list[str]) -> None:
    fixed = Fixed(R1)
    with span("root") as root:
        QueryFusionRetriever([fixed], ScriptedLLM([reply])).retrieve("q")
    assert sorted(asked.query_str for asked in fixed.asked) == sorted(questions)
    assert root.children[0].facts["questions"] == questions
    asked = [step.facts["question"] for step in root.spans("retrieve")[1:]]
    assert asked == questions, "the trace is in order, however the threads ran"


def test_a_single_query_needs_no_model() -> None:
    llm = ScriptedLLM()
    assert fuse_scores(llm, "simple", num_queries=1) == {"a": 0.9, "b": 0.5, "c": 4.0}
    assert llm.calls == []


def test_retrievers_run_in_parallel_or_in_turn_on_request() -> None:
    together = threading.Barrier(3, timeout=5)

    class Waiting(Fixed):
        def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
            together.wait()
            return super()._retrieve(query, step)

    assert QueryFusionRetriever([Waiting(R1) for _ in range(3)], num_queries=1).retrieve("q")
    together = threading.Barrier(3, timeout=0.1)
    with pytest.raises(threading.BrokenBarrierError):
        QueryFusionRetriever([Waiting(R1) for _ in range(3)], num_queries=1, use_async=False).retrieve("q")


@pytest.mark.parametrize(
    ("argument", "message"), [({"num_queries": 0}, "num_queries"), ({"mode": "rrf"}, "reciprocal_rerank")]
)
def test_arguments_that_mean_nothing_are_refused(argument: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        QueryFusionRetriever([Fixed(R1)], **argument)
