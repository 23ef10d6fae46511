"""Steps that hand events to each other: the package `llama-index-workflows` (extra: workflow), by the names
of LlamaIndex.

>>> import asyncio
>>> class Greet(Workflow):
...     @step
...     async def greet(self, event: StartEvent) -> StopEvent:
...         return StopEvent(result=f"Hello {event.name}")
>>> async def main() -> str:
...     return await Greet().run(name="Ada")
>>> asyncio.run(main())
'Hello Ada'
"""

from __future__ import annotations

try:
    from workflows import Context as Context
    from workflows import Workflow as Workflow
    from workflows import step as step
    from workflows.context import JsonSerializer as JsonSerializer
    from workflows.context import PickleSerializer
    from workflows.errors import WorkflowRuntimeError as WorkflowRuntimeError
    from workflows.errors import WorkflowTimeoutError as WorkflowTimeoutError
    from workflows.errors import WorkflowValidationError as WorkflowValidationError
    from workflows.events import Event as Event
    from workflows.events import HumanResponseEvent as HumanResponseEvent
    from workflows.events import InputRequiredEvent as InputRequiredEvent
    from workflows.events import StartEvent as StartEvent
    from workflows.events import StopEvent as StopEvent
    from workflows.handler import WorkflowHandler as WorkflowHandler
except ImportError as error:
    raise ImportError(
        "ragcore.llamaindex.workflow and agent.workflow need the package llama-index-workflows: "
        "pip install 'lectern[workflow]' (or: pip install llama-index-workflows)"
    ) from error

JsonPickleSerializer = PickleSerializer
