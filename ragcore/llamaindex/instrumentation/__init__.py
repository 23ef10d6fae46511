"""Events and spans under LlamaIndex's names, from the package `llama-index-instrumentation` (extra:
workflow).

The dispatcher's handlers receive an event at the start and at the end of each stage of `ragcore.observe`. The
facts of the span are the attributes of the event.

>>> from ragcore.llamaindex.instrumentation.event_handlers import BaseEventHandler
>>> heard = []
>>> class Hears(BaseEventHandler):
...     def handle(self, event, **kwargs):
...         heard.append(type(event).__name__)
>>> get_dispatcher().add_event_handler(Hears())
>>> from ragcore.llms import ScriptedLLM
>>> _ = ScriptedLLM(["Hello."]).complete("Good morning")
>>> heard
['LLMCompletionStartEvent', 'LLMCompletionEndEvent']
"""

from __future__ import annotations

from pydantic import ConfigDict, create_model

from ragcore.observe import Listener, Span, add_listener

try:
    from llama_index_instrumentation import DispatcherSpanMixin as DispatcherSpanMixin
    from llama_index_instrumentation import get_dispatcher as get_dispatcher
    from llama_index_instrumentation.base import BaseEvent as BaseEvent
    from llama_index_instrumentation.dispatcher import Dispatcher as Dispatcher
except ImportError as error:
    raise ImportError(
        "ragcore.llamaindex.instrumentation needs the package llama-index-instrumentation: pip install "
        "'lectern[workflow]'"
    ) from error

_STAGES = {  # the names of spans and of their events
    "embed": "Embedding",
    "retrieve": "Retrieval",
    "query": "Query",
    "synthesize": "Synthesize",
    "rerank": "ReRank",
    "agent": "AgentRunStep",
}


_CALLS = {"chat": ["LLMChat"], "generation": ["LLMCompletion"]}  # of a model, by their prompts
_PREDICTION = ["LLMPredict", "LLMChat"]  # a call with any other prompt


class _Stage(BaseEvent):
    model_config = ConfigDict(extra="allow")


_EVENTS = {
    f"{name}{end}Event": create_model(f"{name}{end}Event", __base__=_Stage)
    for name in (*_STAGES.values(), *_PREDICTION, "LLMCompletion")
    for end in ("Start", "End")
}
globals().update(_EVENTS)


class _Forwarder(Listener):
    def on_start(self, step: Span) -> None:
        _tell(step, "Start")

    def on_finish(self, step: Span) -> None:
        _tell(step, "End")


def _tell(step: Span, end: str) -> None:
    stage = _STAGES.get(step.name)
    names = _CALLS.get(step.facts["prompt"], _PREDICTION) if step.name == "llm" else [stage] if stage else []
    for name in names if end == "Start" else reversed(names):
        get_dispatcher("ragcore").event(_EVENTS[f"{name}{end}Event"](**step.facts))


add_listener(_Forwarder())
