"""All passages, one after the other."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.indices.summary.index import SummaryIndex
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
