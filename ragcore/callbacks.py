"""Handlers that receive the stages of a trace as events, under LlamaIndex's names. The events come from
`ragcore.observe`.

    counter = TokenCountingHandler()
    Settings.callback_manager = CallbackManager([counter])
    ...
    counter.total_llm_token_count

A manager receives events from its assignment to `Settings` until another manager or None replaces it. The
payload of a start event has the facts with which the span began; that of an end event has all facts. Errors
of a handler are only logged.
"""

from __future__ import annotations

import logging
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from ragcore.observe import Listener, Span, span
from ragcore.schema import new_id
from ragcore.text.tokens import Tokenizer, as_tokenizer, default_tokenizer

logger = logging.getLogger(__name__)

BASE_TRACE_EVENT = "root"  # stands for the trace itself in a trace map

Payload: TypeAlias = Mapping[str, Any]
TraceMap: TypeAlias = Mapping[str, Sequence[str]]


class CBEventType(str, Enum):
    EMBEDDING = "embedding"
    NODE_PARSING = "node_parsing"
    LLM = "llm"
    QUERY = "query"
    RETRIEVE = "retrieve"
    SYNTHESIZE = "synthesize"
    TREE = "tree"
    SUB_QUESTION = "sub_question"
    FUNCTION_CALL = "function_call"
    RERANKING = "reranking"
    AGENT_STEP = "agent_step"
    CHUNKING = "chunking"
    TEMPLATING = "templating"
    EXCEPTION = "exception"


_TYPES = {  # by the names of spans; other spans are no events
    "embed": CBEventType.EMBEDDING,
    "split": CBEventType.NODE_PARSING,
    "llm": CBEventType.LLM,
    "query": CBEventType.QUERY,
    "retrieve": CBEventType.RETRIEVE,
    "synthesize": CBEventType.SYNTHESIZE,
    "summaries": CBEventType.TREE,
    "divide": CBEventType.SUB_QUESTION,
    "tool": CBEventType.FUNCTION_CALL,
    "rerank": CBEventType.RERANKING,
    "agent": CBEventType.AGENT_STEP,
}


@dataclass(frozen=True, slots=True)
class CBEvent:
    """The start or the end of a stage; both have the same `id_`. `time` is in UTC."""

    event_type: CBEventType
    payload: Payload
    id_: str
    time: datetime = field(default_factory=lambda: datetime.now(UTC))


@dataclass(frozen=True, slots=True)
class EventStats:
    total_secs: float
    average_secs: float
    total_count: int


class BaseCallbackHandler(ABC):
    """Subclasses receive events, in the threads that do the work, possibly several at once. Ignored types are
    not sent.

    >>> class Ends(BaseCallbackHandler):
    ...     def on_event_end(self, event_type, payload=None, event_id=""):
    ...         print(event_type.value)
    >>> from ragcore.llms import ScriptedLLM
    >>> from ragcore.settings import Settings
    >>> Settings.callback_manager = CallbackManager([Ends()])
    >>> _ = ScriptedLLM(["Hello."]).complete("Good morning")
    llm
    >>> Settings.callback_manager = None
    """

    def __init__(
        self,
        event_starts_to_ignore: Sequence[CBEventType] | None = None,
        event_ends_to_ignore: Sequence[CBEventType] | None = None,
    ) -> None:
        self.event_starts_to_ignore = tuple(event_starts_to_ignore or ())
        self.event_ends_to_ignore = tuple(event_ends_to_ignore or ())

    def on_event_start(
        self, event_type: CBEventType, payload: Payload | None = None, event_id: str = "", parent_id: str = ""
    ) -> str:
        """Returns the event's id, a new one by default. `parent_id` is the enclosing event's id, or
        BASE_TRACE_EVENT."""
        return event_id or new_id()

    @abstractmethod
    def on_event_end(
        self, event_type: CBEventType, payload: Payload | None = None, event_id: str = ""
    ) -> None: ...

    def start_trace(self, trace_id: str) -> None:  # noqa: B027 - most handlers do nothing then
        """A trace starts, such as a question or an index; `trace_id` is its name."""

    def end_trace(self, trace_id: str, trace_map: TraceMap) -> None:  # noqa: B027 - most handlers do nothing then
        """A trace ends. `trace_map` maps the id of each event to the ids of its inner events, in the order of
        their starts."""


class CallbackManager(Listener):
    """Sends each event to its handlers.

    >>> counter = TokenCountingHandler()
    >>> manager = CallbackManager([counter])
    >>> _ = manager.on_event_start(CBEventType.LLM, event_id="1")
    >>> manager.on_event_end(CBEventType.LLM, {"formatted_prompt": "Hello", "response": "Hi"}, "1")
    >>> len(counter.llm_token_counts)
    1
    """

    def __init__(self, handlers: Sequence[BaseCallbackHandler] | None = None) -> None:
        self.handlers = list(handlers or ())
        self._lock = threading.Lock()
        self._ids: WeakKeyDictionary[Span, str] = WeakKeyDictionary()
        # by the root of the trace
        self._inside: WeakKeyDictionary[Span, dict[str, list[str]]] = WeakKeyDictionary()

    def add_handler(self, handler: BaseCallbackHandler) -> None:
        self.handlers.append(handler)

    def remove_handler(self, handler: BaseCallbackHandler) -> None:
        """ValueError for an unknown handler."""
        self.handlers.remove(handler)

    @contextmanager
    def as_trace(self, trace_id: str) -> Iterator[None]:
        """Everything inside the block becomes one trace."""
        with span(trace_id):
            yield

    def on_start(self, step: Span) -> None:
        if step.parent is None:
            self._tell(lambda handler: handler.start_trace(step.name))
        if (kind := _TYPES.get(step.name)) is None:
            return
        with self._lock:
            id_ = self._ids[step] = new_id()
            parent = self._id_around(step)
            self._inside.setdefault(_root(step), {}).setdefault(parent, []).append(id_)
        self.on_event_start(kind, dict(step.facts), id_, parent)

    def on_finish(self, step: Span) -> None:
        with self._lock:
            id_ = self._ids.get(step)
            inside = self._inside.pop(step, {}) if step.parent is None else {}
        if id_ is not None:
            self.on_event_end(_TYPES[step.name], dict(step.facts), id_)
        if step.parent is None:
            self._tell(lambda handler: handler.end_trace(step.name, inside))

    def on_event_start(
        self,
        event_type: CBEventType,
        payload: Payload | None = None,
        event_id: str = "",
        parent_id: str = BASE_TRACE_EVENT,
    ) -> str:
        """Send an event of your own to the handlers. Returns its id, a new one by default."""
        event_id = event_id or new_id()

        def start(handler: BaseCallbackHandler) -> None:
            if event_type not in handler.event_starts_to_ignore:
                handler.on_event_start(event_type, payload, event_id=event_id, parent_id=parent_id)

        self._tell(start)
        return event_id

    def on_event_end(
        self, event_type: CBEventType, payload: Payload | None = None, event_id: str = ""
    ) -> None:
        """Send the end of an event. `event_id` is the result of `on_event_start`."""

        def end(handler: BaseCallbackHandler) -> None:
            if event_type not in handler.event_ends_to_ignore:
                handler.on_event_end(event_type, payload, event_id=event_id)

        self._tell(end)

    def _tell(self, event: Callable[[BaseCallbackHandler], None]) -> None:
        for handler in tuple(self.handlers):
            try:
                event(handler)
            except Exception:  # an error of a handler must affect neither the answer nor the other handlers
                logger.exception("a callback handler failed")

    def _id_around(self, step: Span) -> str:
        around = step.parent
        while around is not None and around not in self._ids:
            around = around.parent
        return BASE_TRACE_EVENT if around is None else self._ids[around]


@dataclass(frozen=True, slots=True)
class TokenCountingEvent:
    """A call of a model. `prompt` is "" for embeddings."""

    prompt: str
    completion: str
    prompt_token_count: int
    completion_token_count: int
    event_id: str = ""

    @property
    def total_token_count(self) -> int:
        return self.prompt_token_count + self.completion_token_count


class TokenCountingHandler(BaseCallbackHandler):
    """Counts the tokens of prompts, replies and embedded texts. The server's counts are preferred to our own.

    A `tokenizer` replaces our own count for language models.

    >>> from ragcore.llms import ScriptedLLM
    >>> from ragcore.settings import Settings
    >>> counter = TokenCountingHandler()
    >>> Settings.callback_manager = CallbackManager([counter])
    >>> _ = ScriptedLLM(["Good morning to you."], counts_words=True).complete("Hi")
    >>> counter.completion_llm_token_count
    4
    >>> Settings.callback_manager = None
    """

    def __init__(
        self,
        tokenizer: Tokenizer | Callable[[str], Sized] | None = None,
        event_starts_to_ignore: Sequence[CBEventType] | None = None,
        event_ends_to_ignore: Sequence[CBEventType] | None = None,
        verbose: bool = False,
    ) -> None:
        """With `verbose` each count is logged."""
        super().__init__(event_starts_to_ignore, event_ends_to_ignore)
        self._level = logging.INFO if verbose else logging.DEBUG
        self._tokenizer = None if tokenizer is None else as_tokenizer(tokenizer)
        self.reset_counts()

    def reset_counts(self) -> None:
        self.llm_token_counts: list[TokenCountingEvent] = []
        self.embedding_token_counts: list[TokenCountingEvent] = []

    def on_event_end(
        self, event_type: CBEventType, payload: Payload | None = None, event_id: str = ""
    ) -> None:
        payload = payload or {}
        if event_type is CBEventType.LLM and "formatted_prompt" in payload:  # an event of a script's own
            prompt, reply = str(payload["formatted_prompt"]), str(payload.get("response", ""))
            self.llm_token_counts.append(
                TokenCountingEvent(prompt, reply, self._count(prompt), self._count(reply), event_id)
            )
        elif event_type is CBEventType.EMBEDDING and "chunks" in payload:
            tokens = sum(map(self._count, payload["chunks"]))
            self.embedding_token_counts.append(TokenCountingEvent("", "", tokens, 0, event_id))
        elif event_type is CBEventType.LLM and "prompt_tokens" in payload:
            self.llm_token_counts.append(call := self._call(payload, event_id))
            logger.log(
                self._level, "%d tokens in, %d out", call.prompt_token_count, call.completion_token_count
            )
        elif event_type is CBEventType.EMBEDDING and "tokens" in payload:
            self.embedding_token_counts.append(TokenCountingEvent("", "", payload["tokens"], 0, event_id))
            logger.log(self._level, "%d tokens embedded", payload["tokens"])

    @property
    def total_llm_token_count(self) -> int:
        return self.prompt_llm_token_count + self.completion_llm_token_count

    @property
    def prompt_llm_token_count(self) -> int:
        return sum(each.prompt_token_count for each in self.llm_token_counts)

    @property
    def completion_llm_token_count(self) -> int:
        return sum(each.completion_token_count for each in self.llm_token_counts)

    @property
    def total_embedding_token_count(self) -> int:
        return sum(each.prompt_token_count for each in self.embedding_token_counts)

    def _count(self, text: str) -> int:
        return (self._tokenizer or default_tokenizer()).count(text)

    def _call(self, payload: Payload, event_id: str) -> TokenCountingEvent:
        texts = ["".join(part["text"] for part in message["parts"]) for message in payload["messages"]]
        lines = [
            f"{message['role']}: {text}" for message, text in zip(payload["messages"], texts, strict=True)
        ]
        read, wrote, reply = payload["prompt_tokens"], payload["completion_tokens"], payload.get("reply", "")
        if self._tokenizer is not None and payload["tokens_estimated"]:
            read, wrote = sum(map(self._tokenizer.count, texts)), self._tokenizer.count(reply)
        return TokenCountingEvent(
            texts[0] if len(texts) == 1 else "\n".join(lines), reply, read, wrote, event_id
        )


class LlamaDebugHandler(BaseCallbackHandler):
    """Stores all events. `print_trace_on_end` logs each trace when it ends, one line per event.

    >>> debug = LlamaDebugHandler()
    >>> debug.get_event_time_info(CBEventType.LLM).total_count
    0
    """

    def __init__(
        self,
        event_starts_to_ignore: Sequence[CBEventType] | None = None,
        event_ends_to_ignore: Sequence[CBEventType] | None = None,
        print_trace_on_end: bool = True,
    ) -> None:
        super().__init__(event_starts_to_ignore, event_ends_to_ignore)
        self.print_trace_on_end = print_trace_on_end
        self.flush_event_logs()

    def flush_event_logs(self) -> None:
        """Delete the stored events."""
        self.sequential_events: list[CBEvent] = []

    def on_event_start(
        self, event_type: CBEventType, payload: Payload | None = None, event_id: str = "", parent_id: str = ""
    ) -> str:
        event_id = event_id or new_id()
        self.sequential_events.append(CBEvent(event_type, payload or {}, event_id))
        return event_id

    def on_event_end(
        self, event_type: CBEventType, payload: Payload | None = None, event_id: str = ""
    ) -> None:
        self.sequential_events.append(CBEvent(event_type, payload or {}, event_id))

    def end_trace(self, trace_id: str, trace_map: TraceMap) -> None:
        if self.print_trace_on_end:
            pairs = {pair[0].id_: pair for pair in self.get_event_pairs()}
            lines = "\n".join(_lines(BASE_TRACE_EVENT, trace_map, pairs))
            logger.info("trace %s\n%s", trace_id, lines)

    @property
    def event_pairs_by_type(self) -> dict[CBEventType, list[CBEvent]]:
        """Start and end events by type."""
        return {kind: self.get_events(kind) for kind in CBEventType if self.get_events(kind)}

    def get_events(self, event_type: CBEventType | None = None) -> list[CBEvent]:
        """Start and end events in order of time."""
        return [event for event in self.sequential_events if event_type in (None, event.event_type)]

    def get_event_pairs(self, event_type: CBEventType | None = None) -> list[list[CBEvent]]:
        """The start and, once it has come, the end of each event, in the order of the starts."""
        pairs: dict[str, list[CBEvent]] = {}
        for event in self.get_events(event_type):
            pairs.setdefault(event.id_, []).append(event)
        return list(pairs.values())

    def get_llm_inputs_outputs(self) -> list[list[CBEvent]]:
        return self.get_event_pairs(CBEventType.LLM)

    def get_event_time_info(self, event_type: CBEventType | None = None) -> EventStats:
        """Zeros if there are no such events."""
        seconds = [_seconds(pair) for pair in self.get_event_pairs(event_type)]
        return EventStats(sum(seconds), sum(seconds) / len(seconds) if seconds else 0.0, len(seconds))


def _seconds(pair: Sequence[CBEvent]) -> float:
    return (pair[-1].time - pair[0].time).total_seconds()


def _lines(
    id_: str, trace_map: TraceMap, pairs: Mapping[str, Sequence[CBEvent]], depth: int = 0
) -> Iterator[str]:
    for inner in trace_map.get(id_, ()):
        if inner in pairs:
            yield f"{'  ' * depth}{pairs[inner][0].event_type.value}: {_seconds(pairs[inner]):.3f} s"
        yield from _lines(inner, trace_map, pairs, depth + 1)


def _root(step: Span) -> Span:
    while step.parent is not None:
        step = step.parent
    return step


class SimpleLLMHandler(BaseCallbackHandler):
    """Writes the messages and the reply of every call of a language model to the terminal.

    >>> SimpleLLMHandler().event_ends_to_ignore
    ()
    """

    def on_event_end(
        self, event_type: CBEventType, payload: Payload | None = None, event_id: str = ""
    ) -> None:
        if event_type is CBEventType.LLM and payload:
            messages = (
                f"{each['role']}: " + "".join(part["text"] for part in each["parts"])
                for each in payload["messages"]
            )
            sys.stdout.write("** Messages: **\n" + "\n".join(messages))
            sys.stdout.write(f"\n** Response: **\n{payload.get('reply', '')}\n\n")
