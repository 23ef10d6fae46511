"""Conversations about documents, in seven modes."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.chat_engine.base import AgentChatResponse as AgentChatResponse
    from ragcore.chat_engine.base import ChatEngine as ChatEngine
    from ragcore.chat_engine.base import StreamingAgentChatResponse as StreamingAgentChatResponse
    from ragcore.chat_engine.condense_question import CondenseQuestionChatEngine as CondenseQuestionChatEngine
    from ragcore.chat_engine.context import CondensePlusContextChatEngine as CondensePlusContextChatEngine
    from ragcore.chat_engine.context import ContextChatEngine as ContextChatEngine
    from ragcore.chat_engine.simple import SimpleChatEngine as SimpleChatEngine
    from ragcore.chat_modes import ChatMode as ChatMode
    from ragcore.chat_modes import chat_engine as chat_engine
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
