"""What all synthesizers have in common: a question and its passages go in, an answer with a trace comes out.

`Synthesizer` lets a model write the answer; `QuotingSynthesizer` quotes the passages.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ClassVar

from ragcore.concurrency import awaitable
from ragcore.extractive import fixed_replies
from ragcore.extractive.answerer import Writer, as_llm
from ragcore.extractive.fixed_replies import in_language_of
from ragcore.observe import Span, start, stream_in
from ragcore.prompts.mixin import PromptMixin
from ragcore.prompts.prompt import Passage, Prompt
from ragcore.prompts.templates import Wording, replace_prompt
from ragcore.response_synthesizers.answer import AnswerStream, log_trace
from ragcore.response_synthesizers.modes import Pieces, Prompts
from ragcore.response_synthesizers.packer import Passages
from ragcore.response_synthesizers.response_mode import ResponseMode
from ragcore.schema import (
    ChatMessage,
    MetadataMode,
    NodeWithScore,
    QueryBundle,
    Response,
    TextNode,
    as_bundle,
)

if TYPE_CHECKING:
    from pydantic import BaseModel

NOTHING_FOUND = fixed_replies.NOTHING_FOUND["en"]

# Metadata of a passage whose document has other versions, see `Passage`.
VERSION_KEY, LEADER_KEY = "file_version", "file_leader"

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
        Passage(
            _text_of(hit.node),
            number,
            source_label(hit.node),
            share,
            str(hit.node.metadata.get(VERSION_KEY, "")),
            str(hit.node.metadata.get(LEADER_KEY, "")),
        )
        for number, (hit, share) in enumerate(zip(nodes, shares, strict=True), 1)
    )


def _text_of(node: TextNode) -> str:
    def describes_file(key: str) -> bool:
        return key in _OF_THE_FILE or key.startswith(("file_", "page_"))

    metadata = {key: value for key, value in node.metadata.items() if not describes_file(key)}
    return replace(node, metadata=metadata).get_content(MetadataMode.LLM) if metadata else node.text


class AnySynthesizer(PromptMixin, ABC):
    """Answers in one mode. It has no state of a question: threads may share it. Subclasses have
    `answer_from`.

    With `streaming`, `synthesize` gives the answer in pieces, as `stream`. `verbose` logs each trace. A
    template may be a PromptTemplate or a whole Prompt.
    """

    default_mode: ClassVar[ResponseMode] = ResponseMode.COMPACT
    output_cls: type[BaseModel] | None = None
    reads_conversation: ClassVar[bool] = (
        True  # otherwise a question must be clear without the messages before it
    )

    def __init__(
        self,
        writer: Writer,
        mode: ResponseMode | str | None,
        prompts: Prompts | None,
        templates: Mapping[str, Wording | None],
        *,
        streaming: bool,
        verbose: bool,
    ) -> None:
        self.mode = ResponseMode(mode or self.default_mode)
        self.streaming = streaming
        self.verbose = verbose
        self.writer = writer
        self.prompts = _reword(prompts or Prompts(), templates, writer)

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
        >>> from ragcore.response_synthesizers import Synthesizer
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
        if prev_response and not self.mode.refines:
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

    @abstractmethod
    def answer_from(
        self,
        passages: Passages,
        question: str,
        extra: dict[str, Any],
        history: Sequence[ChatMessage] = (),
        prev_response: str = "",
    ) -> Pieces:
        """The answer from passages, in the current span; [n] is `passages[n - 1]`. With `output_cls`, `extra`
        gets "output"."""

    def _get_prompts(self) -> dict[str, Prompt]:
        return {f"{kind}_template": getattr(self.prompts, kind) for kind in self.mode.traits.prompts}

    def _update_prompts(self, prompts: Mapping[str, Wording]) -> None:
        changed = {name.removesuffix("_template"): wording for name, wording in prompts.items()}
        self.prompts = _reword(self.prompts, changed, self.writer)


def at_once(text: str) -> Pieces:
    yield text
    return text


def count_calls(step: Span, pieces: Generator[str, None, object]) -> Generator[str, None, None]:
    """`pieces`; when they end, early or not, `step` notes the calls and tokens that they took."""
    try:
        yield from pieces
    finally:
        spent = step.total_tokens()
        step.note(
            calls=len(step.spans("llm")), prompt_tokens=spent.prompt, completion_tokens=spent.completion
        )


def _reword(prompts: Prompts, templates: Mapping[str, Wording | None], writer: Writer) -> Prompts:
    """`prompts` with these templates in the place of the default ones."""
    usual = Prompts()
    new = {
        kind: replace_prompt(getattr(usual, kind), template, as_llm(writer))
        for kind, template in templates.items()
        if template
    }
    return replace(prompts, **new)
