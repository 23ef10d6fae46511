"""From files, folders, databases and texts to documents."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.readers.base import BaseReader as BaseReader
    from ragcore.readers.database import DatabaseReader as DatabaseReader
    from ragcore.readers.directory import SimpleDirectoryReader as SimpleDirectoryReader
    from ragcore.readers.unconverted_text import FlatReader as FlatReader
    from ragcore.readers.unconverted_text import StringIterableReader as StringIterableReader
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
