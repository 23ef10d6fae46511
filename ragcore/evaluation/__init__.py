"""Measures retrieval and answers: metrics, judges, sets of questions, and batches of them."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

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
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
