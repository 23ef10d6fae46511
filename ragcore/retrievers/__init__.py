"""From a question to its passages."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.indices.document_summary.retrievers import (
        DocumentSummaryIndexEmbeddingRetriever as DocumentSummaryIndexEmbeddingRetriever,
    )
    from ragcore.indices.document_summary.retrievers import (
        DocumentSummaryIndexLLMRetriever as DocumentSummaryIndexLLMRetriever,
    )
    from ragcore.indices.keyword_table.retrievers import KeywordTableRetriever as KeywordTableRetriever
    from ragcore.indices.keyword_table.retrievers import (
        KeywordTableSimpleRetriever as KeywordTableSimpleRetriever,
    )
    from ragcore.indices.summary.retrievers import (
        SummaryIndexEmbeddingRetriever as SummaryIndexEmbeddingRetriever,
    )
    from ragcore.indices.summary.retrievers import SummaryIndexLLMRetriever as SummaryIndexLLMRetriever
    from ragcore.indices.summary.retrievers import SummaryIndexRetriever as SummaryIndexRetriever
    from ragcore.indices.tree.retrievers import TreeAllLeafRetriever as TreeAllLeafRetriever
    from ragcore.indices.tree.retrievers import TreeRootRetriever as TreeRootRetriever
    from ragcore.indices.tree.retrievers import (
        TreeSelectLeafEmbeddingRetriever as TreeSelectLeafEmbeddingRetriever,
    )
    from ragcore.indices.tree.retrievers import TreeSelectLeafRetriever as TreeSelectLeafRetriever
    from ragcore.retrievers.auto import VectorIndexAutoRetriever as VectorIndexAutoRetriever
    from ragcore.retrievers.auto_merging import AutoMergingRetriever as AutoMergingRetriever
    from ragcore.retrievers.base import BaseRetriever as BaseRetriever
    from ragcore.retrievers.bm25 import BM25Retriever as BM25Retriever
    from ragcore.retrievers.fusion import QueryFusionRetriever as QueryFusionRetriever
    from ragcore.retrievers.hybrid import HybridRetriever as HybridRetriever
    from ragcore.retrievers.query_transforms import TransformRetriever as TransformRetriever
    from ragcore.retrievers.recursive import RecursiveRetriever as RecursiveRetriever
    from ragcore.retrievers.router import RouterRetriever as RouterRetriever
    from ragcore.retrievers.summary_request import OverviewRetriever as OverviewRetriever
    from ragcore.retrievers.vector import VectorIndexRetriever as VectorIndexRetriever
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
