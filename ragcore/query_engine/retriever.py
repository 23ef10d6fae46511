"""The query engine in three visible stages: retrieve, postprocess, synthesize."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from ragcore.errors import QuestionError
from ragcore.llms.base import LLM
from ragcore.observe import finish, span, start, stream_in, under
from ragcore.prompts import Prompt
from ragcore.response_synthesizers.answer import AnswerStream
from ragcore.response_synthesizers.modes import ResponseMode
from ragcore.response_synthesizers.synthesizer import Synthesizer, get_response_synthesizer, tallied
from ragcore.schema import NodeWithScore, QueryBundle, Response, as_bundle


class Retriever(Protocol):
    def retrieve(self, query: str | QueryBundle) -> list[NodeWithScore]:
        """The passages for a question, best first."""


class NodePostprocessor(Protocol):
    def postprocess_nodes(self, nodes: Sequence[NodeWithScore], query_bundle: QueryBundle | None = None) -> list[NodeWithScore]:
        """The passages that stay, in their new order; may bring others in."""


class RetrieverQueryEngine:
    """Answers each question on its own. Holds nothing of a question: threads may share it."""

    def __init__(
        self,
        retriever: Retriever,
        response_synthesizer: Synthesizer,
        node_postprocessors: Sequence[NodePostprocessor] = (),
    ) -> None:
        self._retriever = retriever
        self._synthesizer = response_synthesizer
        self._postprocessors = tuple(node_postprocessors)

    @classmethod
    def from_args(
        cls,
        retriever: Retriever,
        llm: LLM,
        response_mode: ResponseMode | str = ResponseMode.COMPACT,
        text_qa_template: Prompt | None = None,
        refine_template: Prompt | None = None,
        summary_template: Prompt | None = None,
        simple_template: Prompt | None = None,
        node_postprocessors: Sequence[NodePostprocessor] = (),
    ) -> RetrieverQueryEngine:
        synthesizer = get_response_synthesizer(
            llm, response_mode, text_qa_template, refine_template, summary_template, simple_template
        )
        return cls(retriever, synthesizer, node_postprocessors)

    def query(self, query: str | QueryBundle) -> Response:
        """QuestionError for an empty question; LLMErrors."""
        return self.stream_query(query).whole()

    def stream_query(self, query: str | QueryBundle) -> AnswerStream:
        """The passages are found before this returns; the answer comes in pieces."""
        bundle = as_bundle(query)
        if not bundle.query_str.strip():
            raise QuestionError("There is no question.", hint="Type what you want to know.")
        step = start("query", question=bundle.query_str, mode=self._synthesizer.mode.value)
        try:
            with under(step):
                nodes = self.retrieve(bundle)
                answer = self._synthesizer.stream(bundle, nodes)
        except BaseException as error:
            finish(step, error)
            raise
        step.note(passages=len(nodes))
        return AnswerStream(stream_in(step, tallied(step, answer.pieces)), nodes, trace=step)

    async def aquery(self, query: str | QueryBundle) -> Response:
        return await asyncio.to_thread(self.query, query)

    def retrieve(self, query: str | QueryBundle) -> list[NodeWithScore]:
        """The passages after all postprocessors."""
        bundle = as_bundle(query)
        return postprocessed(self._retriever.retrieve(bundle), bundle, self._postprocessors)

    def synthesize(self, query: str | QueryBundle, nodes: Sequence[NodeWithScore]) -> Response:
        return self._synthesizer.synthesize(query, nodes)


def postprocessed(
    nodes: list[NodeWithScore], bundle: QueryBundle, postprocessors: Sequence[NodePostprocessor]
) -> list[NodeWithScore]:
    for postprocessor in postprocessors:
        with span("postprocess", name=type(postprocessor).__name__, given=len(nodes)) as step:
            nodes = postprocessor.postprocess_nodes(nodes, bundle)
            step.note(kept=len(nodes))
    return nodes
