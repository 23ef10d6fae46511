from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.evaluation import (
    MRR,
    NDCG,
    AveragePrecision,
    BaseRetrievalMetric,
    HitRate,
    Precision,
    Recall,
    resolve_metrics,
)

ALL: list[BaseRetrievalMetric] = [
    HitRate(),
    HitRate(use_granular_hit_rate=True),
    MRR(),
    MRR(use_granular_mrr=True),
    Precision(),
    Recall(),
    AveragePrecision(),
    NDCG(),
    NDCG(mode="exponential"),
]


def scores(expected: list[str], retrieved: list[str]) -> list[float]:
    return [metric.compute(expected_ids=expected, retrieved_ids=retrieved).score for metric in ALL]


@pytest.mark.parametrize(
    ("expected", "retrieved", "table"),
    [
        # hit rate, granular; MRR, granular; precision, recall, AP; nDCG twice. As llama-index-core 0.14.25
        # gives them.
        ("abc", "cabd", [1, 1, 1, 0.611111, 0.75, 1, 1, 1, 1]),
        ("ab", "xbya", [1, 1, 0.5, 0.375, 0.5, 1, 0.5, 0.650921, 0.650921]),
        ("a", "xy", [0] * 9),
        ("abcd", "dxb", [1, 0.5, 1, 0.666667, 0.666667, 0.5, 0.416667, 0.58557, 0.58557]),
        ("a", "a", [1] * 9),
        ("abc", "zc", [1, 0.333333, 0.5, 0.5, 0.5, 0.333333, 0.166667, 0.296082, 0.296082]),
        ("12", "56782", [1, 0.5, 0.2, 0.2, 0.2, 0.5, 0.1, 0.237198, 0.237198]),
        # where that raises: nothing was retrieved
        ("ab", "", [0] * 9),
    ],
)
def test_every_metric_gives_its_numbers(expected: str, retrieved: str, table: list[float]) -> None:
    assert scores(list(expected), list(retrieved)) == pytest.approx(table, abs=1e-6)


def brute_force(expected: set[str], retrieved: list[str]) -> list[float]:
    """From the definitions, cut-off by cut-off; `retrieved` without repetitions."""
    relevant = [id_ in expected for id_ in retrieved]
    precision_at = [sum(relevant[:k]) / k for k in range(1, len(retrieved) + 1)]
    reciprocal = [1 / (place + 1) for place, is_hit in enumerate(relevant) if is_hit]
    discounts = [1 / math.log(place + 2, 2) for place in range(len(retrieved) + len(expected))]
    ideal = [True] * len(expected)
    ndcg = sum(d for d, hit in zip(discounts, relevant, strict=False) if hit) / sum(
        d for d, hit in zip(discounts, ideal, strict=False) if hit
    )
    return [
        1.0 if expected & set(retrieved) else 0.0,
        len(expected & set(retrieved)) / len(expected),
        max(reciprocal, default=0.0),
        sum(reciprocal) / len(reciprocal) if reciprocal else 0.0,
        precision_at[-1] if retrieved else 0.0,
        len(expected & set(retrieved)) / len(expected),
        sum(p for p, is_hit in zip(precision_at, relevant, strict=True) if is_hit) / len(expected),
        ndcg,
        ndcg,
    ]


ids = st.sampled_from("abcdefgh")


@given(st.sets(ids, min_size=1), st.lists(ids, unique=True))
def test_the_metrics_are_their_definitions(expected: set[str], retrieved: list[str]) -> None:
    assert scores(sorted(expected), retrieved) == pytest.approx(brute_force(expected, retrieved))


@given(st.lists(ids, min_size=1), st.lists(ids))
def test_repetitions_never_lift_a_score_above_one(expected: list[str], retrieved: list[str]) -> None:
    assert all(0 <= score <= 1 + 1e-9 for score in scores(expected, retrieved))


def test_repeated_passage_counts_once_and_ranks_stay() -> None:
    assert MRR().compute(expected_ids=["b"], retrieved_ids=["a", "a", "b"]).score == pytest.approx(1 / 3)
    assert (
        HitRate(use_granular_hit_rate=True).compute(expected_ids=["a", "b"], retrieved_ids=["a", "a"]).score
        == 0.5
    )
    assert Precision().compute(expected_ids=["b"], retrieved_ids=["a", "a", "b"]).score == 0.5


@pytest.mark.parametrize("metric", ALL)
def test_a_question_without_expected_passages_is_refused(metric: BaseRetrievalMetric) -> None:
    with pytest.raises(ValueError, match="expected"):
        metric.compute(expected_ids=[], retrieved_ids=["a"])


def test_metrics_have_names_and_an_unknown_one_is_refused() -> None:
    names = ["hit_rate", "mrr", "precision", "recall", "ap", "ndcg"]
    assert resolve_metrics(names) == [HitRate, MRR, Precision, Recall, AveragePrecision, NDCG]
    with pytest.raises(ValueError, match="there is no metric 'f1'; there are hit_rate"):
        resolve_metrics(["mrr", "f1"])


def test_a_result_is_a_number_and_an_unknown_mode_is_refused() -> None:
    assert float(MRR().compute(expected_ids=["a"], retrieved_ids=["x", "a"])) == 0.5
    with pytest.raises(ValueError, match="linear or exponential"):
        NDCG(mode="quadratic")  # type: ignore[arg-type]
