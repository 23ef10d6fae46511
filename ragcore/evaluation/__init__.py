"""Measures retrieval and answers: metrics, judges, sets of questions, and batches of them."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.evaluation.base import BaseEvaluator as BaseEvaluator
    from ragcore.evaluation.base import EvaluationResult as EvaluationResult
    from ragcore.evaluation.batch import BatchEvalRunner as BatchEvalRunner
    from ragcore.evaluation.dataset import EmbeddingQAFinetuneDataset as EmbeddingQAFinetuneDataset
    from ragcore.evaluation.dataset import generate_question_context_pairs as generate_question_context_pairs
    from ragcore.evaluation.judges import AnswerRelevancyEvaluator as AnswerRelevancyEvaluator
    from ragcore.evaluation.judges import ContextRelevancyEvaluator as ContextRelevancyEvaluator
    from ragcore.evaluation.judges import CorrectnessEvaluator as CorrectnessEvaluator
    from ragcore.evaluation.judges import FaithfulnessEvaluator as FaithfulnessEvaluator
    from ragcore.evaluation.judges import GuidelineEvaluator as GuidelineEvaluator
    from ragcore.evaluation.judges import PairwiseComparisonEvaluator as PairwiseComparisonEvaluator
    from ragcore.evaluation.judges import RelevancyEvaluator as RelevancyEvaluator
    from ragcore.evaluation.metrics import MRR as MRR
    from ragcore.evaluation.metrics import NDCG as NDCG
    from ragcore.evaluation.metrics import AveragePrecision as AveragePrecision
    from ragcore.evaluation.metrics import BaseRetrievalMetric as BaseRetrievalMetric
    from ragcore.evaluation.metrics import HitRate as HitRate
    from ragcore.evaluation.metrics import Precision as Precision
    from ragcore.evaluation.metrics import Recall as Recall
    from ragcore.evaluation.metrics import RetrievalMetricResult as RetrievalMetricResult
    from ragcore.evaluation.metrics import resolve_metrics as resolve_metrics
    from ragcore.evaluation.response_dataset import DatasetGenerator as DatasetGenerator
    from ragcore.evaluation.response_dataset import QueryResponseDataset as QueryResponseDataset
    from ragcore.evaluation.response_dataset import aget_responses as aget_responses
    from ragcore.evaluation.response_dataset import get_eval_results_df as get_eval_results_df
    from ragcore.evaluation.response_dataset import get_responses as get_responses
    from ragcore.evaluation.response_dataset import get_results_df as get_results_df
    from ragcore.evaluation.response_dataset import get_retrieval_results_df as get_retrieval_results_df
    from ragcore.evaluation.retrieval import RetrievalEvalResult as RetrievalEvalResult
    from ragcore.evaluation.retrieval import RetrieverEvaluator as RetrieverEvaluator
    from ragcore.evaluation.retrieval import mean_scores as mean_scores
    from ragcore.evaluation.semantic_similarity import (
        SemanticSimilarityEvaluator as SemanticSimilarityEvaluator,
    )
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
