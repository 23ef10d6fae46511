"""The memory of a conversation."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.memory.blocks import BaseMemoryBlock as BaseMemoryBlock
    from ragcore.memory.blocks import FactExtractionMemoryBlock as FactExtractionMemoryBlock
    from ragcore.memory.blocks import InsertMethod as InsertMethod
    from ragcore.memory.blocks import Memory as Memory
    from ragcore.memory.blocks import StaticMemoryBlock as StaticMemoryBlock
    from ragcore.memory.blocks import VectorMemoryBlock as VectorMemoryBlock
    from ragcore.memory.chat_memory import ChatMemoryBuffer as ChatMemoryBuffer
    from ragcore.memory.chat_memory import ChatSummaryMemoryBuffer as ChatSummaryMemoryBuffer
    from ragcore.memory.vector_memory import SimpleComposableMemory as SimpleComposableMemory
    from ragcore.memory.vector_memory import VectorMemory as VectorMemory
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
