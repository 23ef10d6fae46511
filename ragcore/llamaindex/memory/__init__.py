"""The memory of a conversation, and its further parts."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.llamaindex.memory.chat_summary_memory_buffer import ChatSummaryMemoryBuffer
    from ragcore.llamaindex.memory.memory import (
        BaseMemoryBlock,
        FactExtractionMemoryBlock,
        InsertMethod,
        Memory,
        StaticMemoryBlock,
        VectorMemoryBlock,
    )
    from ragcore.llamaindex.memory.vector_memory import SimpleComposableMemory, VectorMemory
    from ragcore.memory import ChatMemoryBuffer
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
