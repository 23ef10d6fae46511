"""Agents as workflows (extra: workflow)."""

from ragcore.llamaindex.agent.workflow.multi_agent_workflow import (
    AgentWorkflow,
    BaseWorkflowAgent,
    FunctionAgent,
    ReActAgent,
)
from ragcore.llamaindex.agent.workflow.workflow_events import (
    AgentInput,
    AgentOutput,
    AgentStream,
    AgentStreamStructuredOutput,
    AgentWorkflowStartEvent,
    ToolCall,
    ToolCallResult,
)
