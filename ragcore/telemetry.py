"""Exports traces to a file as lines of JSON, or to OpenTelemetry.

remove = observe.add_listener(JsonLines("traces.jsonl"))
remove = observe.add_listener(OpenTelemetry())          # needs the extra "otel"
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ragcore.errors import MissingPackageError
from ragcore.observe import Listener, Span

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import TracerProvider


class JsonLines(Listener):
    """Appends each finished trace to a file as one line of JSON, which `Span.from_dict` reads.

    The lines contain questions, passages and answers. Several threads may share it.

    >>> from ragcore.observe import add_listener, span
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     remove = add_listener(JsonLines(f"{folder}/traces.jsonl"))
    ...     with span("query"):
    ...         pass
    ...     remove()
    ...     Span.from_dict(json.loads(Path(folder, "traces.jsonl").read_text())).name
    'query'
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()
        self._writing = threading.Lock()

    def on_finish(self, step: Span) -> None:
        if step.parent is not None:
            return
        line = json.dumps(step.to_dict(), ensure_ascii=False, default=str)
        with self._writing, self.path.open("a", encoding="utf-8", errors="surrogatepass") as file:
            file.write(line + "\n")


# https://github.com/open-telemetry/semantic-conventions-genai: the operation, and the fact that names its
# object
_OPERATIONS = {
    "llm": ("chat", "model"),
    "embed": ("embeddings", "model"),
    "retrieve": ("retrieval", "retriever"),
    "tool": ("execute_tool", "tool"),
    "agent": ("invoke_agent", "mode"),
}
# Only these spans: the totals of a stage would count its calls twice.
_ATTRIBUTES = {
    "llm": {
        "model": "gen_ai.request.model",
        "provider": "gen_ai.provider.name",
        "prompt_tokens": "gen_ai.usage.input_tokens",
        "completion_tokens": "gen_ai.usage.output_tokens",
    },
    "embed": {
        "model": "gen_ai.request.model",
        "provider": "gen_ai.provider.name",
        "tokens": "gen_ai.usage.input_tokens",
        "dimension": "gen_ai.embeddings.dimension.count",
    },
    "tool": {"tool": "gen_ai.tool.name"},
    "agent": {"mode": "gen_ai.agent.name"},
}
_NO_TEXTS = frozenset(
    {"mode", "engine", "name", "retriever", "prompt", "pipeline", "transform", "extractor", "selector"}
)


class OpenTelemetry(Listener):
    """Sends each finished trace by the semantic conventions for generative AI; other facts are sent as
    `ragcore.<fact>`.

    Only numbers and names are sent, with `message_texts` also questions, messages and answers. A trace joins
    the OpenTelemetry trace that was active at its start. `tracer_provider` is the global one by default.

    >>> from ragcore.observe import add_listener
    >>> from opentelemetry.sdk.trace import TracerProvider
    >>> remove = add_listener(OpenTelemetry(TracerProvider(), message_texts=True))
    >>> remove()
    """

    def __init__(self, tracer_provider: TracerProvider | None = None, *, message_texts: bool = False) -> None:
        try:
            from opentelemetry import trace
        except ImportError as error:
            raise MissingPackageError("opentelemetry-sdk", extra="otel") from error
        self._tracer = trace.get_tracer("ragcore", tracer_provider=tracer_provider)
        self._message_texts = message_texts
        self._around: WeakKeyDictionary[Span, Context] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def on_start(self, step: Span) -> None:
        from opentelemetry.context import get_current

        if step.parent is None:
            with self._lock:
                self._around[step] = get_current()

    def on_finish(self, step: Span) -> None:
        if step.parent is None:
            with self._lock:
                context = self._around.pop(step, None)
            self._send(step, context, step.started + step.seconds)

    def _send(self, step: Span, context: Context | None, trace_ended: float) -> None:
        from opentelemetry.trace import SpanKind, StatusCode, set_span_in_context

        # A step in a thread that still runs ends with its trace.
        ended = step.started + step.seconds if step.seconds >= 0 else max(trace_ended, step.started)
        sent = self._tracer.start_span(
            _title(step),
            context,
            kind=SpanKind.CLIENT if step.name in ("llm", "embed", "retrieve") else SpanKind.INTERNAL,
            attributes=dict(self._attributes(step)),
            start_time=_nanoseconds(step.started),
        )
        if step.error is not None:
            # The message of a failure may quote the question.
            sent.set_status(StatusCode.ERROR, step.error if self._message_texts else None)
        for child in step.children:
            self._send(child, set_span_in_context(sent), trace_ended)
        sent.end(_nanoseconds(ended))

    def _attributes(self, step: Span) -> Iterator[tuple[str, Any]]:
        facts = step.facts
        if step.name in _OPERATIONS:
            yield "gen_ai.operation.name", _OPERATIONS[step.name][0]
        if step.name == "llm" and "cut_short" in facts:  # the call is complete
            yield "gen_ai.response.finish_reasons", [_finish_reason(step)]
        if failure := facts.get("error_type") or ("tool_error" if facts.get("is_error") else None):
            yield "error.type", failure
        known = _ATTRIBUTES.get(step.name, {})
        for name, value in facts.items():
            if name in known:
                yield known[name], value
            elif isinstance(value, (bool, int, float)) or (name in _NO_TEXTS and isinstance(value, str)):
                yield f"ragcore.{name}", value
            elif self._message_texts and name != "error_type":
                yield from _text(step, name, value)


def _text(step: Span, name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Messages have the form of the conventions' JSON schemas: a role, and parts with a type."""
    if name == "messages":
        yield "gen_ai.input.messages", _json([_message_sent(message) for message in value])
    elif name == "reply":
        reason = _finish_reason(step)
        finish = {"tool_calls": "tool_call"}.get(reason, reason)  # the schema's word
        message = _message("assistant", value, step.facts.get("tool_calls", ()))
        yield "gen_ai.output.messages", _json([{**message, "finish_reason": finish}])
    elif name == "question" and step.name == "retrieve":
        yield "gen_ai.retrieval.query.text", value
    elif name != "tool_calls":
        place = "gen_ai.tool.call" if name in ("arguments", "result") else "ragcore"
        yield f"{place}.{name}", value if isinstance(value, str) else _json(value)


def _finish_reason(step: Span) -> str:
    facts = step.facts
    if "cut_short" not in facts:  # the stream is incomplete
        return "cancelled" if step.error is None else "error"
    return "length" if facts["cut_short"] else "tool_calls" if facts.get("tool_calls") else "stop"


def _message_sent(message: Mapping[str, Any]) -> dict[str, Any]:
    text = "".join(part["text"] for part in message["parts"])
    if message["role"] != "tool" and "tool_call_id" not in message:
        return _message(message["role"], text, message.get("tool_calls", ()))
    result = {"type": "tool_call_response", "id": message.get("tool_call_id"), "response": text}
    return {"role": message["role"], "parts": [result]}


def _message(role: str, text: str, tool_calls: Any = ()) -> dict[str, Any]:
    calls = [
        {
            "type": "tool_call",
            "id": call["id"],
            "name": call["function"]["name"],
            "arguments": call["function"]["arguments"],
        }
        for call in tool_calls
    ]
    return {"role": role, "parts": [*([{"type": "text", "content": text}] if text else []), *calls]}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _title(step: Span) -> str:
    operation, thing = _OPERATIONS.get(step.name, (step.name, ""))
    return f"{operation} {step.facts[thing]}" if step.facts.get(thing) else operation


def _nanoseconds(seconds: float) -> int:
    return int(seconds * 1e9)
