"""Packing: as many passages into a call as the model's window holds, computed on the very messages that will
be sent.

Instructions, question, history, the answer so far and the passages share the window, in which room for the
new answer stays free. If they do not fit, passages wait for the next call, a passage too big for any call is
cut between sentences or words, and the oldest history, then the end of the answer so far, are dropped, which
the span "pack" notes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, TypeAlias

from ragcore.errors import ContextWindowError
from ragcore.llms.base import LLM, LLMCall
from ragcore.llms.context_window import fair_share
from ragcore.observe import span
from ragcore.prompts.prompt import Passage, Prompt, Variable, Variables
from ragcore.response_synthesizers.history_window import head, recent, text_to_count
from ragcore.schema import ChatMessage
from ragcore.text.sentences import sentence_spans

MESSAGE_TOKENS = 4  # of the marks of a chat format around a message
SMALLEST_ROOM = 16  # tokens for passages, below which a call makes no sense

Passages: TypeAlias = tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class Packed:
    """Calls that fit the window, and the passages that wait for the next."""

    calls: tuple[LLMCall, ...]
    waiting: Passages = ()


@dataclass(frozen=True, slots=True)
class _Chosen:
    passages: Passages
    waiting: Passages
    facts: Mapping[str, Any] = field(default_factory=dict)


class Packer:
    """Packs for one model, and caches the tokens of each text. For one thread.

    `tools` are those of every call, in OpenAI's format; their schemas cost tokens, too.
    """

    def __init__(self, llm: LLM, tools: Sequence[Mapping[str, Any]] = ()) -> None:
        self._llm = llm
        self._tools = tuple(tools)
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
        """Calls for all passages, in order, at most `most` in each; one call without passages."""
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

        def first(room: int) -> _Chosen:
            used = count = 0
            for passage in passages[:most]:
                used += self._cost(passage)
                if used > room:
                    break
                count += 1
            if passages and not count:
                # The rest is not cut yet: a later call may have less room, or more.
                part = self._part(passages[0], room)
                text = passages[0].text.lstrip()[len(part.text) :].strip()
                rest = (replace(passages[0], text=text),) if text else ()
                return _Chosen((part,), (*rest, *passages[1:]), {"part_of": part.number})
            return _Chosen(passages[:count], passages[count:])

        return self._call(prompt, variables, passages, history, first)

    def pack_in_pairs(
        self, prompt: Prompt, variables: Variables, passages: Passages, history: Sequence[ChatMessage] = ()
    ) -> Packed:
        """Like `pack`, but passages lose their ends so that two fit in a call: at most half as many calls."""
        window = self._llm.metadata.context_window - self._llm.metadata.num_output
        room = window - self._sent(self._without_passages(prompt, variables, passages, history, window))
        half = max(1, room // 2 - 2)
        with span("shorten", to=half) as step:
            shorter = tuple(self._shorter(passage, half) for passage in passages)
            step.note(shortened=sum(short is not long for short, long in zip(shorter, passages, strict=True)))
        return self.pack(prompt, variables, shorter, history)

    def squeeze(
        self, prompt: Prompt, variables: Variables, passages: Passages, history: Sequence[ChatMessage] = ()
    ) -> LLMCall:
        """One call for all passages. If they do not fit, the longest are cut at their ends to one length."""

        def fair(room: int) -> _Chosen:
            fitting = passages[: max(room // SMALLEST_ROOM, 1)]
            limit = fair_share([self._cost(passage) for passage in fitting], room)
            shorter = tuple(self._shorter(passage, limit) for passage in fitting)
            facts: dict[str, Any] = {}
            if cut := [
                short.number for short, long in zip(shorter, fitting, strict=True) if short is not long
            ]:
                facts["cut_short"] = cut
            if left_out := [passage.number for passage in passages[len(fitting) :]]:
                facts["left_out"] = left_out
            return _Chosen(shorter, (), facts)

        return self._call(prompt, variables, passages, history, fair).calls[0]

    def _call(
        self,
        prompt: Prompt,
        variables: Variables,
        passages: Passages,
        history: Sequence[ChatMessage],
        choose: Callable[[int], _Chosen],
    ) -> Packed:
        with span("pack", prompt=prompt.name) as step:
            window = self._llm.metadata.context_window - self._llm.metadata.num_output
            limit = window
            while True:
                fixed = self._without_passages(prompt, variables, passages, history, limit)
                chosen = choose(limit - self._sent(fixed)) if passages else _Chosen((), ())
                call = _with_passages(fixed, chosen.passages) if passages else fixed
                # Joined texts may have a token more than their parts: the messages as sent decide.
                tokens = self._sent(call)
                if tokens <= window:
                    break
                limit -= tokens - window
            step.note(
                passages=[passage.number for passage in chosen.passages],
                waiting=len(chosen.waiting),
                **chosen.facts,
            )
            step.note(tokens=tokens, window=window, **_dropped_parts(variables, history, call))
            return Packed((call,), chosen.waiting)

    def _without_passages(
        self,
        prompt: Prompt,
        variables: Variables,
        passages: Passages,
        history: Sequence[ChatMessage],
        limit: int,
    ) -> LLMCall:
        """The call without its passages; history and the answer so far are shortened if the passages need the
        room."""
        answer = str(variables.get("existing_answer", ""))
        talk = tuple(item for item in variables.get("chat_history", ()) if isinstance(item, ChatMessage))
        nothing: Variables = {"context_str": (), "existing_answer": "", "chat_history": ()}
        bare = LLMCall(prompt, _only_named(prompt, variables, nothing), tools=self._tools)
        spare = limit - self._sent(bare)
        if spare < (SMALLEST_ROOM if passages else 0):
            raise _too_small(self._llm, limit - spare)
        need = 0
        for passage in passages:
            need += self._cost(passage)
            if need >= spare:
                break
        room = max(0, spare - self._count(answer) - min(need, max(spare // 2, SMALLEST_ROOM)))
        history = recent(history, room, self._count, per_message=MESSAGE_TOKENS)
        room -= sum(self._count(text_to_count(message)) + MESSAGE_TOKENS for message in history)
        talk = tuple(recent(talk, max(0, room), self._count, per_message=MESSAGE_TOKENS))
        spent = sum(self._count(text_to_count(message)) + MESSAGE_TOKENS for message in (*history, *talk))
        room = spare - spent - min(need, max(spare // 4, SMALLEST_ROOM))
        if self._count(answer) > room:
            answer = f"{head(answer, max(0, room - 2), self._llm.count_tokens)} …".strip()
        values = _only_named(
            prompt, variables, {"context_str": (), "existing_answer": answer, "chat_history": talk}
        )
        return LLMCall(prompt, values, tuple(history), self._tools)

    def _part(self, passage: Passage, room: int) -> Passage:
        """The beginning of the passage, with its number and source, that costs at most `room` if possible."""
        empty = replace(passage, text="")
        if self._cost(empty) > room // 2:
            empty = replace(empty, source="")
        size = max(1, room - self._cost(empty))
        return replace(empty, text=split(passage.text, size, self._llm.count_tokens)[0])

    def _shorter(self, passage: Passage, tokens: int) -> Passage:
        return passage if self._cost(passage) <= tokens else self._part(passage, tokens)

    def _sent(self, call: LLMCall) -> int:
        schemas = sum(self._count(json.dumps(tool, ensure_ascii=False)) for tool in call.tools)
        return schemas + sum(
            self._count(text_to_count(message)) + MESSAGE_TOKENS for message in call.messages()
        )

    def _cost(self, passage: Passage) -> int:
        return self._count(f"{passage}\n\n")

    def _count(self, text: str) -> int:
        if text not in self._known:
            self._known[text] = self._llm.count_tokens(text)
        return self._known[text]


def split(text: str, size: int, count: Callable[[str], int]) -> list[str]:
    """`text` in parts of at most `size` tokens, cut between sentences if possible, else between words, else
    anywhere.

    Only white space at the cuts is lost. A single character of more than `size` tokens is a part.
    """
    parts = [part.strip() for part in _split(text, size, count, (sentence_spans, _word_spans))]
    return [part for part in parts if part] or [text]


Divide: TypeAlias = Callable[[str], list[tuple[int, int]]]
"""Consecutive (start, end) that cover a text."""


def _split(text: str, size: int, count: Callable[[str], int], ways: Sequence[Divide]) -> Iterator[str]:
    if len(text) <= 1 or count(text) <= size:
        yield text
        return
    if not ways:
        middle = len(text) // 2
        yield from _split(text[:middle], size, count, ())
        yield from _split(text[middle:], size, count, ())
        return
    begin = used = 0  # of the part that is growing
    for start, end in ways[0](text):
        cost = count(text[start:end])
        if used + cost > size:
            if start > begin:
                yield text[begin:start]
            begin, used = start, 0
        if cost > size:
            yield from _split(text[start:end], size, count, ways[1:])
            begin = end
        else:
            used += cost
    if begin < len(text):
        yield text[begin:]


def _word_spans(text: str) -> list[tuple[int, int]]:
    ends = [match.end() for match in _SPACE.finditer(text)]
    return [(start, end) for start, end in pairwise([0, *ends, len(text)]) if end > start]


_SPACE = re.compile(r"\s+")


def _only_named(prompt: Prompt, variables: Variables, changed: Variables) -> dict[str, Variable]:
    """`variables` with those of `changed` that they or the prompt name."""
    return {
        **variables,
        **{name: value for name, value in changed.items() if name in variables or name in prompt.variables},
    }


def _with_passages(call: LLMCall, passages: Passages) -> LLMCall:
    return replace(call, variables={**call.variables, "context_str": passages})


def _dropped_parts(variables: Variables, history: Sequence[ChatMessage], call: LLMCall) -> dict[str, Any]:
    """The parts of the conversation that were dropped for the passages."""
    facts: dict[str, Any] = {}
    before = len(history) + len(variables.get("chat_history", ()))
    after = len(call.history) + len(call.variables.get("chat_history", ()))
    if before > after:
        facts["messages_left_out"] = before - after
    if variables.get("existing_answer", "") != call.variables.get("existing_answer", ""):
        facts["answer_shortened"] = True
    return facts


def _too_small(llm: LLM, needed: int) -> ContextWindowError:
    about = llm.metadata
    return ContextWindowError(
        f"The question and its instructions need {needed} tokens. {about.model_name} takes "
        f"{about.context_window}, of which {about.num_output} are reserved for the answer.",
        hint="Shorten the question, or choose a model with a larger context window in Settings.",
    )
