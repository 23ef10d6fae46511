"""Loads indexes from a storage, also those that only the ring has."""

from __future__ import annotations

from ragcore.indices.loading import KINDS
from ragcore.indices.loading import load_index_from_storage as load_index_from_storage
from ragcore.indices.loading import load_indices_from_storage as load_indices_from_storage

KINDS.update(
    {
        "document_summary": "ragcore.llamaindex.indices.document_summary.base:DocumentSummaryIndex",
        "keyword_table": "ragcore.llamaindex.indices.keyword_table.base:KeywordTableIndex",
        "rake_keyword_table": "ragcore.llamaindex.indices.keyword_table.base:RAKEKeywordTableIndex",
        "simple_keyword_table": "ragcore.llamaindex.indices.keyword_table.base:SimpleKeywordTableIndex",
    }
)
