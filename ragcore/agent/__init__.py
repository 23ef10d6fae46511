"""Agents: a language model that works with tools until it can answer."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.agent.base import Agent as Agent
    from ragcore.agent.function_calling import FunctionCallingAgent as FunctionCallingAgent
    from ragcore.agent.function_calling import OpenAIAgent as OpenAIAgent
    from ragcore.agent.react import ReActAgent as ReActAgent
    from ragcore.agent.workflow import AgentWorkflow as AgentWorkflow
    from ragcore.agent.workflow import FunctionAgent as FunctionAgent
    from ragcore.chat_engine.base import AgentChatResponse as AgentChatResponse
    from ragcore.chat_engine.base import End as End
    from ragcore.chat_engine.base import StreamingAgentChatResponse as StreamingAgentChatResponse
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
