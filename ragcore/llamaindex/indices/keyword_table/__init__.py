"""Which passages have which keywords."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.llamaindex.indices.keyword_table.base import (
        KeywordTableIndex,
        RAKEKeywordTableIndex,
        SimpleKeywordTableIndex,
    )
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
