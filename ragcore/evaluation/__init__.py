"""How good retrieval and answers are: metrics, judges, questions to ask, and many of them at once."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragcore.evaluation.base import BaseEvaluator, EvaluationResult
    from ragcore.evaluation.batch import BatchEvalRunner
    from ragcore.evaluation.dataset import EmbeddingQAFinetuneDataset, generate_question_context_pairs
    from ragcore.evaluation.judges import (
        AnswerRelevancyEvaluator,
        ContextRelevancyEvaluator,
        CorrectnessEvaluator,
        FaithfulnessEvaluator,
        GuidelineEvaluator,
        PairwiseComparisonEvaluator,
        RelevancyEvaluator,
    )
    from ragcore.evaluation.metrics import (
        MRR,
        NDCG,
        AveragePrecision,
        BaseRetrievalMetric,
        HitRate,
        Precision,
        Recall,
        RetrievalMetricResult,
        resolve_metrics,
    )
    from ragcore.evaluation.retrieval import RetrievalEvalResult, RetrieverEvaluator, mean_scores
    from ragcore.evaluation.semantic_similarity import SemanticSimilarityEvaluator

_HOMES = {
    "AnswerRelevancyEvaluator": "judges",
    "AveragePrecision": "metrics",
    "BaseEvaluator": "base",
    "BaseRetrievalMetric": "metrics",
    "BatchEvalRunner": "batch",
    "ContextRelevancyEvaluator": "judges",
    "CorrectnessEvaluator": "judges",
    "EmbeddingQAFinetuneDataset": "dataset",
    "EvaluationResult": "base",
    "FaithfulnessEvaluator": "judges",
    "GuidelineEvaluator": "judges",
    "HitRate": "metrics",
    "MRR": "metrics",
    "NDCG": "metrics",
    "PairwiseComparisonEvaluator": "judges",
    "Precision": "metrics",
    "Recall": "metrics",
    "RelevancyEvaluator": "judges",
    "RetrievalEvalResult": "retrieval",
    "RetrievalMetricResult": "metrics",
    "RetrieverEvaluator": "retrieval",
    "SemanticSimilarityEvaluator": "semantic_similarity",
    "generate_question_context_pairs": "dataset",
    "mean_scores": "retrieval",
    "resolve_metrics": "metrics",
}

__all__ = [
    "MRR",
    "NDCG",
    "AnswerRelevancyEvaluator",
    "AveragePrecision",
    "BaseEvaluator",
    "BaseRetrievalMetric",
    "BatchEvalRunner",
    "ContextRelevancyEvaluator",
    "CorrectnessEvaluator",
    "EmbeddingQAFinetuneDataset",
    "EvaluationResult",
    "FaithfulnessEvaluator",
    "GuidelineEvaluator",
    "HitRate",
    "PairwiseComparisonEvaluator",
    "Precision",
    "Recall",
    "RelevancyEvaluator",
    "RetrievalEvalResult",
    "RetrievalMetricResult",
    "RetrieverEvaluator",
    "SemanticSimilarityEvaluator",
    "generate_question_context_pairs",
    "mean_scores",
    "resolve_metrics",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(f"ragcore.evaluation.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'ragcore.evaluation' has no attribute {name!r}")
