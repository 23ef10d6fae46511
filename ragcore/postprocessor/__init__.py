"""Between finding and answering: which passages stay, in which order, and with how much around them."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.postprocessor.base import BaseNodePostprocessor
    from ragcore.postprocessor.keyword import KeywordNodePostprocessor
    from ragcore.postprocessor.llm_rerank import LLMRerank, RankGPTRerank, StructuredLLMRerank
    from ragcore.postprocessor.metadata_replacement import MetadataReplacementPostProcessor
    from ragcore.postprocessor.prev_next import PrevNextNodePostprocessor
    from ragcore.postprocessor.reorder import LongContextReorder
    from ragcore.postprocessor.sentence_transformer_rerank import SentenceTransformerRerank
    from ragcore.postprocessor.similarity import SimilarityPostprocessor
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
