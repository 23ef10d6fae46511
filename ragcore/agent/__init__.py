"""Agents: a language model that works with tools until it can answer."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.agent.base import Agent
    from ragcore.agent.function_calling import FunctionCallingAgent, OpenAIAgent
    from ragcore.agent.react import ReActAgent
    from ragcore.chat_engine.base import AgentChatResponse, End, StreamingAgentChatResponse
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
