"""Stores of passages and their vectors, with filters and queries."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.vector_stores.base import Candidates, Scope, Store, StoredDocument
    from ragcore.vector_stores.chroma import ChromaVectorStore
    from ragcore.vector_stores.disk import DiskStore
    from ragcore.vector_stores.filters import (
        ExactMatchFilter,
        FilterCondition,
        FilterOperator,
        MetadataFilter,
        MetadataFilters,
    )
    from ragcore.vector_stores.memory import MemoryStore, SimpleVectorStore
    from ragcore.vector_stores.postgres import PGVectorStore, PostgresStore
    from ragcore.vector_stores.query_modes import VectorStoreQueryMode
    from ragcore.vector_stores.types import (
        BasePydanticVectorStore,
        MetadataInfo,
        VectorStoreInfo,
        VectorStoreQuery,
        VectorStoreQueryResult,
    )
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
