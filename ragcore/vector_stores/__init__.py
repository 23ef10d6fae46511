"""Stores of passages and their vectors, with filters and queries."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.vector_stores.base import Candidates as Candidates
    from ragcore.vector_stores.base import Scope as Scope
    from ragcore.vector_stores.base import Store as Store
    from ragcore.vector_stores.base import StoredDocument as StoredDocument
    from ragcore.vector_stores.chroma import ChromaVectorStore as ChromaVectorStore
    from ragcore.vector_stores.disk import DiskStore as DiskStore
    from ragcore.vector_stores.filters import ExactMatchFilter as ExactMatchFilter
    from ragcore.vector_stores.filters import FilterCondition as FilterCondition
    from ragcore.vector_stores.filters import FilterOperator as FilterOperator
    from ragcore.vector_stores.filters import MetadataFilter as MetadataFilter
    from ragcore.vector_stores.filters import MetadataFilters as MetadataFilters
    from ragcore.vector_stores.memory import MemoryStore as MemoryStore
    from ragcore.vector_stores.memory import SimpleVectorStore as SimpleVectorStore
    from ragcore.vector_stores.postgres import PGVectorStore as PGVectorStore
    from ragcore.vector_stores.postgres import PostgresStore as PostgresStore
    from ragcore.vector_stores.query_modes import VectorStoreQueryMode as VectorStoreQueryMode
    from ragcore.vector_stores.types import BasePydanticVectorStore as BasePydanticVectorStore
    from ragcore.vector_stores.types import MetadataInfo as MetadataInfo
    from ragcore.vector_stores.types import VectorStoreInfo as VectorStoreInfo
    from ragcore.vector_stores.types import VectorStoreQuery as VectorStoreQuery
    from ragcore.vector_stores.types import VectorStoreQueryResult as VectorStoreQueryResult
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
