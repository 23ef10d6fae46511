"""Query engines that say what they are told to, as tools."""

from __future__ import annotations

from collections.abc import Callable

from ragcore.observe import Span, start, stream_in
from ragcore.query_engine.base import BaseQueryEngine, QueryEngine
from ragcore.response_synthesizers.answer import AnswerStream
from ragcore.response_synthesizers.modes import Pieces
from ragcore.schema import NodeWithScore, QueryBundle, TextNode
from ragcore.tools import QueryEngineTool


class FixedEngine(BaseQueryEngine):
    """Answers `answer(question)` in pieces of a word, from the passages with these ids. `asked` are the
    questions."""

    def __init__(self, answer: str | Callable[[str], str], *ids: str) -> None:
        self._rule = answer if callable(answer) else lambda question: answer
        self._ids = ids
        self.asked: list[str] = []

    def _answer(self, query: QueryBundle, step: Span) -> AnswerStream:
        self.asked.append(query.query_str)
        hits = [NodeWithScore(TextNode(f"text of {id_}", id_), 0.5) for id_ in self._ids]
        return AnswerStream(stream_in(start("synthesize"), self._pieces(self._rule(query.query_str))), hits)

    def _pieces(self, text: str) -> Pieces:
        for number, word in enumerate(text.split(" ")):
            yield f" {word}" if number else word
        return text


def tool(name: str, engine: QueryEngine) -> QueryEngineTool:
    return QueryEngineTool.from_defaults(engine, name, f"about {name}")
