"""The call to the language model that an answer without words waits for."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os.path import commonprefix
from typing import Any

from ragcore.llms.base import LLM
from ragcore.llms.call_stages import CallStage
from ragcore.observe import Listener, Span, add_listener

STAGES = tuple(CallStage)  # in their order
MAX_PROMPTS = 8  # stored, because a server has few slots for one prompt each


@dataclass(frozen=True, slots=True)
class CallInFlight:
    """`prompt_tokens` that the server has to read, without those in its cache. `seconds_left` is None if the
    model's speed is unknown, before it reads, and once it takes longer than estimated."""

    stage: CallStage
    prompt_tokens: int
    seconds_left: float | None = None


class ReadPrompts:
    """The last prompts of models, for servers that report how much of a prompt was in their cache. Threads
    may share it."""

    def __init__(self) -> None:
        self._read: deque[tuple[str, str]] = deque(maxlen=MAX_PROMPTS)  # model and prompt

    def add(self, trace: Span) -> None:
        """Add the prompts of the calls that have ended."""
        for call in trace.spans("llm"):
            if (
                "cached_tokens" in call.facts
                and (prompt := (str(call.facts["model"]), _prompt(call))) not in self._read
            ):
                self._read.append(prompt)

    def unread(self, call: Span) -> str:
        """The prompt of a call without its longest beginning that the model has read before."""
        prompt, model = _prompt(call), call.facts["model"]
        known = [prompt for reader, prompt in self._read.copy() if reader == model]
        return prompt[max((len(commonprefix((prompt, each))) for each in known), default=0) :]  # noqa: RUF071 - of characters


class CallWatch(Listener):
    """Watches the calls of one answer, for one thread. Each prompt is counted once."""

    def __init__(self, llm: LLM, read_prompts: ReadPrompts) -> None:
        self._llm = llm
        self._read_prompts = read_prompts
        self._thread = 0
        self._trace: Span | None = None
        self._counted: tuple[Span | None, int] = None, 0

    @contextmanager
    def follow(self) -> Iterator[None]:
        """Watch the trace that this thread starts inside, from its first call: the one that condenses a
        follow-up question."""
        self._thread = threading.get_ident()
        remove = add_listener(self)
        try:
            yield
        finally:
            remove()

    def on_start(self, step: Span) -> None:
        if step.parent is None and threading.get_ident() == self._thread:
            self._trace = step

    def look(self) -> CallInFlight | None:
        """The call in the latest stage of those that have not ended; None without a call."""
        if self._trace is None:
            return None
        calls = [call for call in self._trace.spans("llm") if call.seconds < 0]
        if not calls:
            return None
        call = max(calls, key=lambda each: STAGES.index(_stage(each)))
        stage, tokens, speed = _stage(call), self._count(call), self._llm.speed
        if stage is not CallStage.READING or speed is None:
            return CallInFlight(stage, tokens)
        since = call.stage.since if call.stage else -call.seconds
        seconds_left = tokens / speed.prompt_tokens_per_second - (time.perf_counter() - since)
        return CallInFlight(stage, tokens, seconds_left if seconds_left > 0 else None)

    def _count(self, call: Span) -> int:
        if self._counted[0] is not call:
            unread = self._llm.count_tokens(self._read_prompts.unread(call))
            # of a prompt that is in its cache, a server reads the end again
            self._counted = call, max(unread, 1)
        return self._counted[1]


def _stage(call: Span) -> CallStage:
    """READING for a server with an unknown queue."""
    return CallStage(call.stage.name) if call.stage else CallStage.READING


def _prompt(call: Span) -> str:
    messages: list[dict[str, Any]] = call.facts["messages"]
    return "\n\n".join("".join(part["text"] for part in message["parts"]) for message in messages)
