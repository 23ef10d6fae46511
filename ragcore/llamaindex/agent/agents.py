"""The agents of `ragcore.agent`, which can also run as a workflow."""

from __future__ import annotations

from typing import Any

from ragcore.agent import base, function_calling, react
from ragcore.schema import ChatMessage


class Agent(base.Agent):
    """An agent with `run`."""

    def run(self, user_msg: str | ChatMessage, **options: Any) -> Any:
        """The same agent as a workflow, which is awaited (extra: workflow): `await agent.run("...")`. It has
        a conversation of its own; options are those of `AgentWorkflow.run`."""
        from ragcore.llamaindex.agent import workflow

        kind = workflow.FunctionAgent if self.calls_functions else workflow.ReActAgent
        tools: list[Any] = list(self._tools.values())
        return kind(tools=tools, llm=self._llm, system_prompt=self._system_prompt).run(user_msg, **options)


class ReActAgent(Agent, react.ReActAgent):
    """An agent that writes its thoughts and actions as text."""


class FunctionCallingAgent(Agent, function_calling.FunctionCallingAgent):
    """An agent whose model calls functions."""


class OpenAIAgent(Agent, function_calling.OpenAIAgent):
    """FunctionCallingAgent under its older name."""
