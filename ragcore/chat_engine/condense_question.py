"""Each message becomes a question that stands alone, and a query engine answers it: one call, later turns one more."""

from __future__ import annotations

from typing import Protocol

from ragcore.chat_engine.base import ChatEngine, Reply, ToolOutput, condense
from ragcore.llms.base import LLM
from ragcore.memory import ChatMemoryBuffer
from ragcore.response_synthesizers.answer import AnswerStream
from ragcore.schema import ChatMessage


class QueryEngine(Protocol):
    def stream_query(self, query: str) -> AnswerStream:
        """The answer to a question; its passages are known when this returns."""


class CondenseQuestionChatEngine(ChatEngine):
    """Remembers the message as it was written, not the question it became."""

    mode = "condense_question"

    def __init__(self, query_engine: QueryEngine, llm: LLM, memory: ChatMemoryBuffer) -> None:
        super().__init__(memory)
        self._query_engine = query_engine
        self._llm = llm

    def _reply(self, message: str, history: list[ChatMessage]) -> Reply:
        question = condense(self._llm, message, history)
        answer = self._query_engine.stream_query(question)
        found = "\n\n".join(hit.text for hit in answer.source_nodes)
        source = ToolOutput(found, "query_engine", {"query": question}, answer.source_nodes)
        return Reply(answer.pieces, answer.source_nodes, (source,), remembered=bool(answer.source_nodes))
