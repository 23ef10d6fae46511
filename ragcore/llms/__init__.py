"""Language models, loaded when first used."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.extractive.answerer import ExtractiveLLM
    from ragcore.llms.base import LLM, FunctionCallingLLM, Generation, LLMMetadata
    from ragcore.llms.custom import CompletionResponseGen, CustomLLM
    from ragcore.llms.llama_cpp import LlamaCPP
    from ragcore.llms.mock import MockLLM
    from ragcore.llms.ollama import Ollama
    from ragcore.llms.openai import OpenAI, OpenAICompatibleLLM, OpenAILike
    from ragcore.llms.scripted import ScriptedLLM
    from ragcore.llms.structured import StructuredLLM
    from ragcore.llms.tool_call import ToolCall
    from ragcore.schema import ChatMessage, ChatResponse, CompletionResponse, MessageRole
    from ragcore.schema.content_blocks import TextBlock, ToolCallBlock
    from ragcore.tools import ToolSelection
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
