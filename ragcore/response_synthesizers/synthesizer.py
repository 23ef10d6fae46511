"""From a question and the passages found for it to an answer, with the trace of how."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import PurePath
from typing import TypeAlias

from ragcore.llms.base import LLM
from ragcore.observe import Span, start, stream_in
from ragcore.prompts import DEFAULT_SYSTEM_PROMPT, Passage, Prompt
from ragcore.response_synthesizers.answer import AnswerStream
from ragcore.response_synthesizers.modes import Pieces, Prompts, ResponseMode, Work, run
from ragcore.response_synthesizers.pack import Passages
from ragcore.schema import ChatMessage, NodeWithScore, QueryBundle, Response, TextNode, as_bundle

NOTHING_FOUND = "I found nothing about this in your documents."

Label: TypeAlias = Callable[[TextNode], str]


def source_label(node: TextNode) -> str:
    """ "handbook.pdf, page 3", or as much of it as the passage knows."""
    name = node.metadata.get("file_name") or PurePath(str(node.metadata.get("file_path") or "")).name
    page = node.metadata.get("page_label")
    place = f"{node.metadata.get('page_word', 'page')} {page}" if page is not None else ""
    return ", ".join(part for part in (str(name), place) if part)


def passages_from(nodes: Sequence[NodeWithScore], label: Label = source_label) -> Passages:
    """The passages as prompts show them: citation [n] is `nodes[n - 1]`."""
    return tuple(Passage(found.node.text, number, label(found.node)) for number, found in enumerate(nodes, 1))


class Synthesizer:
    """Answers in one mode with one model. Holds nothing of a question: threads may share it."""

    def __init__(
        self,
        llm: LLM,
        mode: ResponseMode | str = ResponseMode.COMPACT,
        prompts: Prompts | None = None,
        *,
        system_prompt: str = "",
        label: Label = source_label,
        workers: int = 4,
    ) -> None:
        self.llm = llm
        self.mode = ResponseMode(mode)
        self.prompts = prompts or Prompts()
        self.system_prompt = system_prompt or DEFAULT_SYSTEM_PROMPT
        self._label = label
        self._workers = workers

    def synthesize(
        self, query: str | QueryBundle, nodes: Sequence[NodeWithScore], history: Sequence[ChatMessage] = ()
    ) -> Response:
        """NOTHING_FOUND, without a call, when there are no nodes. LLMErrors."""
        return self.stream(query, nodes, history).whole()

    def stream(
        self, query: str | QueryBundle, nodes: Sequence[NodeWithScore], history: Sequence[ChatMessage] = ()
    ) -> AnswerStream:
        """The same answer in pieces. Nothing is sent before the first one is asked for."""
        step = start("synthesize", mode=self.mode.value, passages=len(nodes))
        pieces = self._nothing() if not nodes else run(self.mode, self._work(as_bundle(query).query_str, nodes, history))
        return AnswerStream(stream_in(step, tallied(step, pieces)), nodes, trace=step)

    def _work(self, question: str, nodes: Sequence[NodeWithScore], history: Sequence[ChatMessage]) -> Work:
        passages = passages_from(nodes, self._label)
        variables = {"query_str": question, "system_prompt": self.system_prompt}
        return Work(self.llm, passages, variables, tuple(history), self.prompts, self._workers)

    def _nothing(self) -> Pieces:
        yield NOTHING_FOUND
        return NOTHING_FOUND


def tallied(step: Span, pieces: Generator[str, None, object]) -> Generator[str, None, None]:
    """`pieces`; when they end, early or not, the calls and tokens they took are noted on `step`."""
    try:
        yield from pieces
    finally:
        calls = step.named("llm")
        step.note(
            calls=len(calls),
            prompt_tokens=sum(call.facts.get("prompt_tokens", 0) for call in calls),
            completion_tokens=sum(call.facts.get("completion_tokens", 0) for call in calls),
        )


def get_response_synthesizer(
    llm: LLM,
    response_mode: ResponseMode | str = ResponseMode.COMPACT,
    text_qa_template: Prompt | None = None,
    refine_template: Prompt | None = None,
    summary_template: Prompt | None = None,
    simple_template: Prompt | None = None,
) -> Synthesizer:
    given: Mapping[str, Prompt | None] = {
        "text_qa": text_qa_template,
        "refine": refine_template,
        "summary": summary_template,
        "simple": simple_template,
    }
    prompts = Prompts(**{kind: prompt for kind, prompt in given.items() if prompt is not None})
    return Synthesizer(llm, response_mode, prompts)
