"""Turning documents into passages for a store."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.ingestion.cache import IngestionCache
    from ragcore.ingestion.pipeline import DocstoreStrategy, IngestionPipeline
    from ragcore.ingestion.transformations import EmbeddingStep, run_transformations
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
