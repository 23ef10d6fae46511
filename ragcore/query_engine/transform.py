"""The query engine that changes a question before another engine answers it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ragcore.observe import Span
from ragcore.query_engine.base import BaseQueryEngine, QueryEngine
from ragcore.response_synthesizers.answer import AnswerStream
from ragcore.retrievers.query_transforms import BaseQueryTransform
from ragcore.schema import QueryBundle


class TransformQueryEngine(BaseQueryEngine):
    """`transform_metadata` is handed to the transform with each question."""

    prompt_parts: ClassVar = {"query_transform": "_transform", "query_engine": "_engine"}

    def __init__(
        self,
        query_engine: QueryEngine,
        query_transform: BaseQueryTransform,
        transform_metadata: Mapping[str, str] | None = None,
    ) -> None:
        self._engine = query_engine
        self._transform = query_transform
        self._metadata = transform_metadata

    def _answer(self, query: QueryBundle, step: Span) -> AnswerStream:
        return self._engine.stream_query(self._transform.run(query, self._metadata))
