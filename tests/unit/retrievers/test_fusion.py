"""The numbers of two lists, r1 = a .9, b .8, c .1 and r2 = c 10, a 5, worked out by hand."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.observe import Span
from ragcore.retrievers.base import BaseRetriever
from ragcore.retrievers.fusion import FusionMode, QueryFusionRetriever, checked_weights, fuse
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
    retriever = QueryFusionRetriever([Fixed(scores) for scores in lists], top_k, mode, weights)
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


def test_all_retrievers_are_asked_the_same_question() -> None:
    retrievers = [Fixed(R1), Fixed(R2)]
    bundle = QueryBundle("why?", custom_embedding_strs=("because",))
    QueryFusionRetriever(retrievers).retrieve(bundle)
    assert [retriever.asked for retriever in retrievers] == [[bundle], [bundle]]


scored = st.dictionaries(st.sampled_from("abcdef"), st.floats(-5, 5), max_size=6)


@given(st.lists(scored, min_size=1, max_size=3), st.sampled_from(["reciprocal_rerank", "relative_score", "dist_based_score"]))
def test_every_passage_comes_once_best_first_within_the_scale(lists: list[dict[str, float]], mode: FusionMode) -> None:
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
