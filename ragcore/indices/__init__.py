"""Indexes: data structures over documents from which passages are retrieved."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.indices.base import BaseIndex
    from ragcore.indices.loading import load_index_from_storage, load_indices_from_storage
    from ragcore.indices.summary.index import SummaryIndex
    from ragcore.indices.tree.index import TreeIndex
    from ragcore.indices.vector import VectorStoreIndex
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
