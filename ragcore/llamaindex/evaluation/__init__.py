"""Measures retrieval and answers, and makes sets of questions."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.evaluation import (
        MRR,
        NDCG,
        AnswerRelevancyEvaluator,
        AveragePrecision,
        BaseEvaluator,
        BaseRetrievalMetric,
        BatchEvalRunner,
        ContextRelevancyEvaluator,
        CorrectnessEvaluator,
        EmbeddingQAFinetuneDataset,
        EvaluationResult,
        FaithfulnessEvaluator,
        GuidelineEvaluator,
        HitRate,
        PairwiseComparisonEvaluator,
        Precision,
        Recall,
        RelevancyEvaluator,
        RetrievalEvalResult,
        RetrievalMetricResult,
        RetrieverEvaluator,
        SemanticSimilarityEvaluator,
        generate_question_context_pairs,
        mean_scores,
        resolve_metrics,
    )
    from ragcore.llamaindex.evaluation.dataset_generation import (
        DatasetGenerator,
        QueryResponseDataset,
        aget_responses,
        get_eval_results_df,
        get_responses,
        get_results_df,
        get_retrieval_results_df,
    )
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
