"""From a question to its passages."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
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
    from ragcore.retrievers.auto_merging import AutoMergingRetriever
    from ragcore.retrievers.base import BaseRetriever
    from ragcore.retrievers.hybrid import HybridRetriever
    from ragcore.retrievers.router import RouterRetriever
    from ragcore.retrievers.summary_request import OverviewRetriever
    from ragcore.retrievers.vector import VectorIndexRetriever
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
