"""Lets a model write the answer to a question from its passages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from ragcore.extractive import fixed_replies
from ragcore.extractive.answerer import Writer, writer_of
from ragcore.extractive.fixed_replies import in_language_of
from ragcore.extractive.quoter import Quoter
from ragcore.llms.base import LLM
from ragcore.observe import note
from ragcore.prompts.prompt import Variable
from ragcore.prompts.structured_output import parse_form
from ragcore.prompts.templates import Wording
from ragcore.prompts.wording import DEFAULT_SYSTEM_PROMPT, in_form
from ragcore.response_synthesizers.base import AnySynthesizer, at_once
from ragcore.response_synthesizers.modes import Pieces, Prompts, SynthesisJob, run
from ragcore.response_synthesizers.packer import Passages
from ragcore.response_synthesizers.quoting import QuotingSynthesizer
from ragcore.response_synthesizers.response_mode import ResponseMode
from ragcore.schema import ChatMessage
from ragcore.settings import services

if TYPE_CHECKING:
    from pydantic import BaseModel

WORKERS = 4  # parallel calls


class Synthesizer(AnySynthesizer):
    """Answers in one mode with one model.

    `structured_answer_filtering`, for refine and compact: each call also says whether its passages contain
    the answer, and those that do not leave the answer as it was. `output_cls`: the answer is JSON of this
    pydantic model, and `response.response` the object; not for modes that list several answers.

    >>> from ragcore.llms import ScriptedLLM
    >>> from ragcore.schema import NodeWithScore, TextNode
    >>> hits = [NodeWithScore(TextNode("Ada wrote notes."))]
    >>> str(Synthesizer(ScriptedLLM(["Ada [1]."]), "compact").synthesize("Who wrote notes?", hits))
    'Ada [1].'
    """

    def __init__(
        self,
        llm: LLM | None = None,
        mode: ResponseMode | str | None = None,
        prompts: Prompts | None = None,
        *,
        text_qa_template: Wording | None = None,
        refine_template: Wording | None = None,
        summary_template: Wording | None = None,
        simple_template: Wording | None = None,
        system_prompt: str = "",
        workers: int = WORKERS,
        use_async: bool = True,
        structured_answer_filtering: bool = False,
        output_cls: type[BaseModel] | None = None,
        streaming: bool = False,
        verbose: bool = False,
    ) -> None:
        """The default model is that of `ragcore.settings.services`. With `use_async`, `workers` independent
        calls run in parallel. `verbose` logs each trace."""
        self.llm = services().llm if llm is None else llm
        templates = {
            "text_qa": text_qa_template,
            "refine": refine_template,
            "summary": summary_template,
            "simple": simple_template,
        }
        super().__init__(self.llm, mode, prompts, templates, streaming=streaming, verbose=verbose)
        self.system_prompt = system_prompt or DEFAULT_SYSTEM_PROMPT
        self._workers = workers if use_async else 1
        self._filtered = structured_answer_filtering
        self.output_cls = output_cls
        if structured_answer_filtering and (output_cls is not None or not self.mode.refines):
            raise ValueError(
                "structured_answer_filtering is for the modes refine and compact, without output_cls; "
                f"not {mode!r}"
            )
        if output_cls is not None and not self.mode.gives_one_answer:
            raise ValueError(f"output_cls is for modes that give one answer; {self.mode.value!r} does not")

    def answer_from(
        self,
        passages: Passages,
        question: str,
        extra: dict[str, Any],
        history: Sequence[ChatMessage] = (),
        prev_response: str = "",
    ) -> Pieces:
        """The answer from passages as prompts show them, in the current span. With `output_cls`, `extra` gets
        "output"."""
        variables: dict[str, Variable] = {"query_str": question, "system_prompt": self.system_prompt}
        if prev_response:
            variables["existing_answer"] = prev_response
        prompts = self.prompts
        if self.output_cls is not None:
            variables["output_schema"] = json.dumps(self.output_cls.model_json_schema(), ensure_ascii=False)
            kinds = (prompts.text_qa, prompts.refine, prompts.summary, prompts.simple)
            prompts = Prompts(*map(in_form, kinds))
        job = SynthesisJob(
            self.llm, passages, variables, tuple(history), prompts, self._workers, self._filtered
        )
        pieces = run(self.mode, job)
        if self.output_cls is not None:
            return _in_form(pieces, self.output_cls, extra)
        return _or_nothing_found(pieces, question) if self._filtered else pieces


BaseSynthesizer = Synthesizer  # as LlamaIndex names it


class Refine(Synthesizer):
    """One call per passage, each improving the answer.

    >>> from ragcore.llms import ScriptedLLM
    >>> Refine(llm=ScriptedLLM(["1843", "In 1843."])).get_response(
    ...     "When?", ["Ada wrote notes.", "It was 1843."]
    ... )
    'In 1843.'
    """

    default_mode = ResponseMode.REFINE


class CompactAndRefine(Synthesizer):
    """The same with as many passages in a call as fit.

    >>> from ragcore.llms import ScriptedLLM
    >>> CompactAndRefine(llm=ScriptedLLM(["In 1843."])).get_response(
    ...     "When?", ["Ada wrote notes.", "It was 1843."]
    ... )
    'In 1843.'
    """


class TreeSummarize(Synthesizer):
    """Answers from as many passages as fit a call, then an answer from these answers.

    >>> from ragcore.llms import ScriptedLLM
    >>> TreeSummarize(llm=ScriptedLLM(["In 1843."])).get_response(
    ...     "When?", ["Ada wrote notes.", "It was 1843."]
    ... )
    'In 1843.'
    """

    default_mode = ResponseMode.TREE_SUMMARIZE


class SimpleSummarize(Synthesizer):
    """One call, with what fits into it.

    >>> from ragcore.llms import ScriptedLLM
    >>> SimpleSummarize(llm=ScriptedLLM(["In 1843."])).get_response("When?", ["It was 1843."])
    'In 1843.'
    """

    default_mode = ResponseMode.SIMPLE_SUMMARIZE


class Generation(Synthesizer):
    """The model's own answer, without passages.

    >>> from ragcore.llms import ScriptedLLM
    >>> Generation(llm=ScriptedLLM(["Hello."])).get_response("Hi", [])
    'Hello.'
    """

    default_mode = ResponseMode.GENERATION


class Accumulate(Synthesizer):
    """An answer per passage, one below the other.

    >>> from ragcore.llms import ScriptedLLM
    >>> print(Accumulate(llm=ScriptedLLM(["One."])).get_response("What?", ["A passage."]))
    Response 1: One.
    """

    default_mode = ResponseMode.ACCUMULATE


class CompactAndAccumulate(Synthesizer):
    """An answer for as many passages as fit a call, one below the other.

    >>> from ragcore.llms import ScriptedLLM
    >>> print(
    ...     CompactAndAccumulate(llm=ScriptedLLM(["Both."])).get_response(
    ...         "What?", ["One passage.", "Another."]
    ...     )
    ... )
    Response 1: Both.
    """

    default_mode = ResponseMode.COMPACT_ACCUMULATE


def _in_form(pieces: Pieces, model: type[BaseModel], extra: dict[str, Any]) -> Pieces:
    """The whole answer as JSON of the model, which `extra` gets as "output". LLMProtocolError."""
    reply = ""
    with closing(pieces):
        for piece in pieces:
            reply += piece
            yield ""
    output = parse_form(reply, model)
    extra["output"] = output
    answer = output.model_dump_json()
    yield answer
    return answer


def _or_nothing_found(pieces: Pieces, question: str) -> Pieces:
    answer = yield from pieces
    if answer:
        return answer
    note(outcome="nothing")
    return (yield from at_once(in_language_of(question, fixed_replies.NOTHING_FOUND)))


def get_response_synthesizer(
    llm: LLM | None = None,
    response_mode: ResponseMode | str = ResponseMode.COMPACT,
    text_qa_template: Wording | None = None,
    refine_template: Wording | None = None,
    summary_template: Wording | None = None,
    simple_template: Wording | None = None,
    *,
    structured_answer_filtering: bool = False,
    output_cls: type[BaseModel] | None = None,
    use_async: bool = True,
    streaming: bool = False,
    verbose: bool = False,
) -> AnySynthesizer:
    """`Synthesizer` in this mode; without a model, `QuotingSynthesizer`, except for answers in a form.

    >>> from ragcore.llms import ScriptedLLM
    >>> get_response_synthesizer(ScriptedLLM(), response_mode="tree_summarize").mode.value
    'tree_summarize'
    """
    writer = writer_of(services(llm).llm)
    if isinstance(writer, Quoter) and output_cls is None and not structured_answer_filtering:
        templates = {
            "text_qa": text_qa_template,
            "refine": refine_template,
            "summary": summary_template,
            "simple": simple_template,
        }
        return QuotingSynthesizer(
            writer, response_mode, templates=templates, streaming=streaming, verbose=verbose
        )
    return Synthesizer(
        llm,
        response_mode,
        text_qa_template=text_qa_template,
        refine_template=refine_template,
        summary_template=summary_template,
        simple_template=simple_template,
        structured_answer_filtering=structured_answer_filtering,
        output_cls=output_cls,
        use_async=use_async,
        streaming=streaming,
        verbose=verbose,
    )


def synthesizer_for(
    writer: Writer,
    mode: ResponseMode | str | None,
    prompts: Prompts | None = None,
    *,
    system_prompt: str = "",
) -> AnySynthesizer:
    """Quotes or writes, as the writer does. The system prompt is for a model."""
    writer = writer_of(writer)
    if isinstance(writer, Quoter):
        return QuotingSynthesizer(writer, mode, prompts)
    return Synthesizer(writer, mode, prompts, system_prompt=system_prompt)
