"""The functions of the response modes, which `response_mode` declares. Each makes one answer out of passages:
it is a generator of the pieces, which returns the whole answer.

An empty piece is a sign of life of a call whose words are not part of the answer, so that the reader can stop
there too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ragcore.llms.base import LLM, LLMCall
from ragcore.prompts.prompt import Passage, Prompt, Variables, as_text
from ragcore.prompts.structured_output import object_schema
from ragcore.prompts.wording import GENERATION, REFINE, TEXT_QA, TREE_SUMMARIZE, ask_for_verdict
from ragcore.response_synthesizers.packer import Packer, Passages
from ragcore.response_synthesizers.parallel_calls import stream_all
from ragcore.response_synthesizers.refinement import improved_answer
from ragcore.response_synthesizers.response_mode import ResponseMode
from ragcore.schema import ChatMessage
from ragcore.text.json_replies import parse_loose_json

Pieces: TypeAlias = Generator[str, None, str]

ROW_SEPARATOR = "\n---------------------\n"
SATISFIED = object_schema({"answer": {"type": "string"}, "query_satisfied": {"type": "boolean"}})
_NO = ("false", "no", "0", "none")


@dataclass(frozen=True, slots=True)
class Prompts:
    """The wording of each kind of call."""

    text_qa: Prompt = TEXT_QA
    refine: Prompt = REFINE
    summary: Prompt = TREE_SUMMARIZE
    simple: Prompt = GENERATION


def override_prompts(wording: Mapping[str, Prompt]) -> Prompts:
    """The default prompts, each replaced by the one that `wording` has for its name."""
    usual = Prompts()
    return Prompts(
        *(
            wording.get(prompt.name, prompt)
            for prompt in (usual.text_qa, usual.refine, usual.summary, usual.simple)
        )
    )


@dataclass(frozen=True, slots=True)
class SynthesisJob:
    """The input of a mode. `workers` independent calls may run in parallel. A call reads at most `most`
    passages.

    Refine and compact improve an `existing_answer` among the variables. With `filtered`, each of their calls
    also says whether its passages contain the answer. A call that denies it does not change the answer; if
    all deny it, the answer is "".
    """

    llm: LLM
    passages: Passages
    variables: Variables
    history: Sequence[ChatMessage] = ()
    prompts: Prompts = field(default_factory=Prompts)
    workers: int = 4
    filtered: bool = False
    most: int | None = None


def run(mode: ResponseMode, job: SynthesisJob) -> Pieces:
    return _MODES[mode](replace(job, most=mode.max_passages))


def tree_summarize(job: SynthesisJob) -> Pieces:
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
            # Answers as long as their passages would repeat this loop for ever. Two answers must fit into one
            # call.
            fewer = packer.pack_in_pairs(job.prompts.summary, job.variables, summaries, job.history)
        packed = fewer
    return (yield from _stream(job.llm, packed.calls[0]))


def _simple_summarize(job: SynthesisJob) -> Pieces:
    call = Packer(job.llm).squeeze(job.prompts.text_qa, job.variables, job.passages, job.history)
    return (yield from _stream(job.llm, call))


def _generate(job: SynthesisJob) -> Pieces:
    call = Packer(job.llm).take(job.prompts.simple, job.variables, (), job.history).calls[0]
    return (yield from _stream(job.llm, call))


def _no_text(job: SynthesisJob) -> Pieces:
    yield from ()
    return ""


def _refine(job: SynthesisJob) -> Pieces:
    """The last call is streamed."""
    packer = Packer(job.llm)
    answer, waiting = as_text(job.variables.get("existing_answer", "")), job.passages
    while waiting:
        prompt = job.prompts.refine if answer else job.prompts.text_qa
        variables = {**job.variables, "existing_answer": answer} if answer else job.variables
        packed = packer.take(
            ask_for_verdict(prompt) if job.filtered else prompt,
            variables,
            waiting,
            job.history,
            most=job.most,
        )
        waiting = packed.waiting
        call = packed.calls[0]
        if job.filtered:
            reply = yield from _silently(_stream(job.llm, replace(call, schema=SATISFIED)))
            answer = satisfied_answer(reply) or answer
            continue
        pieces = improved_answer(job.llm, call) if answer else _stream(job.llm, call)
        if waiting:
            answer = (yield from _silently(pieces)) or answer
        else:
            improved = yield from pieces
            if not improved.strip():
                yield answer
            answer = improved if improved.strip() else answer
    if job.filtered:
        yield answer
    return answer


def _accumulate(job: SynthesisJob) -> Pieces:
    packed = Packer(job.llm).pack(
        job.prompts.text_qa, job.variables, job.passages, job.history, most=job.most
    )
    rows = [part_heading(number) for number in range(1, len(packed.calls) + 1)]
    begun = 0
    text = ""
    with closing(stream_all(job.llm, packed.calls, job.workers)) as pieces:
        for number, piece in pieces:
            # A row begins with its first word, so that an answer which fails before has no row.
            here = max(begun, number + 1 if piece else number)
            piece = "".join(rows[begun:here]) + piece
            begun = here
            text += piece
            yield piece
    end = "".join(rows[begun:])
    yield end
    return text + end


def part_heading(number: int) -> str:
    """The words between the answers of accumulate, and before the first: `number` counts from 1."""
    return f"{ROW_SEPARATOR if number > 1 else ''}Response {number}: "


def _stream(llm: LLM, call: LLMCall) -> Pieces:
    return (yield from llm.stream(call)).text


def _silently(pieces: Pieces) -> Pieces:
    """The whole text, with a sign of life for each of its pieces."""
    text = ""
    with closing(pieces):
        for piece in pieces:
            text += piece
            yield ""
    return text


def satisfied_answer(reply: str) -> str:
    """The "answer" of a reply to a `structured` prompt; "" where "query_satisfied" denies it. Many models
    reply in plain words, which are the answer."""
    try:
        values = parse_loose_json(reply)
    except ValueError:
        return reply.strip()
    if not isinstance(values, dict) or not values.keys() & {"answer", "query_satisfied"}:
        return reply.strip()
    answer = values.get("answer")
    if answer is None or str(values.get("query_satisfied", True)).strip().lower() in _NO:
        return ""
    return answer.strip() if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


_MODES: Mapping[ResponseMode, Callable[[SynthesisJob], Pieces]] = {
    ResponseMode.REFINE: _refine,
    ResponseMode.COMPACT: _refine,
    ResponseMode.SIMPLE_SUMMARIZE: _simple_summarize,
    ResponseMode.TREE_SUMMARIZE: tree_summarize,
    ResponseMode.GENERATION: _generate,
    ResponseMode.NO_TEXT: _no_text,
    ResponseMode.ACCUMULATE: _accumulate,
    ResponseMode.COMPACT_ACCUMULATE: _accumulate,
}
