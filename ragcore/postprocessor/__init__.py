"""Between finding and answering: which passages stay, in which order, and with how much around them.

Names are loaded when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragcore.postprocessor.auto_prev_next import AutoPrevNextNodePostprocessor
    from ragcore.postprocessor.base import BaseNodePostprocessor
    from ragcore.postprocessor.keyword import KeywordNodePostprocessor
    from ragcore.postprocessor.llm_rerank import LLMRerank
    from ragcore.postprocessor.metadata_replacement import MetadataReplacementPostProcessor
    from ragcore.postprocessor.neighbours import NeighboursPostprocessor
    from ragcore.postprocessor.optimizer import SentenceEmbeddingOptimizer
    from ragcore.postprocessor.pii import PIINodePostprocessor
    from ragcore.postprocessor.prev_next import PrevNextNodePostprocessor
    from ragcore.postprocessor.rankgpt import RankGPTRerank
    from ragcore.postprocessor.recency import EmbeddingRecencyPostprocessor, FixedRecencyPostprocessor
    from ragcore.postprocessor.reorder import LongContextReorder
    from ragcore.postprocessor.sentence_transformer_rerank import SentenceTransformerRerank
    from ragcore.postprocessor.similarity import SimilarityPostprocessor
    from ragcore.postprocessor.time_weighted import TimeWeightedPostprocessor

_HOMES = {
    "AutoPrevNextNodePostprocessor": "ragcore.postprocessor.auto_prev_next",
    "BaseNodePostprocessor": "ragcore.postprocessor.base",
    "EmbeddingRecencyPostprocessor": "ragcore.postprocessor.recency",
    "FixedRecencyPostprocessor": "ragcore.postprocessor.recency",
    "KeywordNodePostprocessor": "ragcore.postprocessor.keyword",
    "LLMRerank": "ragcore.postprocessor.llm_rerank",
    "LongContextReorder": "ragcore.postprocessor.reorder",
    "MetadataReplacementPostProcessor": "ragcore.postprocessor.metadata_replacement",
    "NeighboursPostprocessor": "ragcore.postprocessor.neighbours",
    "PIINodePostprocessor": "ragcore.postprocessor.pii",
    "PrevNextNodePostprocessor": "ragcore.postprocessor.prev_next",
    "RankGPTRerank": "ragcore.postprocessor.rankgpt",
    "SentenceEmbeddingOptimizer": "ragcore.postprocessor.optimizer",
    "SentenceTransformerRerank": "ragcore.postprocessor.sentence_transformer_rerank",
    "SimilarityPostprocessor": "ragcore.postprocessor.similarity",
    "TimeWeightedPostprocessor": "ragcore.postprocessor.time_weighted",
}

__all__ = [
    "AutoPrevNextNodePostprocessor",
    "BaseNodePostprocessor",
    "EmbeddingRecencyPostprocessor",
    "FixedRecencyPostprocessor",
    "KeywordNodePostprocessor",
    "LLMRerank",
    "LongContextReorder",
    "MetadataReplacementPostProcessor",
    "NeighboursPostprocessor",
    "PIINodePostprocessor",
    "PrevNextNodePostprocessor",
    "RankGPTRerank",
    "SentenceEmbeddingOptimizer",
    "SentenceTransformerRerank",
    "SimilarityPostprocessor",
    "TimeWeightedPostprocessor",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'ragcore.postprocessor' has no attribute {name!r}")
