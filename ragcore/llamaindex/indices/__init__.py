"""Indexes, also those of keywords and of summaries of documents."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.indices import BaseIndex, SummaryIndex, TreeIndex, VectorStoreIndex
    from ragcore.llamaindex.indices.document_summary.base import DocumentSummaryIndex
    from ragcore.llamaindex.indices.keyword_table.base import (
        KeywordTableIndex,
        RAKEKeywordTableIndex,
        SimpleKeywordTableIndex,
    )
    from ragcore.llamaindex.indices.loading import load_index_from_storage, load_indices_from_storage
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
