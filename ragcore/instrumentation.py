"""Events and spans by LlamaIndex's names, from the package `llama-index-instrumentation` (extra: workflow).

What `ragcore.observe` tells is passed on to the handlers of its dispatchers, as events named after the stage:

>>> from ragcore.instrumentation.event_handlers import BaseEventHandler
>>> class Heard(BaseEventHandler):
...     names: list = []
...     def handle(self, event, **kwargs):
...         self.names.append(type(event).__name__)
>>> handler = Heard()
>>> get_dispatcher().add_event_handler(handler)
>>> from ragcore.llms import MockLLM
>>> _ = MockLLM().predict(PromptTemplate("Hello"))
>>> handler.names
['LLMChatStartEvent', 'LLMChatEndEvent']
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType


from pydantic import ConfigDict, create_model

from ragcore.observe import Listener, Span, add_listener
from ragcore.prompts.templates import PromptTemplate as PromptTemplate

try:
    from llama_index_instrumentation import DispatcherSpanMixin as DispatcherSpanMixin
    from llama_index_instrumentation import get_dispatcher as get_dispatcher
    from llama_index_instrumentation.base import BaseEvent as BaseEvent
    from llama_index_instrumentation.dispatcher import Dispatcher as Dispatcher
except ImportError as error:
    raise ImportError(
        "ragcore.instrumentation needs the package llama-index-instrumentation: pip install 'lectern[workflow]'"
    ) from error

__path__: list[str] = []
_STAGES = {  # of spans: the module of their events, and what these are called
    "llm": ("llm", "LLMChat"),
    "embed": ("embedding", "Embedding"),
    "retrieve": ("retrieval", "Retrieval"),
    "query": ("query", "Query"),
    "synthesize": ("synthesis", "Synthesize"),
    "rerank": ("rerank", "ReRank"),
    "agent": ("agent", "AgentRunStep"),
}


class _Stage(BaseEvent):
    """`facts` are those of the span, as traces keep them; each is an attribute too."""

    model_config = ConfigDict(extra="allow")


EVENTS: dict[str, type[_Stage]] = {
    f"{name}{end}Event": create_model(f"{name}{end}Event", __base__=_Stage)
    for _, name in _STAGES.values()
    for end in ("Start", "End")
}


class _PassedOn(Listener):
    def started(self, step: Span) -> None:
        self._tell(step, "Start")

    def finished(self, step: Span) -> None:
        self._tell(step, "End")

    def _tell(self, step: Span, end: str) -> None:
        if step.name in _STAGES:
            kind = EVENTS[f"{_STAGES[step.name][1]}{end}Event"]
            get_dispatcher("ragcore").event(kind(**{name: value for name, value in step.facts.items() if name != "tags"}))


def _modules() -> None:
    """The inner paths, with the events of each module, and what the package itself has."""
    for path in ("events", "event_handlers", "span", "span_handlers"):
        module = ModuleType(f"{__name__}.{path}")
        module.__dict__.update(vars(import_module(f"llama_index_instrumentation.{path}")))
        module.__dict__.update(__name__=f"{__name__}.{path}", __path__=[])
        sys.modules[module.__name__] = module
    for home, name in _STAGES.values():
        module = ModuleType(f"{__name__}.events.{home}")
        module.__dict__.update({kind: EVENTS[kind] for kind in (f"{name}StartEvent", f"{name}EndEvent")})
        sys.modules[module.__name__] = module


_modules()
add_listener(_PassedOn())
