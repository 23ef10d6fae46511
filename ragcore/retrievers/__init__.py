"""From a question to its passages."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.indices.document_summary.retrievers import (
        DocumentSummaryIndexEmbeddingRetriever,
        DocumentSummaryIndexLLMRetriever,
    )
    from ragcore.indices.keyword_table.retrievers import KeywordTableRetriever, KeywordTableSimpleRetriever
    from ragcore.indices.summary.retrievers import (
        SummaryIndexEmbeddingRetriever,
        SummaryIndexLLMRetriever,
        SummaryIndexRetriever,
    )
    from ragcore.indices.tree.retrievers import (
        TreeAllLeafRetriever,
        TreeRootRetriever,
        TreeSelectLeafEmbeddingRetriever,
        TreeSelectLeafRetriever,
    )
    from ragcore.retrievers.auto import VectorIndexAutoRetriever
    from ragcore.retrievers.auto_merging import AutoMergingRetriever
    from ragcore.retrievers.base import BaseRetriever
    from ragcore.retrievers.bm25 import BM25Retriever
    from ragcore.retrievers.fusion import QueryFusionRetriever
    from ragcore.retrievers.hybrid import HybridRetriever
    from ragcore.retrievers.query_transforms import TransformRetriever
    from ragcore.retrievers.recursive import RecursiveRetriever
    from ragcore.retrievers.router import RouterRetriever
    from ragcore.retrievers.summary_request import OverviewRetriever
    from ragcore.retrievers.vector import VectorIndexRetriever
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
