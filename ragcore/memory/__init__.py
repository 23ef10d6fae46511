"""The memory of a conversation."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.memory.chat_memory import ChatMemoryBuffer
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
