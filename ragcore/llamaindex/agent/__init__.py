"""Agents, also as workflows."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.agent import AgentChatResponse, End, StreamingAgentChatResponse
    from ragcore.llamaindex.agent.agents import Agent, FunctionCallingAgent, OpenAIAgent, ReActAgent
    from ragcore.llamaindex.agent.workflow.multi_agent_workflow import AgentWorkflow, FunctionAgent
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
