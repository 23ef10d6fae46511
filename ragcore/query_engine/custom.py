"""A query engine of one's own, as a class with fields."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, dataclass_transform

from ragcore.observe import Span
from ragcore.query_engine.base import BaseQueryEngine
from ragcore.response_synthesizers.answer import AnswerStream
from ragcore.response_synthesizers.modes import Pieces
from ragcore.schema import QueryBundle, Response, StreamingResponse


@dataclass_transform(kw_only_default=True)
class CustomQueryEngine(BaseQueryEngine):
    """Subclasses name their parts as fields, and give `custom_query`.

    >>> class Shout(CustomQueryEngine):
    ...     mark: str = "!"
    ...     def custom_query(self, query_str: str) -> str:
    ...         return query_str.upper() + self.mark
    >>> str(Shout(mark="!!").query("who is there"))
    'WHO IS THERE!!'
    """

    def __init_subclass__(cls) -> None:
        dataclass(kw_only=True, eq=False)(cls)

    @abstractmethod
    def custom_query(self, query_str: str) -> str | Response:
        """The answer to a question, as text or with its passages."""

    def _answer(self, query: QueryBundle, step: Span) -> AnswerStream:
        text = self.custom_query(query.query_str)
        if isinstance(text, StreamingResponse):
            return AnswerStream(_all_of(text), text.source_nodes, trace=step)
        answer = text if isinstance(text, Response) else Response(str(text))
        return AnswerStream(_all_of([str(answer)]), answer.source_nodes, trace=step, extra=dict(answer.extra))


def _all_of(pieces: Any) -> Pieces:
    text = ""
    for piece in pieces:
        text += piece
        yield piece
    return text
