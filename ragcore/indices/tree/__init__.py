"""A tree of summaries over the passages."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.indices.tree.index import TreeIndex
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
