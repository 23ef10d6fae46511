"""A retriever that selects others by their descriptions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from ragcore.concurrency import in_order
from ragcore.llms.base import LLM
from ragcore.observe import Span
from ragcore.retrievers.base import BaseRetriever, distinct
from ragcore.schema import NodeWithScore, QueryBundle
from ragcore.selectors import BaseSelector, HasDescription, get_selector_from_llm


class RetrieverToolLike(Protocol):
    """A retriever with a description, such as a `RetrieverTool`."""

    @property
    def retriever(self) -> Any: ...

    @property
    def metadata(self) -> HasDescription: ...


class RouterRetriever(BaseRetriever):
    """The passages of the selected retrievers, in the order of the selection, each once.

    >>> from ragcore.indices import SummaryIndex
    >>> from ragcore.llms import ScriptedLLM
    >>> from ragcore.schema import TextNode
    >>> from ragcore.tools import RetrieverTool
    >>> boats, trees = (
    ...     SummaryIndex([TextNode(text)]).as_retriever() for text in ("Red boat.", "Green tree.")
    ... )
    >>> tools = [RetrieverTool.from_defaults(boats, "boats"), RetrieverTool.from_defaults(trees, "trees")]
    >>> router = RouterRetriever.from_defaults(
    ...     tools, llm=ScriptedLLM(['{"choice": 2, "reason": "It is about trees."}'])
    ... )
    >>> router.retrieve("Which tree?")[0].text
    'Green tree.'
    """

    name = "router"
    prompt_parts: ClassVar = {"selector": "_selector"}

    def __init__(
        self,
        selector: BaseSelector | None,
        retriever_tools: Sequence[RetrieverToolLike],
        llm: LLM | None = None,
    ) -> None:
        if not retriever_tools:
            raise ValueError("a router needs at least one retriever tool")
        self._selector = selector or get_selector_from_llm(llm)
        self._tools = tuple(retriever_tools)

    @classmethod
    def from_defaults(
        cls,
        retriever_tools: Sequence[RetrieverToolLike],
        llm: LLM | None = None,
        selector: BaseSelector | None = None,
        select_multi: bool = False,
    ) -> RouterRetriever:
        """`select_multi`: without a `selector`, whether more than one retriever may be selected."""
        return cls(selector or get_selector_from_llm(llm, select_multi), retriever_tools)

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        result = self._selector.select([tool.metadata for tool in self._tools], query)
        lists = in_order(lambda index: self._tools[index].retriever.retrieve(query), result.inds)
        return distinct(hit for hits in lists for hit in hits)
