"""From files, folders, databases and texts to documents."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.readers import (
        BaseReader,
        DatabaseReader,
        FlatReader,
        SimpleDirectoryReader,
        StringIterableReader,
    )
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
