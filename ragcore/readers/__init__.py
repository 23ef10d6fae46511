"""From files, folders, databases and texts to documents."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.readers.base import BaseReader
    from ragcore.readers.database import DatabaseReader
    from ragcore.readers.directory import SimpleDirectoryReader
    from ragcore.readers.unconverted_text import FlatReader, StringIterableReader
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
