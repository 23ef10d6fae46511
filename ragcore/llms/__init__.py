"""Language models, loaded when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragcore.llms.base import LLM, Generation, LLMMetadata
    from ragcore.llms.custom import CustomLLM
    from ragcore.llms.extractive import ExtractiveLLM
    from ragcore.llms.mock import MockLLM
    from ragcore.llms.ollama import Ollama
    from ragcore.llms.openai import OpenAI, OpenAICompatibleLLM, OpenAILike
    from ragcore.llms.scripted import ScriptedLLM
    from ragcore.llms.tool_call import ToolCall
    from ragcore.schema import ChatMessage, ChatResponse, CompletionResponse, MessageRole

_HOMES = {
    "LLM": "ragcore.llms.base",
    "ChatMessage": "ragcore.schema",
    "ChatResponse": "ragcore.schema",
    "CompletionResponse": "ragcore.schema",
    "CustomLLM": "ragcore.llms.custom",
    "ExtractiveLLM": "ragcore.llms.extractive",
    "Generation": "ragcore.llms.base",
    "LLMMetadata": "ragcore.llms.base",
    "MessageRole": "ragcore.schema",
    "MockLLM": "ragcore.llms.mock",
    "Ollama": "ragcore.llms.ollama",
    "OpenAI": "ragcore.llms.openai",
    "OpenAICompatibleLLM": "ragcore.llms.openai",
    "OpenAILike": "ragcore.llms.openai",
    "ScriptedLLM": "ragcore.llms.scripted",
    "ToolCall": "ragcore.llms.tool_call",
}

__all__ = [
    "LLM",
    "ChatMessage",
    "ChatResponse",
    "CompletionResponse",
    "CustomLLM",
    "ExtractiveLLM",
    "Generation",
    "LLMMetadata",
    "MessageRole",
    "MockLLM",
    "Ollama",
    "OpenAI",
    "OpenAICompatibleLLM",
    "OpenAILike",
    "ScriptedLLM",
    "ToolCall",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'ragcore.llms' has no attribute {name!r}")
