"""From a question to its passages."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.llamaindex.indices.document_summary.retrievers import (
        DocumentSummaryIndexEmbeddingRetriever,
        DocumentSummaryIndexLLMRetriever,
    )
    from ragcore.llamaindex.indices.keyword_table.retrievers import (
        KeywordTableRetriever,
        KeywordTableSimpleRetriever,
    )
    from ragcore.llamaindex.retrievers.auto_retriever import VectorIndexAutoRetriever
    from ragcore.llamaindex.retrievers.bm25 import BM25Retriever
    from ragcore.llamaindex.retrievers.fusion_retriever import QueryFusionRetriever
    from ragcore.llamaindex.retrievers.recursive_retriever import RecursiveRetriever
    from ragcore.llamaindex.retrievers.transform_retriever import TransformRetriever
    from ragcore.retrievers import (
        AutoMergingRetriever,
        BaseRetriever,
        HybridRetriever,
        OverviewRetriever,
        RouterRetriever,
        SummaryIndexEmbeddingRetriever,
        SummaryIndexLLMRetriever,
        SummaryIndexRetriever,
        TreeAllLeafRetriever,
        TreeRootRetriever,
        TreeSelectLeafEmbeddingRetriever,
        TreeSelectLeafRetriever,
        VectorIndexRetriever,
    )
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
