"""Language models, and what messages to them may contain."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.llamaindex.content_blocks import (
        AudioBlock,
        CacheControl,
        CachePoint,
        ContentBlock,
        DocumentBlock,
        ImageBlock,
        ThinkingBlock,
    )
    from ragcore.llamaindex.llms.mock_function_calling import MockFunctionCallingLLM
    from ragcore.llms import (
        LLM,
        ChatMessage,
        ChatResponse,
        CompletionResponse,
        CompletionResponseGen,
        CustomLLM,
        ExtractiveLLM,
        FunctionCallingLLM,
        Generation,
        LlamaCPP,
        LLMMetadata,
        MessageRole,
        MockLLM,
        Ollama,
        OpenAI,
        OpenAICompatibleLLM,
        OpenAILike,
        ScriptedLLM,
        StructuredLLM,
        TextBlock,
        ToolCall,
        ToolCallBlock,
        ToolSelection,
    )
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
