"""Between retrieval and the answer: which passages stay, in which order, and with how much around them."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.llamaindex.postprocessor.auto_prev_next import AutoPrevNextNodePostprocessor
    from ragcore.llamaindex.postprocessor.node_recency import (
        EmbeddingRecencyPostprocessor,
        FixedRecencyPostprocessor,
        TimeWeightedPostprocessor,
    )
    from ragcore.llamaindex.postprocessor.optimizer import SentenceEmbeddingOptimizer
    from ragcore.llamaindex.postprocessor.pii import PIINodePostprocessor
    from ragcore.postprocessor import (
        BaseNodePostprocessor,
        KeywordNodePostprocessor,
        LLMRerank,
        LongContextReorder,
        MetadataReplacementPostProcessor,
        PrevNextNodePostprocessor,
        RankGPTRerank,
        SentenceTransformerRerank,
        SimilarityPostprocessor,
        StructuredLLMRerank,
    )
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
