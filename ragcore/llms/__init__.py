"""Language models, loaded when first used."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.content_blocks import AudioBlock as AudioBlock
    from ragcore.content_blocks import CacheControl as CacheControl
    from ragcore.content_blocks import CachePoint as CachePoint
    from ragcore.content_blocks import ContentBlock as ContentBlock
    from ragcore.content_blocks import DocumentBlock as DocumentBlock
    from ragcore.content_blocks import ImageBlock as ImageBlock
    from ragcore.content_blocks import TextBlock as TextBlock
    from ragcore.content_blocks import ThinkingBlock as ThinkingBlock
    from ragcore.content_blocks import ToolCallBlock as ToolCallBlock
    from ragcore.extractive.answerer import ExtractiveLLM as ExtractiveLLM
    from ragcore.llms.base import LLM as LLM
    from ragcore.llms.base import FunctionCallingLLM as FunctionCallingLLM
    from ragcore.llms.base import Generation as Generation
    from ragcore.llms.base import LLMMetadata as LLMMetadata
    from ragcore.llms.custom import CompletionResponseGen as CompletionResponseGen
    from ragcore.llms.custom import CustomLLM as CustomLLM
    from ragcore.llms.llama_cpp import LlamaCPP as LlamaCPP
    from ragcore.llms.mock import MockFunctionCallingLLM as MockFunctionCallingLLM
    from ragcore.llms.mock import MockLLM as MockLLM
    from ragcore.llms.ollama import Ollama as Ollama
    from ragcore.llms.openai import OpenAI as OpenAI
    from ragcore.llms.openai import OpenAICompatibleLLM as OpenAICompatibleLLM
    from ragcore.llms.openai import OpenAILike as OpenAILike
    from ragcore.llms.scripted import ScriptedLLM as ScriptedLLM
    from ragcore.llms.structured import StructuredLLM as StructuredLLM
    from ragcore.llms.tool_call import ToolCall as ToolCall
    from ragcore.schema import ChatMessage as ChatMessage
    from ragcore.schema import ChatResponse as ChatResponse
    from ragcore.schema import CompletionResponse as CompletionResponse
    from ragcore.schema import MessageRole as MessageRole
    from ragcore.tools import ToolSelection as ToolSelection
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
