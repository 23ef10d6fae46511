"""From a question and its passages to an answer, with a trace."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ClassVar

from ragcore.concurrency import awaitable
from ragcore.extractive import fixed_replies
from ragcore.extractive.fixed_replies import in_language_of
from ragcore.llms.base import LLM
from ragcore.observe import Span, start, stream_in
from ragcore.prompts.mixin import PromptMixin
from ragcore.prompts.prompt import Passage, Prompt, Variable
from ragcore.prompts.structured_output import parse_form
from ragcore.prompts.templates import Wording, replace_prompt
from ragcore.prompts.wording import DEFAULT_SYSTEM_PROMPT, in_form
from ragcore.response_synthesizers.answer import AnswerStream, log_trace
from ragcore.response_synthesizers.modes import Pieces, Prompts, ResponseMode, SynthesisJob, run
from ragcore.response_synthesizers.packer import Passages
from ragcore.schema import (
    ChatMessage,
    MetadataMode,
    NodeWithScore,
    QueryBundle,
    Response,
    TextNode,
    as_bundle,
)
from ragcore.settings import services

if TYPE_CHECKING:
    from pydantic import BaseModel

NOTHING_FOUND = fixed_replies.NOTHING_FOUND["en"]

WORKERS = 4  # parallel calls

_REFINING = (ResponseMode.REFINE, ResponseMode.COMPACT)
_ONE_ANSWER = (
    *_REFINING,
    ResponseMode.SIMPLE_SUMMARIZE,
    ResponseMode.TREE_SUMMARIZE,
    ResponseMode.GENERATION,
)
_SLOTS = ("text_qa", "refine", "summary", "simple")
_KINDS: Mapping[ResponseMode, tuple[str, ...]] = {
    ResponseMode.REFINE: ("text_qa", "refine"),
    ResponseMode.COMPACT: ("text_qa", "refine"),
    ResponseMode.SIMPLE_SUMMARIZE: ("text_qa",),
    ResponseMode.TREE_SUMMARIZE: ("summary",),
    ResponseMode.GENERATION: ("simple",),
    ResponseMode.NO_TEXT: (),
    ResponseMode.ACCUMULATE: ("text_qa",),
    ResponseMode.COMPACT_ACCUMULATE: ("text_qa",),
}
_OF_THE_FILE = frozenset(
    (
        "title",
        "author",
        "path",
        "filename",
        "extension",
        "creation_date",
        "last_modified_date",
        "last_accessed_date",
    )
)


def source_label(node: TextNode) -> str:
    """ "handbook.pdf, page 3", or the parts of it that the metadata has."""
    name = node.metadata.get("file_name") or PurePath(str(node.metadata.get("file_path") or "")).name
    page = node.metadata.get("page_label")
    place = f"{node.metadata.get('page_word', 'page')} {page}" if page is not None else ""
    return ", ".join(part for part in (str(name), place) if part)


def passages_from(nodes: Sequence[NodeWithScore]) -> Passages:
    """The passages as prompts show them: citation [n] is `nodes[n - 1]`.

    Metadata that a model may see goes above the text, in the template of the node. The label replaces that of
    the file.
    """
    best = max((hit.get_score() for hit in nodes), default=0.0)
    shares = [1.0 if hit.score is None or best <= 0 else max(hit.score, 0.0) / best for hit in nodes]
    return tuple(
        Passage(_text_of(hit.node), number, source_label(hit.node), share)
        for number, (hit, share) in enumerate(zip(nodes, shares, strict=True), 1)
    )


def _text_of(node: TextNode) -> str:
    def describes_file(key: str) -> bool:
        return key in _OF_THE_FILE or key.startswith(("file_", "page_"))

    metadata = {key: value for key, value in node.metadata.items() if not describes_file(key)}
    return replace(node, metadata=metadata).get_content(MetadataMode.LLM) if metadata else node.text


class Synthesizer(PromptMixin):
    """Answers in one mode with one model. It has no state of a question: threads may share it.

    `structured_answer_filtering`, for refine and compact: each call also says whether its passages contain
    the answer, and those that do not leave the answer as it was. `output_cls`: the answer is JSON of this
    pydantic model, and `response.response` the object; not for modes that list several answers. With
    `streaming`, `synthesize` gives the answer in pieces, as `stream`. A template may be a PromptTemplate or a
    whole Prompt.

    >>> from ragcore.llms import ScriptedLLM
    >>> hits = [NodeWithScore(TextNode("Ada wrote notes."))]
    >>> str(Synthesizer(ScriptedLLM(["Ada [1]."]), "compact").synthesize("Who wrote notes?", hits))
    'Ada [1].'
    """

    default_mode: ClassVar[ResponseMode] = ResponseMode.COMPACT

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
        self.streaming = streaming
        self.verbose = verbose
        self.llm = services().llm if llm is None else llm
        self.mode = ResponseMode(mode or self.default_mode)
        templates = (text_qa_template, refine_template, summary_template, simple_template)
        self.prompts = _reword(prompts or Prompts(), dict(zip(_SLOTS, templates, strict=True)), self.llm)
        self.system_prompt = system_prompt or DEFAULT_SYSTEM_PROMPT
        self._workers = workers if use_async else 1
        self._filtered = structured_answer_filtering
        self.output_cls = output_cls
        if structured_answer_filtering and (output_cls is not None or self.mode not in _REFINING):
            raise ValueError(
                "structured_answer_filtering is for the modes refine and compact, without output_cls; "
                f"not {mode!r}"
            )
        if output_cls is not None and self.mode not in _ONE_ANSWER:
            raise ValueError(f"output_cls is for modes that give one answer; {self.mode.value!r} does not")

    def synthesize(
        self,
        query: str | QueryBundle,
        nodes: Sequence[NodeWithScore],
        history: Sequence[ChatMessage] = (),
        *,
        additional_source_nodes: Sequence[NodeWithScore] = (),
        prev_response: str = "",
    ) -> Response:
        """Without nodes there is no call; the answer states, in the question's language, that there are no
        passages. LLMErrors; LLMProtocolError for a reply not of `output_cls`.

        `additional_source_nodes` are sources that no call reads. `prev_response`, for refine and compact, is
        an answer to improve.
        """
        answer = self.stream(
            query,
            nodes,
            history,
            additional_source_nodes=additional_source_nodes,
            prev_response=prev_response,
        )
        return answer if self.streaming else answer.whole()  # type: ignore[return-value]

    def get_response(
        self, query_str: str, text_chunks: Sequence[str], prev_response: str | None = None
    ) -> Any:
        """The answer from texts: a text, an object with `output_cls`, pieces with `streaming`.

        >>> from ragcore.llms import ScriptedLLM
        >>> Synthesizer(ScriptedLLM(["In 1843."])).get_response("When?", ["Ada wrote notes in 1843."])
        'In 1843.'
        """
        extra: dict[str, Any] = {}
        passages = tuple(map(Passage, text_chunks))
        step = start("synthesize", mode=self.mode.value, passages=len(passages))
        pieces = self._trace(step, self.answer_from(passages, query_str, extra, (), prev_response or ""))
        if self.streaming:
            return pieces
        text = "".join(pieces)
        return extra.get("output", text)

    aget_response = awaitable(get_response)
    asynthesize = awaitable(synthesize)

    def stream(
        self,
        query: str | QueryBundle,
        nodes: Sequence[NodeWithScore],
        history: Sequence[ChatMessage] = (),
        *,
        additional_source_nodes: Sequence[NodeWithScore] = (),
        prev_response: str = "",
    ) -> AnswerStream:
        """The same answer in pieces, one with `output_cls`. Nothing is sent before the first piece is
        read."""
        if prev_response and self.mode not in _REFINING:
            raise ValueError(
                f"prev_response is for the modes refine and compact; {self.mode.value!r} does not go on"
            )
        step = start("synthesize", mode=self.mode.value, passages=len(nodes))
        question = as_bundle(query).query_str
        extra: dict[str, Any] = {}
        if nodes:
            pieces = self.answer_from(passages_from(nodes), question, extra, history, prev_response)
        else:
            if not prev_response:
                step.note(outcome="nothing")
            pieces = at_once(prev_response or in_language_of(question, fixed_replies.NOTHING_FOUND))
        sources = (*nodes, *additional_source_nodes)
        return AnswerStream(self._trace(step, count_calls(step, pieces)), sources, trace=step, extra=extra)

    def _trace(self, step: Span, pieces: Generator[str, None, object]) -> Generator[str, None, None]:
        return log_trace(step, stream_in(step, pieces), self.verbose)

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

    def _get_prompts(self) -> dict[str, Prompt]:
        return {f"{kind}_template": getattr(self.prompts, kind) for kind in _KINDS[self.mode]}

    def _update_prompts(self, prompts: Mapping[str, Wording]) -> None:
        changed = {name.removesuffix("_template"): wording for name, wording in prompts.items()}
        self.prompts = _reword(self.prompts, changed, self.llm)


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


def at_once(text: str) -> Pieces:
    yield text
    return text


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
    return answer or (yield from at_once(in_language_of(question, fixed_replies.NOTHING_FOUND)))


def count_calls(step: Span, pieces: Generator[str, None, object]) -> Generator[str, None, None]:
    """`pieces`; when they end, early or not, `step` notes the calls and tokens that they took."""
    try:
        yield from pieces
    finally:
        spent = step.total_tokens()
        step.note(
            calls=len(step.spans("llm")), prompt_tokens=spent.prompt, completion_tokens=spent.completion
        )


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
) -> Synthesizer:
    """`Synthesizer` in this mode.

    >>> from ragcore.llms import ScriptedLLM
    >>> get_response_synthesizer(ScriptedLLM(), response_mode="tree_summarize").mode.value
    'tree_summarize'
    """
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


def _reword(prompts: Prompts, templates: Mapping[str, Wording | None], llm: LLM) -> Prompts:
    """`prompts` with these templates in the place of the default ones."""
    usual = Prompts()
    new = {
        kind: replace_prompt(getattr(usual, kind), template, llm)
        for kind, template in templates.items()
        if template
    }
    return replace(prompts, **new)
