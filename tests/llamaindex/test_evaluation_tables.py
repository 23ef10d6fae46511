"""Tables of results, as LlamaIndex's notebooks show them."""

from __future__ import annotations

from ragcore.evaluation import EvaluationResult, RetrievalEvalResult, RetrievalMetricResult
from ragcore.llamaindex.evaluation import get_eval_results_df, get_retrieval_results_df


def make_result(hit_rate: float, mrr: float) -> RetrievalEvalResult:
    scores = {"hit_rate": RetrievalMetricResult(hit_rate), "mrr": RetrievalMetricResult(mrr)}
    return RetrievalEvalResult("Who?", ("a",), ("a",), ("Ada.",), scores)


def test_each_retriever_has_a_row_with_the_means_of_its_metrics() -> None:
    table = get_retrieval_results_df(
        ["top 2", "top 5"], [[make_result(1.0, 0.5), make_result(0.0, 0.0)], [make_result(1.0, 1.0)]]
    )
    assert table.to_dict("list") == {
        "retrievers": ["top 2", "top 5"],
        "hit_rate": [0.5, 1.0],
        "mrr": [0.25, 1.0],
    }


def test_results_are_listed_by_name_and_each_name_has_its_mean() -> None:
    results = [
        EvaluationResult("Who?", "Ada.", ("Ada wrote.",), score, feedback="Why.") for score in (1.0, 0.0, 0.5)
    ]
    table, means = get_eval_results_df(["a", "a", "b"], results)
    assert table.iloc[2].to_dict() == {
        "rag": "b",
        "query": "Who?",
        "answer": "Ada.",
        "contexts": ("Ada wrote.",),
        "scores": 0.5,
        "feedbacks": "Why.",
    }
    assert means.to_dict() == {"a": {"scores": 0.5}, "b": {"scores": 0.5}}
    assert list(get_eval_results_df(["a"], results[:1], metric="relevancy")[1].index) == [
        "mean_relevancy_score"
    ]
