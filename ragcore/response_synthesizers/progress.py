"""How far an answer has come: the calls that are over, what they were shown and what they said. Told by its trace, which grows
meanwhile."""

from __future__ import annotations

from dataclasses import dataclass

from ragcore.observe import Span
from ragcore.response_synthesizers.modes import ResponseMode


@dataclass(frozen=True, slots=True)
class Progress:
    """Calls, or documents, that are over, and those in all as far as can be told."""

    done: int
    of: int


def progress(trace: Span) -> Progress:
    """Of calls. Those that sum up summaries are known once there are any, but for the last."""
    calls, packed, parts = _calls(trace), packs(trace), _parts(trace)
    done = sum(_is_over(call) for call in calls)
    if parts:
        levels = [part for part in parts if part.facts["part"] == 1]
        sums_up = trace.facts.get("mode") == ResponseMode.TREE_SUMMARIZE
        return Progress(done, sum(level.facts["of"] for level in levels) + sums_up)
    waiting = packed[-1].facts.get("waiting", 0) if packed else 0
    return Progress(done, max(len(packed) + waiting, len(calls), 1))


def passages_read(trace: Span) -> set[int]:
    """The numbers, from 1, of the passages that were shown in calls which are over."""
    shown = zip(packs(trace), _calls(trace), strict=False)  # calls that sum up answers show no passages
    return {number for pack, call in shown if _is_over(call) for number in pack.facts["passages"]}


def _steps(trace: Span) -> list[Span]:
    return [step for whole in (trace, *trace.children) if whole.name == "synthesize" for step in list(whole.children)]


def packs(trace: Span) -> list[Span]:
    """Those that packed numbered passages, in the order of the calls that show them."""
    return [step for step in _steps(trace) if step.name == "pack" and all(step.facts.get("passages", (None,)))]


def _parts(trace: Span) -> list[Span]:
    return [step for step in _steps(trace) if step.name == "part"]


def _calls(trace: Span) -> list[Span]:
    """Calls and parts, each of which is one call."""
    return [step for step in _steps(trace) if step.name in ("part", "llm")]


def _is_over(call: Span) -> bool:
    return _reply(call) is not None


def _reply(call: Span) -> str | None:
    """What was said in a call that is over and did not fail."""
    for step in (call, *call.children):
        if step.name == "llm" and step.seconds >= 0 and "cut_short" in step.facts:  # which a call that is broken off never says
            return str(step.facts["reply"])
    return None


def latest_replies(trace: Span) -> list[str]:
    """Of the last level of summaries that is whole, or of the first; of calls in a row, the last."""
    levels: list[list[str | None]] = []
    for part in _parts(trace):
        if part.facts["part"] == 1:
            levels.append([])
        levels[-1].append(_reply(part))
    if levels:
        whole = [level for level in levels if None not in level]
        return [reply for reply in (whole or levels)[-1 if whole else 0] if reply is not None]
    return [reply for reply in map(_reply, _calls(trace)) if reply is not None][-1:]
