"""Between finding and answering: which passages stay, in which order, and with how much around them."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.postprocessor.base import BaseNodePostprocessor as BaseNodePostprocessor
    from ragcore.postprocessor.keyword import KeywordNodePostprocessor as KeywordNodePostprocessor
    from ragcore.postprocessor.llm_rerank import LLMRerank as LLMRerank
    from ragcore.postprocessor.llm_rerank import RankGPTRerank as RankGPTRerank
    from ragcore.postprocessor.llm_rerank import StructuredLLMRerank as StructuredLLMRerank
    from ragcore.postprocessor.metadata_replacement import (
        MetadataReplacementPostProcessor as MetadataReplacementPostProcessor,
    )
    from ragcore.postprocessor.optimizer import SentenceEmbeddingOptimizer as SentenceEmbeddingOptimizer
    from ragcore.postprocessor.pii import PIINodePostprocessor as PIINodePostprocessor
    from ragcore.postprocessor.prev_next import AutoPrevNextNodePostprocessor as AutoPrevNextNodePostprocessor
    from ragcore.postprocessor.prev_next import PrevNextNodePostprocessor as PrevNextNodePostprocessor
    from ragcore.postprocessor.recency import EmbeddingRecencyPostprocessor as EmbeddingRecencyPostprocessor
    from ragcore.postprocessor.recency import FixedRecencyPostprocessor as FixedRecencyPostprocessor
    from ragcore.postprocessor.recency import TimeWeightedPostprocessor as TimeWeightedPostprocessor
    from ragcore.postprocessor.reorder import LongContextReorder as LongContextReorder
    from ragcore.postprocessor.sentence_transformer_rerank import (
        SentenceTransformerRerank as SentenceTransformerRerank,
    )
    from ragcore.postprocessor.similarity import SimilarityPostprocessor as SimilarityPostprocessor
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
