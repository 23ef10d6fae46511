"""The progress of an answer, from its trace: the finished calls, their passages and their replies."""

from __future__ import annotations

from dataclasses import dataclass

from ragcore.observe import Span
from ragcore.response_synthesizers.modes import ResponseMode


@dataclass(frozen=True, slots=True)
class Progress:
    """Finished calls or documents, and their expected total."""

    done: int
    of: int


def progress(trace: Span) -> Progress:
    """Of calls. Calls over summaries count when they begin, and the last one from the start."""
    calls, packed, parts = _calls(trace), packs(trace), _parts(trace)
    done = sum(_is_over(call) for call in calls)
    if parts:
        levels = [part for part in parts if part.facts["part"] == 1]
        sums_up = trace.facts.get("mode") == ResponseMode.TREE_SUMMARIZE
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


def _reply(call: Span) -> str | None:
    """The reply of a finished call that did not fail."""
    for step in (call, *call.children):
        # which an interrupted call does not have
        if step.name == "llm" and step.seconds >= 0 and "cut_short" in step.facts:
            return str(step.facts["reply"])
    return None


def latest_replies(trace: Span) -> list[str]:
    """The replies of the last complete level of summaries, or of the first; or that of the last call in a
    row."""
    levels: list[list[str | None]] = []
    for part in _parts(trace):
        if part.facts["part"] == 1:
            levels.append([])
        levels[-1].append(_reply(part))
    if levels:
        whole = [level for level in levels if None not in level]
        return [reply for reply in (whole or levels)[-1 if whole else 0] if reply is not None]
    return [reply for reply in map(_reply, _calls(trace)) if reply is not None][-1:]
