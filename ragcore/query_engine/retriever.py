"""The query engine in three stages: retrieve, postprocess, synthesize."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol

from ragcore.concurrency import awaitable
from ragcore.llms.base import LLM
from ragcore.observe import Span, span
from ragcore.prompts.templates import Wording
from ragcore.query_engine.base import BaseQueryEngine
from ragcore.response_synthesizers.answer import AnswerStream
from ragcore.response_synthesizers.base import AnySynthesizer
from ragcore.response_synthesizers.response_mode import ResponseMode
from ragcore.response_synthesizers.synthesizer import get_response_synthesizer
from ragcore.retrievers.base import Retriever
from ragcore.schema import NodeWithScore, QueryBundle, Response, as_bundle

if TYPE_CHECKING:
    from pydantic import BaseModel


class NodePostprocessor(Protocol):
    def postprocess_nodes(
        self, nodes: Sequence[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        """The passages after this step, in their order; may add others."""


class RetrieverQueryEngine(BaseQueryEngine):
    """Answers each question by itself. It has no state of a question: threads may share it.

    >>> from ragcore.indices import SummaryIndex
    >>> from ragcore.llms import ScriptedLLM
    >>> from ragcore.schema import TextNode
    >>> retriever = SummaryIndex([TextNode("Ada wrote notes.")]).as_retriever()
    >>> str(
    ...     RetrieverQueryEngine.from_args(retriever, llm=ScriptedLLM(["Ada [1]."])).query("Who wrote notes?")
    ... )
    'Ada [1].'
    """

    prompt_parts: ClassVar = {"response_synthesizer": "_synthesizer"}

    def __init__(
        self,
        retriever: Retriever,
        response_synthesizer: AnySynthesizer | None = None,
        node_postprocessors: Sequence[NodePostprocessor] | None = None,
    ) -> None:
        """Without a synthesizer, one in mode compact with the model of `Settings`, else with the reader that
        quotes."""
        self._retriever = retriever
        self._synthesizer = response_synthesizer or get_response_synthesizer()
        self._postprocessors = tuple(node_postprocessors or ())
        self.streaming = self._synthesizer.streaming

    @classmethod
    def from_args(
        cls,
        retriever: Retriever,
        llm: LLM | None = None,
        response_mode: ResponseMode | str = ResponseMode.COMPACT,
        text_qa_template: Wording | None = None,
        refine_template: Wording | None = None,
        summary_template: Wording | None = None,
        simple_template: Wording | None = None,
        node_postprocessors: Sequence[NodePostprocessor] | None = None,
        *,
        response_synthesizer: AnySynthesizer | None = None,
        output_cls: type[BaseModel] | None = None,
        use_async: bool = True,
        streaming: bool = False,
        verbose: bool = False,
    ) -> RetrieverQueryEngine:
        """`response_synthesizer` replaces the one that `get_response_synthesizer` builds from the other
        arguments. With `streaming`, `query` streams as `stream_query` does."""
        synthesizer = response_synthesizer or get_response_synthesizer(
            llm,
            response_mode,
            text_qa_template,
            refine_template,
            summary_template,
            simple_template,
            output_cls=output_cls,
            use_async=use_async,
            streaming=streaming,
        )
        engine = cls(retriever, synthesizer, node_postprocessors)
        engine.verbose = verbose
        return engine

    def retrieve(self, query: str | QueryBundle) -> list[NodeWithScore]:
        """The passages after all postprocessors."""
        bundle = as_bundle(query)
        return run_postprocessors(self._retriever.retrieve(bundle), bundle, self._postprocessors)

    def synthesize(self, query: str | QueryBundle, nodes: Sequence[NodeWithScore]) -> Response:
        return self._synthesizer.synthesize(query, nodes)

    aretrieve = awaitable(retrieve)
    asynthesize = awaitable(synthesize)

    def _answer(self, query: QueryBundle, step: Span) -> AnswerStream:
        step.note(mode=self._synthesizer.mode.value)
        nodes = self.retrieve(query)
        step.note(passages=len(nodes))
        return self._synthesizer.stream(query, nodes)


def run_postprocessors(
    nodes: list[NodeWithScore], bundle: QueryBundle, postprocessors: Sequence[NodePostprocessor]
) -> list[NodeWithScore]:
    for postprocessor in postprocessors:
        with span("postprocess", name=type(postprocessor).__name__, given=len(nodes)) as step:
            nodes = postprocessor.postprocess_nodes(nodes, bundle)
            step.note(kept=len(nodes))
    return nodes
