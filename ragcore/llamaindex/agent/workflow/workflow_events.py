"""The events of agents that are workflows (extra: workflow).

>>> AgentStream(delta="lo", response="Hello", current_agent_name="Agent").response
'Hello'
"""

from __future__ import annotations

import logging
from typing import Any

from pydantic import Field, ValidationError

from ragcore.llamaindex.workflow import Event, StartEvent
from ragcore.prompts.structured_output import Form
from ragcore.schema import ChatMessage
from ragcore.tools import ToolOutput, ToolSelection

logger = logging.getLogger(__name__)


class AgentWorkflowStartEvent(StartEvent):
    """The inputs of a run."""

    user_msg: str | ChatMessage | None = None
    chat_history: list[ChatMessage] | None = None
    memory: Any = None
    max_iterations: int | None = None
    early_stopping_method: str | None = None


class AgentInput(Event):
    """The messages that an agent sends to its model."""

    input: list[ChatMessage]
    current_agent_name: str


class AgentStream(Event):
    """A piece of the model's answer, and the answer so far."""

    delta: str
    response: str
    current_agent_name: str
    tool_calls: list[ToolSelection] = Field(default_factory=list)
    raw: Any = Field(default=None, exclude=True)
    thinking_delta: str | None = None


class AgentStreamStructuredOutput(Event):
    """The answer in the form `output_cls`."""

    output: dict[str, Any]

    def get_pydantic_model(self, model: type[Form]) -> Form | None:
        """The answer as an object; None if it has another form."""
        return _of_form(self.output, model)


class AgentOutput(Event):
    """A reply of the model. The last one of a run is the run's result."""

    response: ChatMessage
    current_agent_name: str
    structured_response: dict[str, Any] | None = None
    tool_calls: list[ToolSelection] = Field(default_factory=list)
    retry_messages: list[ChatMessage] = Field(default_factory=list)
    raw: Any = Field(default=None, exclude=True)

    def get_pydantic_model(self, model: type[Form]) -> Form | None:
        """The structured answer as an object; None if there is none or it has another form."""
        return None if self.structured_response is None else _of_form(self.structured_response, model)

    def __str__(self) -> str:
        return self.response.content


class ToolCall(Event):
    """A tool starts."""

    tool_name: str
    tool_kwargs: dict[str, Any]
    tool_id: str


class ToolCallResult(Event):
    """A tool has returned."""

    tool_name: str
    tool_kwargs: dict[str, Any]
    tool_id: str
    tool_output: ToolOutput
    return_direct: bool = False


def _of_form(values: dict[str, Any], model: type[Form]) -> Form | None:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        logger.warning("the answer has not the form %s: %s", model.__name__, error)
        return None
