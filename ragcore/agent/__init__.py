"""Agents: a language model that works with tools until it can answer. Names are loaded when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragcore.agent.base import Agent, Task, TaskStepOutput
    from ragcore.agent.function_calling import FunctionCallingAgent, OpenAIAgent
    from ragcore.agent.react import ReActAgent
    from ragcore.chat_engine.base import AgentChatResponse, End, StreamingAgentChatResponse

_HOMES = {
    "Agent": "ragcore.agent.base",
    "AgentChatResponse": "ragcore.chat_engine.base",
    "End": "ragcore.chat_engine.base",
    "FunctionCallingAgent": "ragcore.agent.function_calling",
    "OpenAIAgent": "ragcore.agent.function_calling",
    "ReActAgent": "ragcore.agent.react",
    "StreamingAgentChatResponse": "ragcore.chat_engine.base",
    "Task": "ragcore.agent.base",
    "TaskStepOutput": "ragcore.agent.base",
}

__all__ = [
    "Agent",
    "AgentChatResponse",
    "End",
    "FunctionCallingAgent",
    "OpenAIAgent",
    "ReActAgent",
    "StreamingAgentChatResponse",
    "Task",
    "TaskStepOutput",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'ragcore.agent' has no attribute {name!r}")
