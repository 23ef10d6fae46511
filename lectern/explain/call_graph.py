"""How an answer was made, as a drawing needs it: the steps of its trace, and the shape that its way of answering gives them.

A strip in which the answer changes from call to call, a tree of summaries, a row for each call, or an agent's rounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from ragcore.observe import Span
from ragcore.text.word_diff import Piece, word_differences

Shape = Literal["none", "single", "strip", "tree", "rows", "rounds", "documents"]
Kind = Literal["condense", "answer", "refine", "summarize", "act", "other"]
StepKind = Literal["call", "retrieve", "postprocess", "tool"]

_SHAPES: Mapping[str, Shape] = {
    "refine": "strip",
    "compact": "strip",
    "tree_summarize": "tree",
    "accumulate": "rows",
    "compact_accumulate": "rows",
}


@dataclass(frozen=True, slots=True)
class Said:
    """A message of a prompt: (origin, text) of its parts, in order; origins are those of ragcore.prompts.prompt.Origin."""

    role: str
    parts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a model. `number` counts from 1 in the order in which calls began; `began` is seconds after the answer did.

    `passages` are the numbers of those it was shown, `inputs` the calls whose replies it was shown; `level` counts from 1 the
    generations of calls of one answer, as far as they waited for each other. `changes`, in a strip, are those from the reply
    before.
    """

    number: int
    kind: Kind
    prompt: str
    messages: tuple[Said, ...]
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
    tools: tuple[str, ...] = ()  # that the model wants to be called
    error: str = ""
    estimated: bool = False  # the tokens, where the model's server did not say how many there were


@dataclass(frozen=True, slots=True)
class Step:
    """What was done, in order. `text`: the question looked for, or a tool with its arguments; `result`: what a tool said.

    `call` is the number of a call; `group` what steps belong to together, a round ("1") or a document (its name).
    """

    kind: StepKind
    text: str = ""
    result: str = ""
    milliseconds: float = 0.0
    found: int | None = None
    call: int | None = None
    group: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class CallGraph:
    """`mode` is the response mode, and `chat_mode` that of the conversation; each is "" where there was none."""

    shape: Shape
    mode: str
    chat_mode: str
    steps: tuple[Step, ...]
    calls: tuple[Call, ...]
    seconds: float

    def call(self, number: int) -> Call | None:
        return self.calls[number - 1] if 1 <= number <= len(self.calls) else None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


def build_call_graph(trace: Span) -> CallGraph:
    """Of any trace: of an answer that was finished, stopped or failed, with however many calls. Each span "llm" is one call."""
    calls = _Calls(trace)
    steps = tuple(_steps(trace, calls, ""))
    made = [span.facts["mode"] for span in trace.named("synthesize") if "mode" in span.facts]
    mode = str(made[0]) if made else ""
    chat_mode = str(trace.facts.get("mode", "")) if trace.name in ("chat", "agent") else ""
    shape = _shape(trace, mode, calls.all)
    return CallGraph(shape, mode, chat_mode, steps, _with_changes(calls.all) if shape == "strip" else calls.all, trace.seconds)


def _shape(trace: Span, mode: str, calls: Sequence[Call]) -> Shape:
    if not calls:
        return "none"
    if trace.named("step"):
        return "rounds"
    if trace.named("document"):
        return "documents"
    return _SHAPES.get(mode, "single")


class _Calls:
    """The calls of a trace, with what only their neighbours tell: what they were shown, and what they waited for."""

    def __init__(self, trace: Span) -> None:
        self._began = trace.started
        self._numbers = {id(span): number for number, span in enumerate(trace.named("llm"), 1)}
        self._known: dict[int, Call] = {}
        for parent in trace.walk():
            if parent.name == "synthesize":
                self._synthesized(parent)
            elif parent.name in ("condense", "step"):
                for span in (child for child in parent.children if child.name == "llm"):
                    self._put(span, "condense" if parent.name == "condense" else "act")
        for span in trace.named("llm"):
            if id(span) not in self._known:
                self._put(span, _kind(span))
        self.all = tuple(sorted(self._known.values(), key=lambda call: call.number))

    def of(self, span: Span) -> Call:
        return self._known[id(span)]

    def _put(
        self, span: Span, kind: Kind, *, passages: tuple[int, ...] = (), inputs: tuple[int, ...] = (), level: int = 1
    ) -> Call:
        facts = span.facts
        call = Call(
            self._numbers[id(span)],
            kind,
            prompt=str(facts.get("prompt", "")),
            messages=tuple(_said(message) for message in facts.get("messages", ())),
            reply=str(facts.get("reply", "")),
            prompt_tokens=int(facts.get("prompt_tokens", 0)),
            completion_tokens=int(facts.get("completion_tokens", 0)),
            milliseconds=max(span.milliseconds, 0.0),
            began=max(span.started - self._began, 0.0),
            model=str(facts.get("model", "")),
            tools=tuple(str(wish.get("function", {}).get("name", "")) for wish in facts.get("tool_calls", ())),
            passages=passages,
            inputs=inputs,
            level=level,
            error=span.error or "",
            estimated=bool(facts.get("tokens_estimated")) and facts.get("provider") != "ragcore",  # which counts by itself
        )
        self._known[id(span)] = call
        return call

    def _synthesized(self, parent: Span) -> None:
        """The calls of one answer: each batch of calls that did not wait for each other, with what was packed for it."""
        packs: list[Span] = []
        before: list[Call] = []
        level = 0
        sums_up = parent.facts.get("mode") == "tree_summarize"
        for batch in _batches(parent):
            if isinstance(batch, Span):
                packs.append(batch)
                continue
            level += 1
            packed = packs[-len(batch) :] if len(packs) >= len(batch) else [None] * len(batch)
            shown = _shown(
                [pack for pack in packed if pack is not None], [call.number for call in before if call.reply.strip()]
            )
            made = []
            for place, (span, pack) in enumerate(zip(batch, packed, strict=True)):
                if span is None:  # it never began
                    continue
                numbers = tuple(n for n in pack.facts.get("passages", ()) if n is not None) if pack is not None else ()
                inputs = shown[place] if sums_up and before and place < len(shown) else _last_reply(before)
                made.append(self._put(span, _kind(span), passages=numbers, inputs=inputs, level=level))
                if sums_up and inputs:
                    made[-1] = self._known[id(span)] = _of_summaries(made[-1])
            before = made if sums_up else [*before, *made]
            if parent.facts.get("mode") in ("accumulate", "compact_accumulate"):
                before = []


def _batches(parent: Span) -> Iterator[Span | list[Span | None]]:
    """The spans "pack" of an answer, and between them its calls: several that were made at the same time, or one."""
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


def _shown(packs: Sequence[Span], summaries: Sequence[int]) -> list[tuple[int, ...]]:
    """Which of the summaries, in order, each pack holds: it has so many, and leaves so many waiting."""
    found, first = [], 0
    for pack in packs:
        found.append(tuple(summaries[first : first + len(pack.facts.get("passages", ()))]))
        first = len(summaries) - int(pack.facts.get("waiting", 0))
    return found


def _of_summaries(call: Call) -> Call:
    """What stands in the place of passages are earlier replies."""

    def said(message: Said) -> Said:
        return replace(message, parts=tuple(("answer" if kind == "documents" else kind, text) for kind, text in message.parts))

    return replace(call, messages=tuple(map(said, call.messages)))


def _last_reply(before: Sequence[Call]) -> tuple[int, ...]:
    return next(((call.number,) for call in reversed(before) if call.reply), ())


def _kind(span: Span) -> Kind:
    prompt = str(span.facts.get("prompt", ""))
    if "condense" in prompt:
        return "condense"
    if "refine" in prompt:
        return "refine"
    if "summar" in prompt:
        return "summarize"
    return "answer" if prompt in ("text_qa", "chat_text_qa", "context_chat", "simple_chat", "generation") else "other"


def _said(message: Mapping[str, Any]) -> Said:
    parts = tuple((str(part["origin"]), str(part["text"])) for part in message.get("parts", ()))
    return Said(str(message.get("role", "")), parts)


def _steps(span: Span, calls: _Calls, group: str) -> Iterator[Step]:
    match span.name:
        case "llm":
            call = calls.of(span)
            yield Step("call", call=call.number, milliseconds=call.milliseconds, group=group, error=call.error)
            return
        case "retrieve":
            facts = span.facts
            found = len(facts.get("followed", facts.get("found", ())))
            took = max(span.milliseconds, 0.0)
            yield Step("retrieve", str(facts.get("question", "")), "", took, found, group=group, error=span.error or "")
        case "postprocess":
            kept = span.facts.get("kept")
            name, took = str(span.facts.get("name", "")), max(span.milliseconds, 0.0)
            yield Step("postprocess", name, "", took, kept, group=group, error=span.error or "")
        case "tool":
            facts = span.facts
            asked = f"{facts.get('tool', '')} {facts.get('arguments', '')}".strip()
            failed = span.error or ("failed" if facts.get("is_error") else "")
            yield Step("tool", asked, str(facts.get("result", "")), max(span.milliseconds, 0.0), group=group, error=failed)
        case "step":
            group = str(span.facts.get("round", group))
        case "document":
            group = str(span.facts.get("file", group))
    for child in span.children:
        yield from _steps(child, calls, group)


def _with_changes(calls: Sequence[Call]) -> tuple[Call, ...]:
    """A strip: each answer beside the one before it."""
    before, found = "", []
    for call in calls:
        if call.kind == "condense" or not call.reply:
            found.append(call)
            continue
        found.append(replace(call, changes=tuple(word_differences(before, call.reply))))
        before = call.reply
    return tuple(found)
