"""The retriever that changes a question before another retriever looks it up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ragcore.observe import Span
from ragcore.retrievers.base import BaseRetriever
from ragcore.retrievers.query_transforms import BaseQueryTransform
from ragcore.schema import NodeWithScore, QueryBundle


class TransformRetriever(BaseRetriever):
    """`transform_metadata` is handed to the transform with each question."""

    name = "transform"
    prompt_parts: ClassVar = {"query_transform": "_transform"}

    def __init__(
        self,
        retriever: BaseRetriever,
        query_transform: BaseQueryTransform,
        transform_metadata: Mapping[str, str] | None = None,
    ) -> None:
        self._retriever = retriever
        self._transform = query_transform
        self._metadata = transform_metadata

    def _retrieve(self, query: QueryBundle, step: Span) -> list[NodeWithScore]:
        return self._retriever.retrieve(self._transform.run(query, self._metadata))
