"""Conversations about documents, in seven modes."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.chat_engine.base import AgentChatResponse, ChatEngine, StreamingAgentChatResponse
    from ragcore.chat_engine.condense_question import CondenseQuestionChatEngine
    from ragcore.chat_engine.context import CondensePlusContextChatEngine, ContextChatEngine
    from ragcore.chat_engine.simple import SimpleChatEngine
    from ragcore.chat_modes import ChatMode, chat_engine
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
