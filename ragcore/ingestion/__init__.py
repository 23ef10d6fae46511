"""From documents to passages that are ready to be found. Names are loaded when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragcore.ingestion.cache import IngestionCache
    from ragcore.ingestion.pipeline import DocstoreStrategy, IngestionPipeline
    from ragcore.ingestion.steps import EmbeddingStep, run_transformations

_HOMES = {
    "DocstoreStrategy": "ragcore.ingestion.pipeline",
    "EmbeddingStep": "ragcore.ingestion.steps",
    "IngestionCache": "ragcore.ingestion.cache",
    "IngestionPipeline": "ragcore.ingestion.pipeline",
    "run_transformations": "ragcore.ingestion.steps",
}

__all__ = ["DocstoreStrategy", "EmbeddingStep", "IngestionCache", "IngestionPipeline", "run_transformations"]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'ragcore.ingestion' has no attribute {name!r}")
