"""The calls of an answer as a graph to draw, from its trace.

It is a strip of changing answers, a tree of summaries, a row for each call, or the rounds of an agent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ragcore.observe import Span
from ragcore.response_synthesizers.response_mode import find_mode
from ragcore.schema import Outcome
from ragcore.text.word_diff import Piece, word_differences

Shape = Literal["none", "single", "strip", "tree", "rows", "rounds", "documents"]
Kind = Literal["condense", "answer", "refine", "summarize", "act", "other"]
StepKind = Literal["call", "retrieve", "postprocess", "tool"]


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """A message of a prompt: (origin, text) of its parts; see ragcore.prompts.prompt.Origin."""

    role: str
    parts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a model. `number` counts from 1; `began` is in seconds since the beginning of the answer.

    `passages` are the numbers of those in its prompt, `inputs` the calls whose replies are in it. `level`
    counts from 1 the generations of calls that waited for each other. `changes` are those from the reply
    before.
    """

    number: int
    kind: Kind
    prompt: str
    messages: tuple[PromptMessage, ...]
    reply: str
    prompt_tokens: int
    completion_tokens: int
    milliseconds: float
    began: float
    model: str = ""
    passages: tuple[int, ...] = ()
    inputs: tuple[int, ...] = ()
    level: int = 1
    changes: tuple[Piece, ...] = ()
    outcome: Outcome = "answer"  # of the reply; of a language model, which reports none, "answer"
    tools: tuple[str, ...] = ()  # that the model calls
    error: str = ""
    estimated: bool = (
        False  # whether the numbers of tokens are, because the server of the model did not report them
    )

    @property
    def changed_answer(self) -> bool:
        """Whether its reply differs from the answer that it was asked to improve."""
        return bool(self.inputs) and any(piece.kind != "same" for piece in self.changes)


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the answer. `text`: a question to retrieve, or a tool with its arguments; `result`: of a
    tool.

    `call` is the number of a call; `group` is the round ("1") or the document (its name) of the step.
    """

    kind: StepKind
    text: str = ""
    result: str = ""
    milliseconds: float = 0.0
    passages: int | None = None  # their number, after a retrieval or a postprocessor
    call: int | None = None
    group: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class CallGraph:
    """`mode` is the response mode, and `chat_mode` that of the conversation; "" for none."""

    shape: Shape
    mode: str
    chat_mode: str
    steps: tuple[Step, ...]
    calls: tuple[Call, ...]
    seconds: float

    def call(self, number: int) -> Call | None:
        return self.calls[number - 1] if 1 <= number <= len(self.calls) else None


def build_call_graph(trace: Span) -> CallGraph:
    """The graph of any trace, of a complete, stopped or failed answer. Each span "llm" is one call."""
    by_span = _calls_by_span(trace)
    calls = tuple(by_span.values())
    steps = tuple(_steps(trace, by_span, ""))
    mode = next((str(span.facts["mode"]) for span in trace.spans("synthesize") if "mode" in span.facts), "")
    chat_mode = str(trace.facts.get("mode", "")) if trace.name in ("chat", "agent") else ""
    shape = _shape(trace, mode) if calls else "none"
    return CallGraph(
        shape, mode, chat_mode, steps, _with_changes(calls) if shape == "strip" else calls, trace.seconds
    )


def _shape(trace: Span, mode: str) -> Shape:
    if trace.spans("step"):
        return "rounds"
    return "documents" if trace.spans("document") else _shape_of_mode(mode)


def _shape_of_mode(name: str) -> Shape:
    mode = find_mode(name)
    return mode.traits.shape if mode else "single"


def _calls_by_span(trace: Span) -> dict[int, Call]:
    """The calls of a trace in order, by the id of their span."""
    calls = {
        id(span): _call(span, number, trace.started) for number, span in enumerate(trace.spans("llm"), 1)
    }
    for parent in trace.walk():
        if parent.name == "synthesize":
            _connect_calls(parent, calls)
        elif parent.name in ("condense", "step"):
            for span in parent.children:
                if span.name == "llm":
                    calls[id(span)] = replace(
                        calls[id(span)], kind="condense" if parent.name == "condense" else "act"
                    )
    return calls


def _call(span: Span, number: int, started: float) -> Call:
    facts = span.facts
    return Call(
        number,
        _kind(span),
        prompt=str(facts.get("prompt", "")),
        messages=tuple(map(_prompt_message, facts.get("messages", ()))),
        reply=str(facts.get("reply", "")),
        prompt_tokens=int(facts.get("prompt_tokens", 0)),
        completion_tokens=int(facts.get("completion_tokens", 0)),
        milliseconds=max(span.milliseconds, 0.0),
        began=max(span.started - started, 0.0),
        model=str(facts.get("model", "")),
        outcome=facts.get("outcome", "answer"),
        tools=tuple(str(wish.get("function", {}).get("name", "")) for wish in facts.get("tool_calls", ())),
        error=span.error or "",
        estimated=bool(facts.get("tokens_estimated"))
        and facts.get("provider") != "ragcore",  # which counts exactly
    )


def _connect_calls(parent: Span, calls: dict[int, Call]) -> None:
    """Adds the passages, inputs and levels of the calls of one answer, in batches that did not wait for each
    other."""
    packs: list[Span] = []
    before: list[Call] = []
    level = 0
    shape = _shape_of_mode(str(parent.facts.get("mode", "")))
    is_tree = shape == "tree"
    for batch in _batches(parent):
        if isinstance(batch, Span):
            packs.append(batch)
            continue
        level += 1
        own = packs[-len(batch) :] if len(packs) >= len(batch) else []
        summaries = _packed_summaries(own, [call.number for call in before if call.reply.strip()])
        last_reply = next(((call.number,) for call in reversed(before) if call.reply), ())
        connected = []
        for place, span in enumerate(batch):
            if span is None:  # it never began
                continue
            numbers = tuple(n for n in own[place].facts.get("passages", ()) if n is not None) if own else ()
            inputs = summaries[place] if is_tree and before and own else last_reply
            call = replace(calls[id(span)], passages=numbers, inputs=inputs, level=level)
            calls[id(span)] = _of_summaries(call) if is_tree and inputs else call
            connected.append(calls[id(span)])
        if shape == "rows":
            before = []
        elif is_tree:
            before = connected
        else:
            before = [*before, *connected]


def _batches(parent: Span) -> Iterator[Span | list[Span | None]]:
    """The spans "pack" of an answer, and between them its calls: several at the same time, or one."""
    parts: list[Span | None] = []
    for child in parent.children:
        if child.name == "part":
            if parts and child.facts.get("part") == 1:
                yield parts
                parts = []
            parts.append(next((span for span in child.children if span.name == "llm"), None))
            continue
        if parts:
            yield parts
            parts = []
        if child.name == "pack":
            yield child
        elif child.name == "llm":
            yield [child]
    if parts:
        yield parts


def _packed_summaries(packs: Sequence[Span], summaries: Sequence[int]) -> list[tuple[int, ...]]:
    """The summaries, in order, of each pack, which has the number of its passages and of those that wait."""
    numbers, first = [], 0
    for pack in packs:
        numbers.append(tuple(summaries[first : first + len(pack.facts.get("passages", ()))]))
        first = len(summaries) - int(pack.facts.get("waiting", 0))
    return numbers


def _of_summaries(call: Call) -> Call:
    """The call with earlier replies in the place of passages."""

    def rename(message: PromptMessage) -> PromptMessage:
        return replace(
            message,
            parts=tuple(("answer" if kind == "documents" else kind, text) for kind, text in message.parts),
        )

    return replace(call, messages=tuple(map(rename, call.messages)))


def _kind(span: Span) -> Kind:
    prompt = str(span.facts.get("prompt", ""))
    if "condense" in prompt:
        return "condense"
    if "refine" in prompt:
        return "refine"
    if "summar" in prompt:
        return "summarize"
    return (
        "answer"
        if prompt in ("text_qa", "chat_text_qa", "context_chat", "simple_chat", "generation")
        else "other"
    )


def _prompt_message(message: Mapping[str, Any]) -> PromptMessage:
    parts = tuple((str(part["origin"]), str(part["text"])) for part in message.get("parts", ()))
    return PromptMessage(str(message.get("role", "")), parts)


def _steps(span: Span, calls: Mapping[int, Call], group: str) -> Iterator[Step]:
    facts, milliseconds, error = span.facts, max(span.milliseconds, 0.0), span.error or ""
    match span.name:
        case "llm":
            call = calls[id(span)]
            yield Step(
                "call", call=call.number, milliseconds=call.milliseconds, group=group, error=call.error
            )
            return
        case "retrieve":
            count = len(facts.get("followed", facts.get("found", ())))
            yield Step(
                "retrieve", str(facts.get("question", "")), "", milliseconds, count, group=group, error=error
            )
        case "postprocess":
            yield Step(
                "postprocess",
                str(facts.get("name", "")),
                "",
                milliseconds,
                facts.get("kept"),
                group=group,
                error=error,
            )
        case "tool":
            call_text = f"{facts.get('tool', '')} {facts.get('arguments', '')}".strip()
            error = error or ("failed" if facts.get("is_error") else "")
            yield Step(
                "tool", call_text, str(facts.get("result", "")), milliseconds, group=group, error=error
            )
        case "step":
            group = str(span.facts.get("round", group))
        case "document":
            group = str(span.facts.get("file", group))
    for child in span.children:
        yield from _steps(child, calls, group)


def _with_changes(calls: Sequence[Call]) -> tuple[Call, ...]:
    """The calls of a strip, each with the changes from the answer before it."""
    before, changed = "", []
    for call in calls:
        if call.kind == "condense" or not call.reply:
            changed.append(call)
            continue
        changed.append(replace(call, changes=tuple(word_differences(before, call.reply))))
        before = call.reply
    return tuple(changed)
