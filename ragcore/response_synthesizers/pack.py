"""Packing: as many passages into a call as the model's window holds, computed on the very messages that will be sent.

Everything in a call competes for the window: instructions, question, history, the answer so far and the passages; and room
for the answer stays free. Where they do not all fit, passages wait for the next call, a passage too big for any call is cut
between sentences or words, and the oldest of the history, then the end of the answer so far, give way. The trace's "pack" step
says what was left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from ragcore.errors import ContextWindowError
from ragcore.llms.base import LLM, LLMCall
from ragcore.observe import span
from ragcore.prompts import Passage, Prompt, Variables
from ragcore.response_synthesizers.recent import head, recent
from ragcore.schema import ChatMessage

MESSAGE_TOKENS = 4  # what chat formats spend on the marks around a message
SMALLEST_ROOM = 16  # tokens for passages, below which a call makes no sense

Passages: TypeAlias = tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class Packed:
    """Calls that fit the window, and what of the passages still waits for a call."""

    calls: tuple[LLMCall, ...]
    waiting: Passages = ()

    @property
    def packs(self) -> list[Passages]:
        return [passages_of(call) for call in self.calls]


def passages_of(call: LLMCall) -> Passages:
    """The passages that a call shows."""
    return tuple(item for item in call.variables.get("context_str", ()) if isinstance(item, Passage))


class Packer:
    """Packs for one model, and remembers what each text costs. For one thread."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm
        self._known: dict[str, int] = {}

    def pack(
        self,
        prompt: Prompt,
        variables: Variables,
        passages: Passages,
        history: Sequence[ChatMessage] = (),
        *,
        most: int | None = None,
    ) -> Packed:
        """Calls that hold all passages between them, in order, at most `most` in each. No passages: one call without any."""
        calls: list[LLMCall] = []
        while passages or not calls:
            packed = self.take(prompt, variables, passages, history, most=most)
            calls.extend(packed.calls)
            passages = packed.waiting
        return Packed(tuple(calls))

    def take(
        self,
        prompt: Prompt,
        variables: Variables,
        passages: Passages,
        history: Sequence[ChatMessage] = (),
        *,
        most: int | None = None,
    ) -> Packed:
        """One call with as many of the first passages as fit, at least a part of one; the others wait."""

        def first(room: int) -> tuple[Passages, Passages]:
            used = taken = 0
            for passage in passages[:most]:
                used += self._cost(passage)
                if used > room:
                    break
                taken += 1
            if passages and not taken:
                part, *others = self._parts(passages[0], room)
                return (part,), (*others, *passages[1:])
            return passages[:taken], passages[taken:]

        return self._call(prompt, variables, passages, history, first)

    def pack_in_pairs(
        self, prompt: Prompt, variables: Variables, passages: Passages, history: Sequence[ChatMessage] = ()
    ) -> Packed:
        """Like `pack`, but passages lose their ends where fewer than two would fit in a call: at most half as many calls."""
        window = self._llm.metadata.context_window - self._llm.metadata.num_output
        room = window - self._sent(self._fixed(prompt, variables, passages, history, window))
        half = max(1, room // 2 - 2)
        shorter = tuple(self._parts(passage, half)[0] if self._cost(passage) > half else passage for passage in passages)
        return self.pack(prompt, variables, shorter, history)

    def squeeze(self, prompt: Prompt, variables: Variables, passages: Passages, history: Sequence[ChatMessage] = ()) -> LLMCall:
        """One call for all passages. Where they do not fit, the longest are cut to one length; each keeps its beginning."""

        def fair(room: int) -> tuple[Passages, Passages]:
            shown = passages[: max(room // SMALLEST_ROOM, 1)]
            limit = _fair_share([self._cost(passage) for passage in shown], room)
            kept = tuple(self._parts(passage, limit)[0] if self._cost(passage) > limit else passage for passage in shown)
            return kept, ()

        return self._call(prompt, variables, passages, history, fair).calls[0]

    def _call(
        self,
        prompt: Prompt,
        variables: Variables,
        passages: Passages,
        history: Sequence[ChatMessage],
        choose: Callable[[int], tuple[Passages, Passages]],
    ) -> Packed:
        with span("pack", prompt=prompt.name) as step:
            window = self._llm.metadata.context_window - self._llm.metadata.num_output
            limit = window
            while True:
                fixed = self._fixed(prompt, variables, passages, history, limit)
                chosen, waiting = choose(limit - self._sent(fixed)) if passages else ((), ())
                call = replace(fixed, variables={**fixed.variables, "context_str": chosen}) if passages else fixed
                # Joined texts may have a token more than their parts; the last word is with the messages as sent.
                excess = self._sent(call) - window
                if excess <= 0:
                    break
                limit -= excess
            step.note(**_told(chosen, passages, waiting, history, variables, call), tokens=window + excess, window=window)
            return Packed((call,), waiting)

    def _fixed(
        self, prompt: Prompt, variables: Variables, passages: Passages, history: Sequence[ChatMessage], limit: int
    ) -> LLMCall:
        """The call without its passages; history and the answer so far are shortened if they leave these too little room."""
        answer = str(variables.get("existing_answer", ""))
        talk = tuple(item for item in variables.get("chat_history", ()) if isinstance(item, ChatMessage))
        bare = LLMCall(prompt, {**variables, "context_str": (), "existing_answer": "", "chat_history": ()})
        spare = limit - self._sent(bare)
        if spare < (SMALLEST_ROOM if passages else 0):
            raise _too_small(self._llm, limit - spare)
        need = 0
        for passage in passages:
            need += self._cost(passage)
            if need >= spare:
                break
        room = max(0, spare - self._count(answer) - min(need, spare // 2))
        history = recent(history, room, self._count, per_message=MESSAGE_TOKENS)
        room -= sum(self._count(message.content) + MESSAGE_TOKENS for message in history)
        talk = tuple(recent(talk, max(0, room), self._count, per_message=MESSAGE_TOKENS))
        spent = sum(self._count(message.content) + MESSAGE_TOKENS for message in (*history, *talk))
        room = spare - spent - min(need, spare // 4)
        if self._count(answer) > room:
            answer = f"{head(answer, max(0, room - 2), self._llm.count_tokens)} …".strip()
        return LLMCall(prompt, {**bare.variables, "existing_answer": answer, "chat_history": talk}, tuple(history))

    def _parts(self, passage: Passage, room: int) -> list[Passage]:
        """The passage in parts that cost at most `room` where that is possible, each with its number and source."""
        empty = replace(passage, text="")
        if self._cost(empty) > room // 2:
            empty = replace(empty, source="")
        size = max(1, room - self._cost(empty))
        return [replace(empty, text=part) for part in split(passage.text, size, self._llm.count_tokens)]

    def _sent(self, call: LLMCall) -> int:
        return sum(self._llm.count_tokens(message.content) + MESSAGE_TOKENS for message in call.messages())

    def _cost(self, passage: Passage) -> int:
        return self._count(f"{passage}\n\n")

    def _count(self, text: str) -> int:
        if text not in self._known:
            self._known[text] = self._llm.count_tokens(text)
        return self._known[text]


def split(text: str, size: int, count: Callable[[str], int]) -> list[str]:
    """`text` in parts of at most `size` tokens, cut between sentences where possible, else between words, else anywhere.

    Nothing but white space at the cuts is lost. A single character of more than `size` tokens is a part of its own.
    """
    parts = [part.strip() for part in _split(text, size, count, _BOUNDARIES)]
    return [part for part in parts if part] or [text]


_BOUNDARIES = (
    re.compile(r"\n\s*\n"),
    re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])|\n"),
    re.compile(r"\s+"),
)


def _split(text: str, size: int, count: Callable[[str], int], boundaries: Sequence[re.Pattern[str]]) -> Iterator[str]:
    if len(text) <= 1 or count(text) <= size:
        yield text
        return
    if not boundaries:
        middle = len(text) // 2
        yield from _split(text[:middle], size, count, ())
        yield from _split(text[middle:], size, count, ())
        return
    start = end = used = 0
    for piece in _cut(text, boundaries[0]):
        cost = count(piece)
        if used + cost > size and end > start:
            yield text[start:end]
            start, used = end, 0
        if cost > size:
            yield from _split(piece, size, count, boundaries[1:])
            start, used = end + len(piece), 0
        else:
            used += cost
        end += len(piece)
    if end > start:
        yield text[start:end]


def _cut(text: str, boundary: re.Pattern[str]) -> Iterator[str]:
    start = 0
    for match in boundary.finditer(text):
        if match.end() > start:
            yield text[start : match.end()]
            start = match.end()
    if start < len(text):
        yield text[start:]


def _fair_share(costs: Sequence[int], room: int) -> int:
    """The greatest length to which all longer passages can be cut so that they fit together."""
    left = room
    for index, cost in enumerate(sorted(costs)):
        share = left // (len(costs) - index)
        if cost > share:
            return share
        left -= cost
    return room


def _told(
    chosen: Passages,
    passages: Passages,
    waiting: Passages,
    history: Sequence[ChatMessage],
    variables: Variables,
    call: LLMCall,
) -> dict[str, Any]:
    """What a reader of the trace should know: which passages are shown, and what had to give way."""
    facts: dict[str, Any] = {"passages": [passage.number for passage in chosen], "waiting": len(waiting)}
    whole = {id(passage) for passage in passages}
    if cut := [passage.number for passage in chosen if id(passage) not in whole]:
        facts["parts_of"] = cut
    if left_out := [passage.number for passage in passages[len(chosen) + len(waiting) :]]:
        facts["left_out"] = left_out
    talk = variables.get("chat_history", ())
    dropped = len(history) + len(talk) - len(call.history) - len(call.variables["chat_history"])
    if dropped:
        facts["messages_left_out"] = dropped
    if call.variables["existing_answer"] != variables.get("existing_answer", ""):
        facts["answer_shortened"] = True
    return facts


def _too_small(llm: LLM, needed: int) -> ContextWindowError:
    about = llm.metadata
    return ContextWindowError(
        f"The question and its instructions need {needed} tokens. {about.model_name} takes {about.context_window}, "
        f"of which {about.num_output} are kept free for the answer.",
        hint="Shorten the question, or choose a model with a larger context window in the settings.",
    )
