"""A query engine that a script writes as one function."""

from __future__ import annotations

from abc import abstractmethod

from ragcore.observe import Span, span
from ragcore.query_engine.base import BaseQueryEngine
from ragcore.response_synthesizers.answer import AnswerStream
from ragcore.response_synthesizers.base import at_once
from ragcore.schema import Fields, QueryBundle, Response, as_bundle


class CustomQueryEngine(Fields, BaseQueryEngine):
    """Subclasses have `custom_query`, and may have `acustom_query`.

    >>> class Count(CustomQueryEngine):
    ...     unit: str = "words"
    ...
    ...     def custom_query(self, query_str: str):
    ...         return f"{len(query_str.split())} {self.unit}"
    >>> str(Count().query("What is a lectern?"))
    '4 words'
    """

    @abstractmethod
    def custom_query(self, query_str: str) -> Response | AnswerStream | str:
        """A Response also has the passages of the answer."""

    async def acustom_query(self, query_str: str) -> Response | AnswerStream | str:
        import asyncio

        return await asyncio.to_thread(self.custom_query, query_str)

    async def aquery(self, query: str | QueryBundle) -> Response:
        """As `query`, through `acustom_query`."""
        question = as_bundle(query).query_str
        with span("query", question=question, engine=type(self).__name__) as step:
            answer = _as_response(await self.acustom_query(question))
        return Response(answer.response, answer.source_nodes, step, answer.extra)

    def _answer(self, query: QueryBundle, step: Span) -> AnswerStream:
        answer = self.custom_query(query.query_str)
        if isinstance(answer, AnswerStream):
            return answer
        response = _as_response(answer)
        return AnswerStream(at_once(str(response)), response.source_nodes, extra=dict(response.extra))


def _as_response(answer: Response | AnswerStream | str) -> Response:
    if isinstance(answer, AnswerStream):
        return answer.whole()
    return answer if isinstance(answer, Response) else Response(str(answer))
