"""A retriever whose question and filters a model writes, from a description of the passages' metadata."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, Field

from ragcore.llms.base import LLM
from ragcore.observe import Span
from ragcore.prompts.templates import replace_prompt
from ragcore.prompts.wording import FILTER_QUERY
from ragcore.retrievers.base import BaseRetriever
from ragcore.schema import NodeWithScore, QueryBundle
from ragcore.settings import services
from ragcore.vector_stores.filters import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters
from ragcore.vector_stores.types import VectorStoreInfo

if TYPE_CHECKING:
    from ragcore.indices.vector import VectorStoreIndex


class _Filter(BaseModel):
    key: str
    value: str | int | float | bool | list[str]
    operator: FilterOperator = FilterOperator.EQ


class _Search(BaseModel):
    query: str
    filters: list[_Filter] = Field(default_factory=list)
    top_k: int | None = None


class VectorIndexAutoRetriever(BaseRetriever):
    """Lets a model turn a question into a search with filters. A filter on a key that is not described is
    ignored.

    >>> from ragcore import VectorStoreIndex
    >>> from ragcore.embeddings import HashEmbedding
    >>> from ragcore.llms import ScriptedLLM
    >>> from ragcore.schema import TextNode
    >>> from ragcore.vector_stores import MetadataInfo
    >>> letters = [
    ...     TextNode("Ada on notes", "a", {"year": 1843}),
    ...     TextNode("Ada on maps", "b", {"year": 1850}),
    ... ]
    >>> retriever = VectorIndexAutoRetriever(
    ...     VectorStoreIndex(letters, embed_model=HashEmbedding()),
    ...     vector_store_info=VectorStoreInfo([MetadataInfo("year", "integer", "Of the letter.")], "Letters"),
    ...     llm=ScriptedLLM(
    ...         ['{"query": "Ada", "filters": [{"key": "year", "value": 1850, "operator": "=="}]}']
    ...     ),
    ... )
    >>> [hit.node.id_ for hit in retriever.retrieve("What did Ada write in 1850?")]
    ['b']
    """

    name = "auto"
    prompt_attributes: ClassVar = {"prompt": "_prompt"}

    def __init__(
        self,
        index: VectorStoreIndex,
        vector_store_info: VectorStoreInfo,
        llm: LLM | None = None,
        prompt_template_str: str | None = None,
        max_top_k: int = 10,
        similarity_top_k: int = 2,
        empty_query_top_k: int | None = 10,
        extra_filters: MetadataFilters | None = None,
        verbose: bool = False,
        **retriever_options: Any,
    ) -> None:
        """`prompt_template_str` may name {info_str} and {query_str}. `extra_filters` always hold.
        `empty_query_top_k` is for a question that is only filters. The other options are those of the index's
        `as_retriever`."""
        self._index = index
        self._info = vector_store_info
        self._llm = services(llm).llm
        self._prompt = replace_prompt(FILTER_QUERY, prompt_template_str or FILTER_QUERY, self._llm)
        self._most, self._usual, self._empty = (
            max_top_k,
            similarity_top_k,
            empty_query_top_k or similarity_top_k,
        )
        self._always = [extra_filters] if extra_filters else []
        self._options = retriever_options
        self.verbose = verbose

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        values = {
            "info_str": json.dumps(asdict(self._info), ensure_ascii=False),
            "query_str": query.query_str,
        }
        named = {name: value for name, value in values.items() if name in self._prompt.variables}
        search = self._llm.structured_predict(_Search, self._prompt, **named)
        known = {each.name for each in self._info.metadata_info}
        filters: list[Any] = [
            MetadataFilter(each.key, each.value, each.operator)
            for each in search.filters
            if each.key in known
        ]
        filters += self._always
        question = search.query.strip()
        step.note(becomes=question, filters=[str(each) for each in filters])
        retriever = self._index.as_retriever(
            min(search.top_k or (self._usual if question else self._empty), self._most),
            filters=MetadataFilters(filters, FilterCondition.AND) if filters else None,
            **self._options,
        )
        return retriever.retrieve(question or query.query_str)
