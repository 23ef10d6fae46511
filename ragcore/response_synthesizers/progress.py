"""The progress of an answer, from its trace: the finished calls, their passages and their replies."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, replace

from ragcore.observe import Span
from ragcore.response_synthesizers.response_mode import find_mode
from ragcore.schema import Outcome


@dataclass(frozen=True, slots=True)
class Progress:
    """Finished calls or documents, and their expected total."""

    done: int
    of: int


@dataclass(frozen=True, slots=True)
class PartialAnswer:
    """The reply of one finished call. `passages` are the numbers of those in its prompt. `outcome` is None if
    the model does not report it."""

    text: str
    outcome: Outcome | None
    passages: tuple[int, ...] = ()


def progress(trace: Span) -> Progress:
    """Of calls. Calls over summaries count when they begin, and the last one from the start."""
    calls, packed, parts = _calls(trace), packs(trace), _parts(trace)
    done = sum(_is_over(call) for call in calls)
    if parts:
        levels = [part for part in parts if part.facts["part"] == 1]
        mode = find_mode(str(trace.facts.get("mode", "")))
        sums_up = mode is not None and mode.traits.shape == "tree"
        return Progress(done, sum(level.facts["of"] for level in levels) + sums_up)
    waiting = packed[-1].facts.get("waiting", 0) if packed else 0
    return Progress(done, max(len(packed) + waiting, len(calls), 1))


def passages_read(trace: Span) -> set[int]:
    """The numbers, from 1, of the passages in finished calls."""
    pairs = zip(packs(trace), _calls(trace), strict=False)  # calls over answers have no passages
    return {number for pack, call in pairs if _is_over(call) for number in pack.facts["passages"]}


def _steps(trace: Span) -> list[Span]:
    return [
        step
        for whole in (trace, *trace.children)
        if whole.name == "synthesize"
        for step in list(whole.children)
    ]


def packs(trace: Span) -> list[Span]:
    """The steps that packed numbered passages, in the order of their calls."""
    return [
        step for step in _steps(trace) if step.name == "pack" and all(step.facts.get("passages", (None,)))
    ]


def _parts(trace: Span) -> list[Span]:
    return [step for step in _steps(trace) if step.name == "part"]


def _calls(trace: Span) -> list[Span]:
    """Calls and parts, each of which is one call."""
    return [step for step in _steps(trace) if step.name in ("part", "llm")]


def _is_over(call: Span) -> bool:
    return _reply(call) is not None


def _reply(call: Span) -> PartialAnswer | None:
    """The reply of a finished call that did not fail."""
    for step in (call, *call.children):
        # which an interrupted call does not have
        if step.name == "llm" and step.seconds >= 0 and "cut_short" in step.facts:
            return PartialAnswer(str(step.facts["reply"]), step.facts.get("outcome"))
    return None


def latest_replies(trace: Span) -> list[PartialAnswer]:
    """The replies of the last complete level of summaries, or of the first; or that of the last call in a
    row."""
    levels: list[list[PartialAnswer | None]] = []
    for part in _parts(trace):
        if part.facts["part"] == 1:
            levels.append([])
        levels[-1].append(_reply(part))
    if levels:
        whole = [level for level in levels if None not in level]
        return [reply for reply in (whole or levels)[-1 if whole else 0] if reply is not None]
    return [reply for reply in map(_reply, _calls(trace)) if reply is not None][-1:]


def finished_parts(
    pieces: Generator[str, None, object], trace: Span
) -> Generator[PartialAnswer | None, None, None]:
    """Reads the pieces of `accumulate` to their end. Yields each of its answers, in order, once its call has
    finished, and None after each piece as a sign of life."""
    waiting: deque[tuple[Span, Span]] | None = None
    with closing(pieces):
        for _piece in pieces:
            if waiting is None:  # all calls have their spans before the first piece
                waiting = deque(zip(_parts(trace), packs(trace), strict=False))
            yield from _pop_finished(waiting)
            yield None


def _pop_finished(waiting: deque[tuple[Span, Span]]) -> Iterator[PartialAnswer]:
    while waiting and (reply := _reply(waiting[0][0])) is not None:
        _part, pack = waiting.popleft()
        yield replace(reply, passages=tuple(pack.facts["passages"]))


def parts_of(trace: Span) -> list[PartialAnswer]:
    """The finished answers that stand below each other in an answer of `accumulate`; none in any other."""
    synthesis = synthesis_of(trace)
    mode = find_mode(str(synthesis.facts.get("mode", ""))) if synthesis is not None else None
    if synthesis is None or mode is None or not mode.answers_in_parts:
        return []
    replies = []
    for part in synthesis.children:
        if part.name == "part":
            reply = _reply(part)
            if reply is None:
                break
            replies.append(reply)
    return replies


def synthesis_of(trace: Span) -> Span | None:
    """The step that made the answer from passages. An agent and an answer for each document have none."""
    step: Span | None = trace
    while step is not None and step.name in ("chat", "query"):
        inner = {child.name: child for child in step.children}
        step = inner.get("synthesize") or inner.get("query")
    return step if step is not None and step.name == "synthesize" else None
