"""A retriever whose question and filters a model writes, from what the metadata of the passages is said to be."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, Field

from ragcore.llms.base import LLM
from ragcore.observe import Span
from ragcore.prompts.templates import PromptTemplate, Wording, in_place_of
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
    """Lets a model make of a question what to search for, among which passages. What names no known key is left out.

    >>> from ragcore import VectorStoreIndex
    >>> from ragcore.embeddings import HashEmbedding
    >>> from ragcore.llms import ScriptedLLM
    >>> from ragcore.schema import TextNode
    >>> from ragcore.vector_stores import MetadataInfo
    >>> letters = [TextNode("Ada on notes", "a", {"year": 1843}), TextNode("Ada on maps", "b", {"year": 1850})]
    >>> retriever = VectorIndexAutoRetriever(
    ...     VectorStoreIndex(letters, embed_model=HashEmbedding()),
    ...     vector_store_info=VectorStoreInfo([MetadataInfo("year", "integer", "Of the letter.")], "Letters"),
    ...     llm=ScriptedLLM(['{"query": "Ada", "filters": [{"key": "year", "value": 1850, "operator": "=="}]}']),
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
        """`prompt_template_str` may name {info_str} and {query_str}. `extra_filters` always hold. `empty_query_top_k` is for a
        question that is only filters. The other options are those of the index's `as_retriever`."""
        self._index = index
        self._info = vector_store_info
        self._llm = services(llm).llm
        wording: Wording = PromptTemplate(prompt_template_str) if prompt_template_str else FILTER_QUERY
        self._prompt = in_place_of(FILTER_QUERY, wording, self._llm)
        self._most, self._usual, self._empty = max_top_k, similarity_top_k, empty_query_top_k
        self._always = extra_filters
        self._options = retriever_options
        self.verbose = verbose

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        values = {"info_str": json.dumps(asdict(self._info), ensure_ascii=False), "query_str": query.query_str}
        given = {name: value for name, value in values.items() if name in self._prompt.variables}
        search = self._llm.structured_predict(_Search, self._prompt, **given)
        known = {each.name for each in self._info.metadata_info}
        filters: list[Any] = [
            MetadataFilter(each.key, each.value, each.operator) for each in search.filters if each.key in known
        ]
        filters += [self._always] if self._always else []
        asked = search.query.strip()
        usual = self._usual if asked else self._empty or self._usual
        step.note(becomes=asked, filters=[str(each) for each in filters])
        retriever = self._index.as_retriever(
            min(search.top_k or usual, self._most),
            filters=MetadataFilters(filters, FilterCondition.AND) if filters else None,
            **self._options,
        )
        return retriever.retrieve(asked or query.query_str)
