"""Conversations about documents, in seven modes. Names are loaded when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragcore.chat_engine.base import AgentChatResponse, ChatEngine, StreamingAgentChatResponse
    from ragcore.chat_engine.condense_question import CondenseQuestionChatEngine
    from ragcore.chat_engine.context import CondensePlusContextChatEngine, ContextChatEngine
    from ragcore.chat_engine.registry import ChatMode, chat_engine
    from ragcore.chat_engine.simple import SimpleChatEngine

_HOMES = {
    "AgentChatResponse": "ragcore.chat_engine.base",
    "ChatEngine": "ragcore.chat_engine.base",
    "ChatMode": "ragcore.chat_engine.registry",
    "CondensePlusContextChatEngine": "ragcore.chat_engine.context",
    "CondenseQuestionChatEngine": "ragcore.chat_engine.condense_question",
    "ContextChatEngine": "ragcore.chat_engine.context",
    "SimpleChatEngine": "ragcore.chat_engine.simple",
    "StreamingAgentChatResponse": "ragcore.chat_engine.base",
    "chat_engine": "ragcore.chat_engine.registry",
}

__all__ = [
    "AgentChatResponse",
    "ChatEngine",
    "ChatMode",
    "CondensePlusContextChatEngine",
    "CondenseQuestionChatEngine",
    "ContextChatEngine",
    "SimpleChatEngine",
    "StreamingAgentChatResponse",
    "chat_engine",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'ragcore.chat_engine' has no attribute {name!r}")
