"""The eight ways to make one answer out of passages. Each is a generator: pieces of the answer, then the whole of it.

An empty piece is a sign of life of a call whose words are not the answer's, so that whoever reads may stop there too.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TypeAlias

from ragcore.llms.base import LLM, LLMCall
from ragcore.prompts.prompt import Passage, Prompt, Variables, as_text
from ragcore.prompts.wording import GENERATION, REFINE, TEXT_QA, TREE_SUMMARIZE, structured
from ragcore.response_synthesizers.packer import Packer, Passages
from ragcore.response_synthesizers.parallel_calls import stream_all
from ragcore.response_synthesizers.refinement import improved_answer
from ragcore.response_synthesizers.structured import SATISFIED, satisfied_answer
from ragcore.schema import ChatMessage

Pieces: TypeAlias = Generator[str, None, str]

ROW_SEPARATOR = "\n---------------------\n"


class ResponseMode(str, Enum):
    REFINE = "refine"
    COMPACT = "compact"
    SIMPLE_SUMMARIZE = "simple_summarize"
    TREE_SUMMARIZE = "tree_summarize"
    GENERATION = "generation"
    NO_TEXT = "no_text"
    ACCUMULATE = "accumulate"
    COMPACT_ACCUMULATE = "compact_accumulate"


@dataclass(frozen=True, slots=True)
class Prompts:
    """The wording of each kind of call."""

    text_qa: Prompt = TEXT_QA
    refine: Prompt = REFINE
    summary: Prompt = TREE_SUMMARIZE
    simple: Prompt = GENERATION


def worded(wording: Mapping[str, Prompt]) -> Prompts:
    """The prompts, with other ones for those whose names `wording` has."""
    ours = Prompts()
    return Prompts(*(wording.get(prompt.name, prompt) for prompt in (ours.text_qa, ours.refine, ours.summary, ours.simple)))


@dataclass(frozen=True, slots=True)
class SynthesisJob:
    """What a mode is given. `workers` is how many independent calls may run at the same time.

    An `existing_answer` among the variables is what refine and compact go on from. With `filtered`, each of their calls says
    whether its passages held the answer, and one that says no leaves the answer as it was; "" where none of them did.
    """

    llm: LLM
    passages: Passages
    variables: Variables
    history: Sequence[ChatMessage] = ()
    prompts: Prompts = field(default_factory=Prompts)
    workers: int = 4
    filtered: bool = False


def refine(job: SynthesisJob) -> Pieces:
    """One call for each passage: an answer from the first, improved with each of the others. The last one is streamed."""
    return (yield from _refined(job, most=1))


def compact(job: SynthesisJob) -> Pieces:
    """Like refine, with as many passages in each call as fit: usually one call."""
    return (yield from _refined(job, most=None))


def simple_summarize(job: SynthesisJob) -> Pieces:
    """One call, always. Where the passages do not fit, the longest lose their ends."""
    call = Packer(job.llm).squeeze(job.prompts.text_qa, job.variables, job.passages, job.history)
    return (yield from _spoken(job.llm, call))


def tree_summarize(job: SynthesisJob) -> Pieces:
    """One call when everything fits. Else one for each packful, at the same time, and then again over their answers."""
    packer = Packer(job.llm)
    packed = packer.pack(job.prompts.summary, job.variables, job.passages, job.history)
    while len(packed.calls) > 1:
        answers = [""] * len(packed.calls)
        with closing(stream_all(job.llm, packed.calls, job.workers)) as pieces:
            for number, piece in pieces:
                answers[number] += piece
                yield ""
        summaries = tuple(Passage(answer) for answer in answers if answer.strip())
        if not summaries:
            return ""
        fewer = packer.pack(job.prompts.summary, job.variables, summaries, job.history)
        if len(fewer.calls) >= len(packed.calls):
            # Answers as long as what they sum up would go round for ever: two must fit where one did.
            fewer = packer.pack_in_pairs(job.prompts.summary, job.variables, summaries, job.history)
        packed = fewer
    return (yield from _spoken(job.llm, packed.calls[0]))


def generation(job: SynthesisJob) -> Pieces:
    """One call with the question alone; the passages are shown beside the answer, but not used."""
    call = Packer(job.llm).take(job.prompts.simple, job.variables, (), job.history).calls[0]
    return (yield from _spoken(job.llm, call))


def no_text(job: SynthesisJob) -> Pieces:
    """No call: only the passages."""
    yield from ()
    return ""


def accumulate(job: SynthesisJob) -> Pieces:
    """One call for each passage, at the same time; the answers stand below each other."""
    return (yield from _rows(job, most=1))


def compact_accumulate(job: SynthesisJob) -> Pieces:
    """Like accumulate, with as many passages in each call as fit."""
    return (yield from _rows(job, most=None))


def run(mode: ResponseMode, job: SynthesisJob) -> Pieces:
    return _MODES[mode](job)


def _refined(job: SynthesisJob, most: int | None) -> Pieces:
    packer = Packer(job.llm)
    answer, waiting = as_text(job.variables.get("existing_answer", "")), job.passages
    while waiting:
        prompt = job.prompts.refine if answer else job.prompts.text_qa
        variables = {**job.variables, "existing_answer": answer} if answer else job.variables
        packed = packer.take(structured(prompt) if job.filtered else prompt, variables, waiting, job.history, most=most)
        waiting = packed.waiting
        call = packed.calls[0]
        if job.filtered:
            answer = satisfied_answer((yield from _unspoken(job.llm, replace(call, schema=SATISFIED)))) or answer
            continue
        spoken = improved_answer(job.llm, call) if answer else _spoken(job.llm, call)
        if waiting:
            answer = (yield from _silently(spoken)) or answer
        else:
            improved = yield from spoken
            if not improved.strip():
                yield answer
            answer = improved if improved.strip() else answer
    if job.filtered:
        yield answer
    return answer


def _rows(job: SynthesisJob, most: int | None) -> Pieces:
    packed = Packer(job.llm).pack(job.prompts.text_qa, job.variables, job.passages, job.history, most=most)
    rows = [f"{ROW_SEPARATOR if row else ''}Response {row + 1}: " for row in range(len(packed.calls))]
    begun = 0
    said: list[str] = []
    with closing(stream_all(job.llm, packed.calls, job.workers)) as pieces:
        for number, piece in pieces:
            # A row begins with its first word, so that an answer which fails before has said nothing.
            here = max(begun, number + 1 if piece else number)
            said.append("".join(rows[begun:here]) + piece)
            begun = here
            yield said[-1]
    said.append("".join(rows[begun:]))
    yield said[-1]
    return "".join(said)


def _spoken(llm: LLM, call: LLMCall) -> Pieces:
    generated = yield from llm.stream(call)
    return generated.text


def _unspoken(llm: LLM, call: LLMCall) -> Pieces:
    """The call's text, with a sign of life for each of its pieces."""
    return (yield from _silently(_spoken(llm, call)))


def _silently(pieces: Pieces) -> Pieces:
    said: list[str] = []
    with closing(pieces):
        for piece in pieces:
            said.append(piece)
            yield ""
    return "".join(said)


_MODES: Mapping[ResponseMode, Callable[[SynthesisJob], Pieces]] = {
    ResponseMode.REFINE: refine,
    ResponseMode.COMPACT: compact,
    ResponseMode.SIMPLE_SUMMARIZE: simple_summarize,
    ResponseMode.TREE_SUMMARIZE: tree_summarize,
    ResponseMode.GENERATION: generation,
    ResponseMode.NO_TEXT: no_text,
    ResponseMode.ACCUMULATE: accumulate,
    ResponseMode.COMPACT_ACCUMULATE: compact_accumulate,
}
