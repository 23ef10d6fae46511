"""A query engine that selects others by their descriptions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from ragcore.concurrency import in_order
from ragcore.llms.base import LLM
from ragcore.observe import Span
from ragcore.query_engine.base import BaseQueryEngine, combine_answers
from ragcore.response_synthesizers.answer import AnswerStream
from ragcore.response_synthesizers.base import AnySynthesizer
from ragcore.response_synthesizers.response_mode import ResponseMode
from ragcore.response_synthesizers.synthesizer import get_response_synthesizer
from ragcore.schema import QueryBundle
from ragcore.selectors import BaseSelector, HasDescription, get_selector_from_llm


class EngineTool(Protocol):
    """A query engine with a description, such as a `QueryEngineTool`."""

    @property
    def query_engine(self) -> Any: ...

    @property
    def metadata(self) -> HasDescription: ...


class RouterQueryEngine(BaseQueryEngine):
    """The answer of the selected engine, or one answer by `summarizer` (tree_summarize) from those of
    several.

    `response.metadata["selector_result"]` has the selection with its reasons.

    >>> from ragcore.indices import SummaryIndex
    >>> from ragcore.llms import ScriptedLLM
    >>> from ragcore.schema import TextNode
    >>> from ragcore.tools import QueryEngineTool
    >>> llm = ScriptedLLM(['{"choice": 1, "reason": "It is about boats."}', "It is red [1]."])
    >>> engine = SummaryIndex([TextNode("The boat is red.")]).as_query_engine(llm=llm)
    >>> tools = [
    ...     QueryEngineTool.from_defaults(engine, description=f"About {topic}.")
    ...     for topic in ("boats", "trees")
    ... ]
    >>> str(RouterQueryEngine.from_defaults(tools, llm=llm).query("Which colour has the boat?"))
    'It is red [1].'
    """

    prompt_parts: ClassVar = {"summarizer": "_summarizer", "selector": "_selector"}

    def __init__(
        self,
        selector: BaseSelector | None,
        query_engine_tools: Sequence[EngineTool],
        llm: LLM | None = None,
        summarizer: AnySynthesizer | None = None,
        *,
        verbose: bool = False,
    ) -> None:
        if not query_engine_tools:
            raise ValueError("a router needs at least one query engine tool")
        self.verbose = verbose
        self._tools = tuple(query_engine_tools)
        self._selector = selector or get_selector_from_llm(llm)
        self._summarizer = summarizer or get_response_synthesizer(llm, ResponseMode.TREE_SUMMARIZE)

    @classmethod
    def from_defaults(
        cls,
        query_engine_tools: Sequence[EngineTool],
        llm: LLM | None = None,
        selector: BaseSelector | None = None,
        summarizer: AnySynthesizer | None = None,
        select_multi: bool = False,
        verbose: bool = False,
    ) -> RouterQueryEngine:
        """`select_multi`: without a `selector`, whether more than one engine may be selected."""
        chosen = selector or get_selector_from_llm(llm, select_multi)
        return cls(chosen, query_engine_tools, llm, summarizer, verbose=verbose)

    def _answer(self, query: QueryBundle, step: Span) -> AnswerStream:
        result = self._selector.select([tool.metadata for tool in self._tools], query)
        engines = [self._tools[index].query_engine for index in result.inds]
        extra = {"selector_result": result}
        if len(engines) == 1:
            answer: AnswerStream = engines[0].stream_query(query)
            answer.extra.update(extra)
            return answer
        answers = in_order(lambda engine: engine.query(query), engines)
        return combine_answers(self._summarizer, query, answers, [""] * len(answers), extra)
